// `sync --check` on a terminal: a line per stream while it reads, then a table of differences.

import { count } from '../format.ts'
import { stringifyJson } from '../json/plain.ts'
import type { Logger } from '../log.ts'
import { type CheckOptions, checkStreams, isDifferent, type StreamCheck } from '../sync/check.ts'
import type { ExitCode, OpenedApp } from './context.ts'
import { oneLine, printJson, printText, table, tell } from './terminal/output.ts'

const shownSamples = 5
const shownColumns = 4

/** Compares and reports; 1 when anything differs or could not be read, 3 when records cannot be mirrored, else 0. */
export async function runCheckSync(
  app: OpenedApp,
  streams: readonly string[],
  { json, signal, log }: { readonly json: boolean; readonly signal: AbortSignal; readonly log: Logger },
): Promise<ExitCode> {
  const onStream: NonNullable<CheckOptions['onStream']> = (stream) => tell(log, 'comparing', `comparing ${stream}`)
  const checks = await checkStreams({ ...app.syncContext, onTasks: () => {} }, streams, { signal, onStream })
  const code = exitCodeOfCheck(checks)
  if (json) printJson({ exitCode: code, streams: checks })
  else printText(checksText(checks))
  return code
}

export function exitCodeOfCheck(checks: readonly StreamCheck[]): ExitCode {
  if (checks.some(isDifferent)) return 1
  return checks.some((check) => check.bad > 0) ? 3 : 0
}

const countsShown = ['stream', 'compared', 'missing', 'different', 'deleted', 'bad'] as const

/** A table of the comparison, the first differences and problems of each stream, and a conclusion. Pure. */
export function checksText(checks: readonly StreamCheck[]): string {
  const counts = table(
    ['STREAM', 'COMPARED', 'MISSING', 'DIFFERENT', 'ONLY IN THE MIRROR', 'NOT MIRRORABLE', 'NOT READ'],
    checks.map(({ problems, ...each }) => [...countsShown.map((name) => each[name]), problems.length]),
  )
  const lines = checks.flatMap(detailsOf)
  return [counts, ...(lines.length > 0 ? [lines.join('\n')] : []), conclusion(checks)].join('\n\n')
}

function conclusion(checks: readonly StreamCheck[]): string {
  const differing = checks.filter(isDifferent).length
  if (differing > 0) return `${differing} of ${checks.length} streams differ. Update them with: boat-mirror sync --full`
  const bad = checks.reduce((sum, check) => sum + check.bad, 0)
  if (bad === 0) return 'The mirror equals the API.'
  return `The mirror equals the API, except for records that cannot be mirrored (${count(bad)}). See: boat-mirror quarantine`
}

const kinds = { missing: 'not in the mirror', different: 'different', deleted: 'only in the mirror' } as const

function detailsOf(check: StreamCheck): string[] {
  const samples = check.samples.slice(0, shownSamples).map((sample) => {
    const columns = Object.entries(sample.columns)
      .slice(0, shownColumns)
      .map(([column, [mirror, api]]) => `${column}: ${shown(mirror)} in the mirror, ${shown(api)} in the API`)
    const detail = sample.kind === 'different' ? ` – ${columns.join('; ')}` : ''
    return `${check.stream} ${oneLine(sample.key.join(' '))}: ${kinds[sample.kind]}${detail}`
  })
  return [
    ...samples,
    ...check.problems.slice(0, shownSamples).map((problem) => `${check.stream}: ${oneLine(problem, 300)}`),
  ]
}

const shown = (value: unknown): string => (value === undefined ? 'nothing' : oneLine(stringifyJson(value), 60))
