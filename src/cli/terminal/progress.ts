// Progress of a request, read from the tables: bars on a terminal, lines of the log elsewhere. Writes to stderr.

import { MultiBar, type SingleBar } from 'cli-progress'
import type { Database } from '../../database/database.ts'
import { count, duration, elapsed } from '../../format.ts'
import { type Estimate, estimateOf, openWork, timeLeft } from '../../inspect/estimate.ts'
import { awaitFinished, runLine, runSeconds } from '../../inspect/outcome.ts'
import { openRequest } from '../../inspect/runs.ts'
import type { Logger } from '../../log.ts'
import type { ReadSettings } from '../../sync/read-costs.ts'
import { type Run, runsOfRequest } from '../../sync/runs/runs.ts'
import { countTasks } from '../../sync/runs/tasks.ts'
import { sharedRead } from '../../web/page-facts.ts'
import { print } from './output.ts'

/** What a request has come to. */
type Snapshot = {
  readonly finished: boolean
  /** Streams asked for; their runs start one after the other. */
  readonly streams: number
  readonly runs: readonly Run[]
  /** Tasks by run id. */
  readonly tasks: ReadonlyMap<string, { readonly done: number; readonly all: number }>
  readonly estimate: Estimate
}

type View = { show(snapshot: Snapshot, seconds: number): void; close(): void }

type WatchOptions = {
  readonly database: Database
  readonly settings: ReadSettings
  readonly requestId: string
  readonly signal: AbortSignal
  readonly log: Logger
  /** Where progress is written; a terminal gets bars. */
  readonly stream?: NodeJS.WriteStream
}

/** An estimate costs more than the rest. */
const estimateEveryMs = 2_000

/** Reads where a request stands. */
async function readSnapshot(database: Database, requestId: string): Promise<Omit<Snapshot, 'estimate'>> {
  const request = await runsOfRequest(database.pool, requestId)
  const running = request.runs.filter((run) => run.status === 'running').map((run) => run.id)
  const tasks = running.length === 0 ? new Map() : await countTasks(database.pool, running)
  return { ...request, tasks }
}

/**
 * Shows progress until the request is finished; returns its runs.
 * @throws the signal's reason when aborted, BoatMirrorError when the database is gone for a minute.
 */
export async function watchRequest(options: WatchOptions): Promise<readonly Run[]> {
  const { database, settings, requestId, signal, log, stream = process.stderr } = options
  const estimate = sharedRead(async () => estimateOf(await openWork(database.pool), settings), estimateEveryMs)
  const startedAt = performance.now()
  // Log lines would tear the bars; another LOG_LEVEL means that the lines are wanted.
  const bars = stream.isTTY === true && log.level === 'info'
  const view = bars ? barView(stream) : stream.isTTY === true ? lineView(stream) : logView(log)
  if (bars) log.level = 'error'
  try {
    const { runs } = await awaitFinished(async () => {
      const snapshot = { ...(await readSnapshot(database, requestId)), estimate: await estimate() }
      view.show(snapshot, (performance.now() - startedAt) / 1_000)
      return snapshot
    }, signal)
    return runs
  } finally {
    view.close()
    if (bars) log.level = 'info'
  }
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
  return {
    show: ({ runs, streams, finished, estimate }, seconds) => {
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
    },
    close: () => {},
  }
}

/** Only totals, at debug: the log is quiet while nothing is wrong, and finished runs have their line. */
function logView(log: Logger): View {
  return lineView({ write: (line) => log.debug({ event: 'progress' }, line.trimEnd()) }, { tellsRuns: false })
}

/** Bars keep their lines for the whole sync and are filled with whatever runs, so that nothing jumps. */
const slots = 5
const nameWidth = 28

function barView(stream: NodeJS.WriteStream): View {
  const multi = new MultiBar({
    stream,
    clearOnComplete: true,
    hideCursor: true,
    linewrap: false,
    emptyOnZero: true,
    gracefulExit: false, // signals are ours: tasks are given back first
    barsize: 24,
    fps: 5,
    format: (options, params, payload: { readonly label: string; readonly note: string }) => {
      if (payload.label === '') return ''
      const filled = Math.round(params.progress * (options.barsize ?? 0))
      const bar = '█'.repeat(filled).padEnd(options.barsize ?? 0, '░')
      return `${payload.label.padEnd(nameWidth)} ${bar} ${payload.note}`
    },
  })
  const overall = multi.create(1, 0, { label: 'all streams', note: '' })
  const perStream = Array.from({ length: slots }, () => multi.create(1, 0, { label: '', note: '' }))
  return {
    show: ({ runs, streams, tasks, estimate }, seconds) => {
      overall.setTotal(Math.max(1, streams))
      overall.update(ended(runs), {
        note: `${ended(runs)} of ${streams}   ${count(total(runs, 'read'))} records   ${count(total(runs, 'requests'))} requests   ${elapsed(seconds)}   ${timeLeft(estimate) ?? ''}`,
      })
      const running = runs.filter((run) => run.status === 'running')
      for (const [index, bar] of perStream.entries()) showRun(bar, running[index], tasks)
    },
    close: () => multi.stop(),
  }
}

function showRun(bar: SingleBar, run: Run | undefined, tasks: Snapshot['tasks']): void {
  if (run === undefined) {
    bar.update(0, { label: '', note: '' })
    return
  }
  const { done, all } = tasks.get(run.id) ?? { done: 0, all: 0 }
  bar.setTotal(Math.max(1, all))
  const phase = run.phase === 'sweep' ? 'list' : 'details'
  bar.update(done, { label: `  ${run.stream}`, note: `${phase}, ${count(Number(run.read))} read` })
}
