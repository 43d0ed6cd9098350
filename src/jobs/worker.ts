// A worker in this process: takes tasks from the queue, looks for lost wake-ups, keeps the schedule. `worker` runs it for
// good, `sync` runs the same and stops when its own request is done.

import type { Config } from '../config.ts'
import { listen } from '../database/listen.ts'
import { noteDatabaseTime } from '../database/set-back-clock.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { processName } from '../process-name.ts'
import type { SyncContext } from '../sync/context.ts'
import { refreshChannel } from '../sync/due/refreshes.ts'
import { overdueTurns } from '../sync/due/stream-state.ts'
import { mostUrgentDetail, priorities, streamsToRead } from '../sync/plan.ts'
import { runTask } from '../sync/run-task.ts'
import { neglectedTasks } from '../sync/runs/tasks.ts'
import { fitSchedule } from './fit-schedule.ts'
import { runHousekeeping } from './housekeeping.ts'
import {
  type JobQueue,
  type JobWorker,
  type QueueBackend,
  type SyncJob,
  scheduleQueue,
  syncQueue,
  type TickJob,
} from './queues.ts'
import { jobOf, type Reconciler, startReconciler, type Wake } from './reconciler.ts'
import { applySchedule, honouredWindows, requestFirstSync, tick } from './schedule.ts'

/**
 * Tasks at once in one process; their requests share the process's request concurrency. More tasks than requests only
 * make commits smaller and more; with only one, a long list would block everything else.
 */
const tasksFor = (concurrency: number): number => Math.min(4, Math.max(2, concurrency))
/** A queue that refuses wake-ups is not waited for as long as one that is silent, in milliseconds. */
const refusedAfterMs = 1_000
/** A tick that is this late was lost, in seconds. */
const lostAfterS = 5
/** How often the database's time is noted, to see it set back. */
const noteTimeEveryMs = 60_000
/** How often intervals are fitted to the budget again. */
const fitEveryMs = 5 * 60_000
/** The same, where the queue did not take them. */
const fitAgainMs = 10_000
/** How often history that is old enough is deleted. */
const pruneEveryMs = 3_600_000

export type SyncWorkerOptions = {
  /** Everything a sync needs; `onTasks` is set by the worker. */
  readonly context: Omit<SyncContext, 'onTasks'>
  readonly backend: QueueBackend
  readonly log: Logger
  /** An idle worker that finds tasks waiting this long does not wait for the queue any more, in milliseconds; 15,000 by default. */
  readonly neglectedAfterMs?: number
  /** Lists found while there is room for tasks start immediately; jobs wake other workers for the rest. */
  readonly beginsAtOnce?: boolean
}

type RunningWorker = {
  /** Looks for work now. */
  poke(): void
  /** Gives tasks back or lets them reach their next checkpoint, then ends. */
  stop(): Promise<void>
}

/** Starts running tasks: the tables are checked while the queue is opened. `also` runs each second after that check. */
export async function startSyncWorker(
  { context, backend, log, neglectedAfterMs = 15_000, beginsAtOnce = false }: SyncWorkerOptions,
  also?: (context: SyncContext) => Promise<void>,
): Promise<RunningWorker & { readonly context: SyncContext }> {
  const stopping = new AbortController()
  const owner = processName()
  const tasksAtOnce = tasksFor(context.settings.api.concurrency)
  let reconciler: Reconciler | undefined
  const full: SyncContext = { ...context, onTasks: () => reconciler?.poke() }
  let running = 0
  const carryOut = async (taskId: string, signal: AbortSignal): Promise<string> => {
    running++
    let outcome: string | undefined
    try {
      outcome = await runTask(full, taskId, owner, AbortSignal.any([stopping.signal, signal]))
      return outcome
    } finally {
      running--
      // What a task that is done lets begin, it has said itself (`onTasks`).
      if (outcome !== 'done') reconciler?.poke()
    }
  }
  const withoutJob = new Set<Promise<unknown>>()
  const begin = (taskId: string): void => {
    const going: Promise<unknown> = carryOut(taskId, stopping.signal)
      .catch((error: unknown) => log.error({ event: 'task_crashed', task: taskId, err: error }))
      .finally(() => withoutJob.delete(going))
    withoutJob.add(going)
  }
  const opening = backend.openQueue(syncQueue)
  let refused = false
  const wake: Wake = async (tasks) => {
    // Details are shared with other workers from the first one on: who begins some would take as many by jobs.
    const lists = tasks.filter(({ priority }) => priority < mostUrgentDetail).length
    const own = beginsAtOnce ? Math.min(lists, Math.max(0, tasksAtOnce - running)) : 0
    // Requested refreshes do not wait for a free place: sweeps may hold the places for minutes.
    const urgent = tasks.filter(({ priority }) => priority === priorities.asked).length
    const begun = Math.max(own, Math.min(urgent, tasksAtOnce))
    for (const { id } of tasks.slice(0, begun)) begin(id)
    if (tasks.length <= begun) return
    refused = true
    await (await opening).addBulk(tasks.slice(begun).map(jobOf))
    refused = false
  }
  let isSilent = false
  /** The watchdog: a queue that is absent, or has gone silent, must cost seconds, not the sync. The first time may be a restart. */
  const watch = async (): Promise<void> => {
    if (running > 0) return
    const patienceMs = refused ? refusedAfterMs : neglectedAfterMs
    const tasks = await neglectedTasks(context.database.pool, patienceMs, tasksAtOnce)
    if (tasks.length === 0) return
    const level = isSilent ? 'error' : 'debug'
    log[level]({ event: 'queue_silent', tasks }, 'the queue does not wake the worker: tasks run without it')
    isSilent = true
    for (const id of tasks) begin(id)
  }
  let notedAt = Number.NEGATIVE_INFINITY
  const noteTime = async (): Promise<void> => {
    if (performance.now() - notedAt < noteTimeEveryMs) return
    notedAt = performance.now()
    const seconds = Math.round(await noteDatabaseTime(context.database))
    if (seconds > 0)
      log.warn(
        { event: 'clock_set_back', seconds },
        'the clock of Postgres was set back: leases and due times were adjusted',
      )
  }
  reconciler = startReconciler({
    database: context.database,
    settings: context.settings,
    wake,
    log,
    also: async () => {
      await noteTime()
      await also?.(full)
      await watch()
    },
  })
  const end = async (): Promise<void> => {
    stopping.abort()
    await reconciler?.stop()
    await Promise.all(withoutJob)
  }
  try {
    const queue = await opening
    const worker = await backend.openWorker(
      syncQueue,
      async (job, signal) => {
        isSilent = false
        return { outcome: await carryOut((job.data as SyncJob).taskId, signal) }
      },
      tasksAtOnce,
    )
    return {
      context: full,
      poke: () => reconciler?.poke(),
      stop: async () => {
        await Promise.all([end(), worker.close()])
        await queue.close()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

type ScheduledWorkerOptions = SyncWorkerOptions & {
  readonly config: Config
  /** Requests per second over all workers; 0 is no limit. */
  readonly ratePerSecond: number
  /** Where NOTIFY of a refresh is heard; null or missing: nowhere, then only the clock finds it, within a second. */
  readonly listenUrl?: string | null
}

/** Starts a worker that also keeps the schedule; the first complete sync starts at once on an empty mirror. */
export async function startScheduledWorker(options: ScheduledWorkerOptions): Promise<RunningWorker> {
  const { backend, config, log, context, ratePerSecond, listenUrl = null } = options
  const { database } = context
  let fittedAt = Number.NEGATIVE_INFINITY
  /** The windows that were known to be honoured when intervals were fitted last. */
  let fittedTo = ''
  let prunedAt = performance.now()
  const queue: JobQueue = await backend.openQueue(scheduleQueue)

  /** An unavailable queue must not stop the rest. */
  const fitIntervals = async (): Promise<void> => {
    fittedAt = performance.now()
    try {
      const fitted = await fitSchedule(database, config, ratePerSecond)
      if (!(await applySchedule(database, queue, fitted, config.targets))) fittedAt = Number.NEGATIVE_INFINITY
      await queue.setGlobalConcurrency(1)
    } catch (error) {
      fittedAt += fitAgainMs - fitEveryMs
      log.warn(
        { event: 'schedule_not_fitted', reason: messageOf(error) },
        'could not fit the schedule to the quota yet',
      )
    }
  }
  const keepUp = async (full: SyncContext): Promise<void> => {
    // A list whose windows are found to be honoured need not be read as a whole as often: from now on, not in five minutes.
    const honoured = (await honouredWindows(database)).join()
    if (performance.now() - fittedAt > fitEveryMs || honoured !== fittedTo) {
      fittedTo = honoured
      await fitIntervals()
    }
    if (performance.now() - prunedAt > pruneEveryMs) {
      prunedAt = performance.now()
      await runHousekeeping(database, { historyDays: config.historyDays, log })
    }
    for (const turn of await overdueTurns(database.pool, lostAfterS))
      if ((await tick(full, turn, log)) === 'asked') full.onTasks()
  }
  // Turns that fell due while no worker ran come first, the longest overdue before the others.
  for (const turn of await overdueTurns(database.pool, 0)) await tick({ ...context, onTasks: () => {} }, turn, log)
  const first = await requestFirstSync(database, streamsToRead([], config))
  if (first) log.info({ event: 'first_sync' }, 'the mirror is empty or incomplete: the first complete sync starts')

  const syncing = await startSyncWorker({ context, backend, log }, keepUp)
  const stopping = new AbortController()
  const listening =
    listenUrl === null
      ? undefined
      : listen({ url: listenUrl, channel: refreshChannel, onNotify: syncing.poke, log, signal: stopping.signal })
  const ticker: JobWorker = await backend.openWorker(
    scheduleQueue,
    async (job) => {
      const result = await tick(syncing.context, (job.data as TickJob).stream, log)
      if (result === 'asked') syncing.poke()
      return { result }
    },
    1,
  )
  return {
    poke: syncing.poke,
    stop: async () => {
      stopping.abort()
      await Promise.all([
        listening,
        syncing.stop(),
        ticker.close().catch((error: unknown) => log.warn({ event: 'ticker_close_failed', reason: messageOf(error) })),
      ])
      await queue.close()
    },
  }
}
