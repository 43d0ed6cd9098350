// The reconciler: each second it re-creates wake-ups that were lost, moves requests on and starts what is overdue, so that an
// emptied Redis, a lost notification or a stalled job costs seconds, never data.

import { sleep } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { messageOf } from '../errors.ts'
import { runLine } from '../inspect/outcome.ts'
import type { Logger } from '../log.ts'
import { advance } from '../sync/advance.ts'
import type { PlanSettings } from '../sync/plan.ts'
import { hasChanged } from '../sync/runs/runs.ts'
import { takeWakeable } from '../sync/runs/tasks.ts'
import type { JobQueue, SyncJob } from './queues.ts'

const intervalMs = 1_000
const wakeAtOnce = 500

type Wakeable = Awaited<ReturnType<typeof takeWakeable>>[number]

/** Makes sure that these tasks get started, in this order. */
export type Wake = (tasks: readonly Wakeable[]) => Promise<void>

export type Reconciler = {
  /** Looks now instead of at the next second. */
  poke(): void
  stop(): Promise<void>
}

type ReconcilerOptions = {
  readonly database: Database
  readonly settings: PlanSettings
  readonly wake: Wake
  readonly log: Logger
  /** Called each second after the check of the tables, e.g. to start overdue streams. */
  readonly also?: () => Promise<void>
}

/** The job that wakes a task: one per fencing number, so that a wake-up that still waits is not doubled. */
export const jobOf = ({ id, fence, priority }: Wakeable): Parameters<JobQueue['addBulk']>[0][number] => ({
  name: 'task',
  data: { taskId: id } satisfies SyncJob,
  opts: { jobId: `task-${id}-${fence}`, priority, removeOnComplete: true, removeOnFail: true },
})

/** One check of the tables: ends and starts runs, wakes tasks. */
async function reconcileOnce({ database, settings, wake, log }: ReconcilerOptions): Promise<void> {
  const advanced = await advance(database, settings)
  for (const run of advanced.finished) {
    const { id, stream, status, error } = run
    // Failed runs need attention.
    const level = status !== 'done' ? 'warn' : hasChanged(run) ? 'info' : 'debug'
    const reason = error === null ? {} : { reason: error }
    log[level]({ event: 'run_finished', run: id, stream, status, ...reason }, runLine(run))
  }
  const tasks = await takeWakeable(database.pool, wakeAtOnce)
  if (tasks.length > 0) await wake(tasks)
}

/** Starts the reconciler's loop. Errors are logged, once per message in a row, and the next second tries again. */
export function startReconciler(options: ReconcilerOptions): Reconciler {
  const { log, also = async () => {} } = options
  // Each for itself: a queue that takes no jobs must not keep the watchdog from looking.
  const steps = [() => reconcileOnce(options), also]
  let stopped = false
  let woken = new AbortController()
  let failures: ReadonlySet<string> = new Set()

  const loop = async (): Promise<void> => {
    while (!stopped) {
      const told = failures
      const failed = new Set<string>()
      for (const step of steps)
        try {
          await step()
        } catch (error) {
          failed.add(messageOf(error))
          if (!told.has(messageOf(error)))
            log.warn({ event: 'reconciler_failed', err: error }, 'the reconciler failed and will retry')
        }
      failures = failed
      await sleep(intervalMs, woken.signal).catch(() => undefined) // woken early
      if (woken.signal.aborted) woken = new AbortController()
    }
  }
  const looping = loop()
  return {
    poke: () => woken.abort(),
    stop: async () => {
      stopped = true
      woken.abort()
      await looping
    },
  }
}
