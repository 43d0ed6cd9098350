// `sync --check` as a person sees it: a line per stream while it reads, then a table of differences.

import { type CheckOptions, checkStreams } from '../sync/check.ts'
import { isDifferent, type StreamCheck } from '../sync/check-tally.ts'
import type { ExitCode, OpenedApp } from './context.ts'
import { oneLine, print, printJson, table } from './output.ts'

const shownSamples = 5
const shownColumns = 4

/** Compares and reports; 1 when anything differs or could not be read, 3 when records cannot be mirrored, else 0. */
export async function runCheckSync(
  app: OpenedApp,
  streams: readonly string[],
  { json, signal }: { readonly json: boolean; readonly signal: AbortSignal },
): Promise<ExitCode> {
  const onStream: NonNullable<CheckOptions['onStream']> = (stream) => process.stderr.write(`comparing ${stream}\n`)
  const checks = await checkStreams({ ...app.syncContext, onTasks: () => {} }, streams, { signal, onStream })
  const code = exitCodeOfCheck(checks)
  if (json) printJson({ exitCode: code, streams: checks })
  else printChecks(checks)
  return code
}

/** The exit code of a comparison. Pure. */
export function exitCodeOfCheck(checks: readonly StreamCheck[]): ExitCode {
  if (checks.some(isDifferent)) return 1
  return checks.some((check) => check.bad > 0) ? 3 : 0
}

function printChecks(checks: readonly StreamCheck[]): void {
  print(
    table(
      ['STREAM', 'COMPARED', 'MISSING', 'DIFFERENT', 'ONLY IN THE MIRROR', 'NOT MIRRORABLE', 'NOT READ'],
      checks.map((check) => [
        check.stream,
        check.compared,
        check.missing,
        check.different,
        check.deleted,
        check.bad,
        check.problems.length,
      ]),
    ),
  )
  const lines = checks.flatMap(detailsOf)
  if (lines.length > 0) print(`\n${lines.join('\n')}`)
  const differing = checks.filter(isDifferent)
  print(
    differing.length === 0
      ? '\nThe mirror equals the API.'
      : `\n${differing.length} of ${checks.length} streams differ. Bring them up to date with: boat-mirror sync --full`,
  )
}

const kinds = { missing: 'not in the mirror', different: 'different', deleted: 'only in the mirror' } as const

function detailsOf(check: StreamCheck): string[] {
  const samples = check.samples.slice(0, shownSamples).map((sample) => {
    const columns = Object.entries(sample.columns)
      .slice(0, shownColumns)
      .map(([column, [mirror, api]]) => `${column}: ${shown(mirror)} in the mirror, ${shown(api)} in the API`)
    const detail = sample.kind === 'different' ? ` – ${columns.join('; ')}` : ''
    return `${check.stream} ${sample.key.join(' ')}: ${kinds[sample.kind]}${detail}`
  })
  return [
    ...samples,
    ...check.problems.slice(0, shownSamples).map((problem) => `${check.stream}: ${oneLine(problem, 300)}`),
  ]
}

const shown = (value: unknown): string => oneLine(JSON.stringify(value) ?? 'nothing', 60)
