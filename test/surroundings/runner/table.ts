// The table "surroundings × result", from what the test runner reports.

import type { JsonTestResults } from 'vitest/reporters'
import type { Outcome } from './suite.ts'

/** One of the surroundings: what was shown there, and whether it held. */
export type Row = { readonly surroundings: string; readonly shown: readonly string[]; readonly result: string }

type FileResults = Pick<JsonTestResults['testResults'][number], 'assertionResults'>

const count = (n: number): string => n.toLocaleString('en')

/** The row of the suite, or of a part of it, in one of the surroundings. */
export function suiteRow(
  surroundings: string,
  outcome: Pick<Outcome, 'passed' | 'skipped' | 'failed' | 'green'>,
  shown = 'the whole suite',
): Row {
  const { passed, skipped, failed, green } = outcome
  const counts = `${count(passed)} passed, ${count(skipped)} skipped, ${count(failed)} failed`
  return {
    surroundings,
    shown: [shown],
    result: green ? counts : `FAILED: ${counts}`,
  }
}

/** The rows of a group: one for each outermost `describe`. By name, as tests run in random order. */
export function groupRows(group: string, results: readonly FileResults[], { green }: Pick<Outcome, 'green'>): Row[] {
  const tests = results.flatMap(({ assertionResults }) => assertionResults)
  const names = [...new Set(tests.map(({ ancestorTitles }) => ancestorTitles[0] ?? group))].sort()
  const rows = names.map((surroundings): Row => {
    const own = tests.filter(({ ancestorTitles }) => (ancestorTitles[0] ?? group) === surroundings)
    const titles = (of: (status: string) => boolean): string[] =>
      own
        .filter(({ status }) => of(status))
        .map(({ ancestorTitles, title }) => [...ancestorTitles.slice(1), title].join(': '))
        .sort()
    const failed = titles((status) => status === 'failed')
    const left = titles((status) => status !== 'failed' && status !== 'passed')
    const parts = [
      ...(failed.length > 0 ? [`FAILED: ${failed.join('; ')}`] : []),
      ...(left.length > 0 ? [`not run: ${left.join('; ')}`] : []),
    ]
    return { surroundings, shown: titles(() => true), result: parts.length === 0 ? 'passed' : parts.join('. ') }
  })
  // A file that fails outside its tests has no test that failed.
  const isTold = rows.some(({ result }) => result.startsWith('FAILED'))
  return green || isTold ? rows : [...rows, { surroundings: group, shown: [], result: 'FAILED: could not be run' }]
}

export const tableHead = ['surroundings', 'shown', 'result']

/** The cells of a row, as Markdown takes them. */
export const cellsOf = ({ surroundings, shown, result }: Row): string[] =>
  [surroundings, shown.join('; '), result].map((cell) => cell.replaceAll('|', '\\|'))
