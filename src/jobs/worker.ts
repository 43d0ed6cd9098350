// A worker in this process: runs the tasks that the queue wakes, repeats lost wake-ups, and keeps the schedule. `sync` runs the same
// until its own request is done. An emptied Redis, a lost notification or a stalled job costs seconds, never data.

import type { Config } from '../config.ts'
import { noteDatabaseTime } from '../database/database-clock.ts'
import { listen } from '../database/listen.ts'
import { messageOf } from '../errors.ts'
import { runLine } from '../inspect/outcome.ts'
import type { Logger } from '../log.ts'
import { keepPace } from '../reports/pace.ts'
import { processName, service } from '../service.ts'
import { advance } from '../sync/advance.ts'
import type { SyncContext } from '../sync/context.ts'
import { refreshChannel } from '../sync/due/refreshes.ts'
import { createRequest } from '../sync/due/requests.ts'
import { overdueTurns } from '../sync/due/stream-state.ts'
import { mostUrgentDetail, priorities, streamsToRead } from '../sync/plan.ts'
import { runTask } from '../sync/run-task.ts'
import { hasChanged } from '../sync/runs/runs.ts'
import { neglectedTasks, takeWakeable } from '../sync/runs/tasks.ts'
import { fitSchedule } from './fit-schedule.ts'
import { runHousekeeping } from './maintenance.ts'
import {
  type JobQueue,
  type JobWorker,
  type QueueBackend,
  type SyncJob,
  scheduleQueue,
  syncQueue,
  type TickJob,
} from './queues.ts'
import { applySchedule, honouredWindows, requestFirstSync, tick } from './schedule.ts'

/** Tasks at once in one process. More tasks than concurrent requests only make more and smaller commits; one would let a long list block all. */
const tasksFor = (concurrency: number): number => Math.min(4, Math.max(2, concurrency))
const everySecondMs = 1_000
const wokenAtOnce = 500
/** Milliseconds that an idle worker waits for a queue that refuses wake-ups. */
const refusedAfterMs = 1_000
/** Seconds after which a tick counts as lost. */
const lostAfterS = 5
/** How often the database's time is recorded, to notice that it was set back. */
const noteTimeEveryMs = 60_000
/** How often intervals are fitted to the budget again, and after a failure. */
const fitEveryMs = 5 * 60_000
const fitAgainMs = 10_000
const housekeepingEveryMs = 3_600_000
/** A day that has ended is kept so soon. */
const paceEveryMs = 300_000

export type SyncWorkerOptions = {
  /** The worker sets `onTasks`. */
  readonly context: Omit<SyncContext, 'onTasks'>
  readonly backend: QueueBackend
  readonly log: Logger
  /** Milliseconds after which an idle worker begins waiting tasks without the queue; 15,000 by default. */
  readonly neglectedAfterMs?: number
  /** Begins lists at once while there is room for tasks; jobs wake other workers for the rest. */
  readonly beginsAtOnce?: boolean
}

type RunningWorker = {
  /** Looks for work now. */
  poke(): void
  /** Gives tasks back or lets them reach their next checkpoint, then ends. */
  stop(): Promise<void>
}

type Wakeable = Awaited<ReturnType<typeof takeWakeable>>[number]

/** The job that wakes a task. Its id has the fence, so that there is one wake-up for each claim. */
const jobOf = ({ id, fence, priority }: Wakeable): Parameters<JobQueue['addBulk']>[0][number] => ({
  name: 'task',
  data: { taskId: id } satisfies SyncJob,
  opts: { jobId: `task-${id}-${fence}`, priority, removeOnComplete: true, removeOnFail: true },
})

/** Ends and starts runs, and logs those that ended. */
async function advanceRuns({ database, settings }: SyncWorkerOptions['context'], log: Logger): Promise<void> {
  const advanced = await advance(database, settings)
  for (const run of advanced.finished) {
    const { id, stream, status, error } = run
    // Failed runs need attention.
    const level = status !== 'done' ? 'warn' : hasChanged(run) ? 'info' : 'debug'
    const reason = error === null ? {} : { reason: error }
    log[level]({ event: 'run_finished', run: id, stream, status, ...reason }, runLine(run))
  }
}

/** Starts running tasks. The tables are read while the queue is being opened. */
export async function startSyncWorker({
  context,
  backend,
  log,
  neglectedAfterMs = 15_000,
  beginsAtOnce = false,
}: SyncWorkerOptions): Promise<RunningWorker & { readonly context: SyncContext }> {
  const { pool } = context.database
  const stopping = new AbortController()
  const owner = processName()
  const tasksAtOnce = tasksFor(context.settings.api.concurrency)
  let poke = (): void => {}
  const full: SyncContext = { ...context, onTasks: () => poke() }
  let running = 0
  const carryOut = async (taskId: string, signal: AbortSignal): Promise<string> => {
    running++
    let outcome: string | undefined
    try {
      outcome = await runTask(full, taskId, owner, AbortSignal.any([stopping.signal, signal]))
      return outcome
    } finally {
      running--
      // A finished task has already announced its successors through `onTasks`.
      if (outcome !== 'done') poke()
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
  let isRefused = false
  /** Starts these tasks, in this order: some here, the others through jobs. */
  const wake = async (tasks: readonly Wakeable[]): Promise<void> => {
    // Only lists begin here. Details are shared with other workers from the start.
    const lists = tasks.filter(({ priority }) => priority < mostUrgentDetail).length
    const own = beginsAtOnce ? Math.min(lists, Math.max(0, tasksAtOnce - running)) : 0
    // Requested refreshes do not wait for a free place, which sweeps may hold for minutes.
    const urgent = tasks.filter(({ priority }) => priority === priorities.asked).length
    const begun = Math.max(own, Math.min(urgent, tasksAtOnce))
    for (const { id } of tasks.slice(0, begun)) begin(id)
    if (tasks.length <= begun) return
    try {
      await (await opening).addBulk(tasks.slice(begun).map(jobOf))
      isRefused = false
    } catch (error) {
      isRefused = true
      throw error
    }
  }
  const reconcile = async (): Promise<void> => {
    await advanceRuns(context, log)
    const tasks = await takeWakeable(pool, wokenAtOnce)
    if (tasks.length > 0) await wake(tasks)
  }
  let isSilent = false
  /** The watchdog: a queue that is absent or silent must cost seconds, not the sync. The first time may be a restart. */
  const watch = async (): Promise<void> => {
    if (running > 0) return
    const tasks = await neglectedTasks(pool, isRefused ? refusedAfterMs : neglectedAfterMs, tasksAtOnce)
    if (tasks.length === 0) return
    const level = isSilent ? 'error' : 'debug'
    log[level]({ event: 'queue_silent', tasks }, 'the queue does not wake the worker: tasks run without it')
    isSilent = true
    for (const id of tasks) begin(id)
  }
  const noteTime = async (): Promise<void> => {
    const seconds = Math.round(await noteDatabaseTime(context.database))
    if (seconds > 0)
      log.warn(
        { event: 'clock_set_back', seconds },
        'the clock of Postgres was set back: leases and due times were adjusted',
      )
  }
  const reconciler = service('the reconciler', everySecondMs, reconcile, { log })
  poke = reconciler.poke
  const services = [
    reconciler,
    service('the watchdog of the queue', everySecondMs, watch, { log }),
    service('noting the time of Postgres', noteTimeEveryMs, noteTime, { log }),
  ]
  const end = async (): Promise<void> => {
    stopping.abort()
    await Promise.all(services.map(({ stop }) => stop()))
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
      poke,
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
  const queue: JobQueue = await backend.openQueue(scheduleQueue)
  let fitAt = 0
  /** The honoured windows when intervals were last fitted. */
  let fittedTo = ''
  const fit = async (): Promise<void> => {
    // A list whose windows are honoured is read as a whole less often.
    const honoured = (await honouredWindows(database)).join()
    if (performance.now() < fitAt && honoured === fittedTo) return
    fittedTo = honoured
    fitAt = performance.now() + fitAgainMs
    const fitted = await fitSchedule(database, config, ratePerSecond)
    const isApplied = await applySchedule(database, queue, fitted, config.targets)
    await queue.setGlobalConcurrency(1)
    fitAt = isApplied ? performance.now() + fitEveryMs : 0
  }
  // Turns that fell due while no worker ran, the longest overdue first.
  for (const turn of await overdueTurns(database.pool, 0)) await tick({ ...context, onTasks: () => {} }, turn, log)
  const first = await requestFirstSync(database, streamsToRead([], config))
  if (first) log.info({ event: 'first_sync' }, 'the mirror is empty or incomplete: the first complete sync starts')

  const syncing = await startSyncWorker({ context, backend, log })
  const services = [
    service('fitting the schedule', everySecondMs, fit, { log }),
    service(
      'housekeeping',
      housekeepingEveryMs,
      () => runHousekeeping(database, { historyDays: config.historyDays, log }),
      { log, delayMs: housekeepingEveryMs },
    ),
    service('keeping what is on the books', paceEveryMs, () => keepPace(database), { log, delayMs: everySecondMs }),
    service(
      'starting overdue turns',
      everySecondMs,
      async () => {
        for (const turn of await overdueTurns(database.pool, lostAfterS))
          if ((await tick(syncing.context, turn, log)) === 'asked') syncing.poke()
      },
      { log },
    ),
  ]
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
        ...services.map(({ stop }) => stop()),
        syncing.stop(),
        ticker.close().catch((error: unknown) => log.warn({ event: 'ticker_close_failed', reason: messageOf(error) })),
      ])
      await queue.close()
    },
  }
}

/** How long a requested read waits while the API is paused, in milliseconds: longer than the breaker's slowest probe. */
export const patienceMs = 75_000

type Wanted = { readonly streams: readonly string[]; readonly full: boolean }

/** Works on the request that `ask` creates, and on all other work, until `wait` for the request returns. */
export async function workOn<T>(
  options: SyncWorkerOptions,
  ask: () => Promise<string>,
  wait: (requestId: string) => Promise<T>,
): Promise<T> {
  await options.backend.ping() // a queue that is down is one message at once, not a minute of waiting
  const requestId = await ask()
  const worker = await startSyncWorker({ ...options, beginsAtOnce: true })
  try {
    return await wait(requestId)
  } finally {
    await worker.stop()
  }
}

/** Requests a sync, and works on it. */
export const syncNow = <T>(
  options: SyncWorkerOptions,
  wanted: Wanted,
  wait: (requestId: string) => Promise<T>,
): Promise<T> =>
  workOn(options, () => createRequest(options.context.database.pool, { trigger: 'command', ...wanted }), wait)
