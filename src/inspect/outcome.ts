// What came of a sync, as values; and the wait for it, whichever process carries it out.

import { descendantsOf, streamNamed } from '../catalog/catalog.ts'
import { sleep } from '../clock.ts'
import { translateDatabaseError } from '../database/sql-states.ts'
import { BoatMirrorError } from '../errors.ts'
import { count } from '../format.ts'
import { countNames, type Run } from '../sync/runs/runs.ts'
import { oneLine } from '../text.ts'

export type Outcome = {
  readonly runs: readonly Run[]
  /** Records in quarantine by stream. */
  readonly quarantine: Readonly<Record<string, number>>
}

/** The tables of these runs: their own streams, and those read inside their records. */
function tablesOf(runs: readonly Run[]): ReadonlySet<string> {
  const inside = (name: string): string[] =>
    descendantsOf(name)
      .filter((stream) => stream.reads.kind === 'inside')
      .map((stream) => stream.name)
  return new Set(runs.flatMap((run) => [run.stream, ...inside(streamNamed(run.stream).name)]))
}

/** Records of these runs' tables that are in quarantine, by stream. */
export function quarantinedOf({ runs, quarantine }: Outcome): Readonly<Record<string, number>> {
  const tables = tablesOf(runs)
  return Object.fromEntries(Object.entries(quarantine).filter(([stream]) => tables.has(stream)))
}

/** How long a run took, in seconds. */
export const runSeconds = (run: Run): number =>
  run.finished_at === null ? 0 : (run.finished_at.getTime() - run.started_at.getTime()) / 1_000

/** One line per finished stream: `rentals: done, 200 read, 198 inserted, 2 updated, 412 requests, 3.2 s`. */
export function runLine(run: Run, said: ReadonlySet<string> = new Set()): string {
  const counts = (['inserted', 'updated', 'deleted', 'held', 'quarantined'] as const)
    .filter((name) => Number(run[name]) > 0)
    .map((name) => `${count(Number(run[name]))} ${name}`)
  const parts = [
    run.status,
    `${count(Number(run.read))} read`,
    ...counts,
    `${count(Number(run.requests))} requests`,
    `${count(runSeconds(run))} s`,
  ]
  return `${run.stream}: ${parts.join(', ')}${run.error === null || said.has(run.error) ? '' : ` – ${oneLine(run.error, 200)}`}`
}

type Counts = Readonly<Record<(typeof countNames)[number], number>>

export type RunFacts = Readonly<ReturnType<typeof runFacts>>

/** Makes of a run what JSON shows: names in camelCase, counts as numbers. */
export function runFacts(run: Run) {
  return {
    id: Number(run.id),
    stream: run.stream,
    trigger: run.trigger,
    status: run.status,
    startedAt: run.started_at,
    finishedAt: run.finished_at,
    ...(Object.fromEntries(countNames.map((name) => [name, Number(run[name])])) as Counts),
    error: run.error,
    fullRead: run.full_read,
    phase: run.phase,
    total: run.total === null ? null : Number(run.total),
    plan: run.plan,
    warnings: run.warnings,
  }
}

const pollMs = 500
/** The wait ends if the database does not answer for this long. */
const patienceMs = 60_000

/** Reads until the result is finished. @throws the reason of the signal; BoatMirrorError when the database is gone for a minute */
export async function awaitFinished<T extends { readonly finished: boolean }>(
  look: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let answeredAt = performance.now()
  for (;;) {
    signal.throwIfAborted()
    try {
      const seen = await look()
      answeredAt = performance.now()
      if (seen.finished) return seen
    } catch (thrown) {
      const error = translateDatabaseError(thrown)
      const passing = error instanceof BoatMirrorError && error.kind === 'retry'
      if (!passing || performance.now() - answeredAt > patienceMs) throw error
    }
    await sleep(pollMs, signal)
  }
}
