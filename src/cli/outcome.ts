// The result of a sync: a table per stream, what you must do, and the exit code.

import { streams } from '../catalog/catalog.ts'
import { count, counted } from '../format.ts'
import { type Outcome, quarantinedOf, runFacts, runSeconds } from '../inspect/outcome.ts'
import type { Run } from '../sync/runs/runs.ts'
import type { ExitCode } from './context.ts'
import { oneLine, printJson, printText, table } from './terminal/output.ts'

/** Prints what came of a sync: a table and what to do, or JSON, with further facts. @returns the exit code */
export function reportSync(outcome: Outcome, json: boolean, facts: object = {}): ExitCode {
  const exitCode = exitCodeOfSync(outcome)
  const lines = advice(outcome)
  if (json) printJson({ exitCode, ...facts, runs: outcome.runs.map(runFacts), quarantine: quarantinedOf(outcome) })
  else printText([outcomeTable(outcome), ...(lines.length > 0 ? [lines.join('\n')] : [])].join('\n\n'))
  return exitCode
}

/** 1 when a run failed or is partial, 3 when deletions are held or records are in quarantine, else 0. */
export function exitCodeOfSync(outcome: Outcome): ExitCode {
  if (outcome.runs.some((run) => run.status === 'failed' || run.status === 'partial')) return 1
  const needsPerson =
    outcome.runs.some((run) => run.status === 'held') || Object.keys(quarantinedOf(outcome)).length > 0
  return needsPerson ? 3 : 0
}

const place = (run: Run): number => streams.findIndex((stream) => stream.name === run.stream)

const rowCounts = ['read', 'inserted', 'updated', 'unchanged', 'deleted', 'held'] as const

/** One line per run, in the order of the catalog. */
export function outcomeTable(outcome: Outcome): string {
  const bad = quarantinedOf(outcome)
  return table(
    ['STREAM', 'READ', 'INSERTED', 'UPDATED', 'UNCHANGED', 'DELETED', 'HELD', 'QUARANTINE', 'REQUESTS', 'S', 'STATUS'],
    [...outcome.runs]
      .sort((a, b) => place(a) - place(b))
      .map((run) => [
        run.stream,
        ...rowCounts.map((name) => Number(run[name])),
        bad[run.stream] ?? 0,
        Number(run.requests),
        runSeconds(run),
        run.status,
      ]),
  )
}

/** What went wrong, and what to do about it. */
export function advice(outcome: Outcome): readonly string[] {
  const lines = outcome.runs.flatMap((run) => adviceOf(run))
  const bad = Object.entries(quarantinedOf(outcome))
  if (bad.length > 0) {
    const streams = bad.map(([stream, records]) => `${stream} ${count(records)}`).join(', ')
    lines.push(
      `Records that cannot be mirrored are in quarantine: ${streams}. See the reasons with: boat-mirror quarantine. All others are mirrored.`,
    )
  }
  return lines
}

/** A key as an argument of a shell. */
const shellWord = (key: string): string => (/^[\w.:-]+$/.test(key) ? key : `'${key.replaceAll("'", `'\\''`)}'`)

function adviceOf(run: Run): string[] {
  const error = oneLine(run.error ?? 'no reason was recorded', 500)
  const again = run.record_key === null ? `sync ${run.stream}` : `refresh ${run.stream} ${shellWord(run.record_key)}`
  switch (run.status) {
    case 'failed':
      return [`${run.stream} failed: ${error} The mirror keeps what it had. Try again with: boat-mirror ${again}`]
    case 'partial':
      return [
        `${run.stream} was only partly read: ${error} What was read is mirrored. Try again with: boat-mirror ${again}`,
      ]
    case 'held':
      return [
        `${run.stream}: ${counted(Number(run.held), 'deletion')} ${Number(run.held) === 1 ? 'is' : 'are'} held until you release ${Number(run.held) === 1 ? 'it' : 'them'}. See the plan with: boat-mirror runs show ${run.id}. Release them with: boat-mirror runs release ${run.id}`,
      ]
    default:
      return run.warnings.map((warning) => {
        const named = warning.startsWith(run.stream) ? warning : `${run.stream}: ${warning}`
        return oneLine(named, 300)
      })
  }
}
