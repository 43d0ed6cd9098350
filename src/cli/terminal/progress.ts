// Progress of a request, read from the tables: lines on a terminal, lines of the log elsewhere. Writes to stderr.

import type { Database } from '../../database/database.ts'
import { count, duration, elapsed } from '../../format.ts'
import { type Estimate, estimateOf, openWork, timeLeft } from '../../inspect/estimate.ts'
import { awaitFinished, runLine, runSeconds } from '../../inspect/outcome.ts'
import { openRequest } from '../../inspect/runs.ts'
import type { Logger } from '../../log.ts'
import { kept } from '../../memo.ts'
import type { ReadSettings } from '../../sync/read-costs.ts'
import { type Run, runsOfRequest } from '../../sync/runs/runs.ts'
import { print } from './output.ts'

/** What a request has come to. */
type Snapshot = {
  readonly finished: boolean
  /** Streams asked for; their runs start one after the other. */
  readonly streams: number
  readonly runs: readonly Run[]
  readonly estimate: Estimate
}

type View = (snapshot: Snapshot, seconds: number) => void

type WatchOptions = {
  readonly database: Database
  readonly settings: ReadSettings
  readonly requestId: string
  readonly signal: AbortSignal
  readonly log: Logger
}

/** An estimate costs more than the rest. */
const estimateEveryMs = 2_000

/**
 * Shows progress until the request is finished; returns its runs.
 * @throws the signal's reason when aborted, BoatMirrorError when the database is gone for a minute.
 */
export async function watchRequest(options: WatchOptions): Promise<readonly Run[]> {
  const { database, settings, requestId, signal, log } = options
  const estimate = kept(async () => estimateOf(await openWork(database.pool), settings), estimateEveryMs)
  const startedAt = performance.now()
  // The log has a line of each finished run.
  const show =
    process.stderr.isTTY === true ? lineView(process.stderr, { tellsRuns: !log.isLevelEnabled('info') }) : logView(log)
  const { runs } = await awaitFinished(async () => {
    const snapshot = { ...(await runsOfRequest(database.pool, requestId)), estimate: await estimate() }
    show(snapshot, (performance.now() - startedAt) / 1_000)
    return snapshot
  }, signal)
  return runs
}

/**
 * Shows the progress of the open first sync until it is done, and its result; returns immediately when there is none.
 * A signal or a database that is down ends the watching without an error: it is not a reason for a worker to end.
 */
export async function watchFirstSync(options: Omit<WatchOptions, 'requestId'>): Promise<void> {
  const { database, signal, log } = options
  try {
    const requestId = await openRequest(database.pool, 'first')
    if (requestId === null) return
    print('First sync: reading the whole API once. If you stop it, it continues from there next time.')
    const runs = await watchRequest({ ...options, requestId })
    const read = runs.reduce((sum, run) => sum + Number(run.read), 0)
    const failed = runs.filter((run) => run.status !== 'done')
    const first = Math.min(...runs.map((run) => run.started_at.getTime()))
    const last = Math.max(...runs.map((run) => run.started_at.getTime() + runSeconds(run) * 1_000))
    print(`First sync done: ${count(read)} records of ${runs.length} streams in ${duration((last - first) / 1_000)}.`)
    for (const run of failed) print(`  ${run.stream}: ${run.status}${run.error === null ? '' : ` – ${run.error}`}`)
  } catch (error) {
    if (!signal.aborted)
      log.warn(
        { event: 'first_sync_not_watched', err: error },
        'cannot show the progress of the first sync; the worker continues, and `boat-mirror status` shows it',
      )
  }
}

const total = (runs: readonly Run[], name: 'read' | 'requests'): number =>
  runs.reduce((sum, run) => sum + Number(run[name]), 0)

const ended = (runs: readonly Run[]): number => runs.filter((run) => run.status !== 'running').length

const summaryEveryS = 5

/** A line when a stream is finished, unless other lines report it, and one every five seconds with totals. */
export function lineView(stream: { write(line: string): unknown }, { tellsRuns = true } = {}): View {
  const told = new Set<string>()
  const said = new Set<string>() // reasons: credentials that are refused fail every stream alike
  let lastSummaryS = 0
  return ({ runs, streams, finished, estimate }, seconds) => {
    for (const run of runs) {
      if (!tellsRuns || run.status === 'running' || told.has(run.id)) continue
      told.add(run.id)
      stream.write(`${runLine(run, said)}\n`)
      if (run.error !== null) said.add(run.error)
    }
    if (finished || seconds - lastSummaryS < summaryEveryS) return
    lastSummaryS = seconds
    const parts = [
      `… ${ended(runs)} of ${streams} streams`,
      `${count(total(runs, 'read'))} records`,
      `${count(total(runs, 'requests'))} requests`,
      elapsed(seconds),
      timeLeft(estimate),
    ]
    stream.write(`${parts.filter((part) => part !== null).join(', ')}\n`)
  }
}

/** Only totals, at debug: the log is quiet while nothing is wrong, and finished runs have their line. */
function logView(log: Logger): View {
  return lineView({ write: (line) => log.debug({ event: 'progress' }, line.trimEnd()) }, { tellsRuns: false })
}
