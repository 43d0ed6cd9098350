// The reconciler: each second it re-creates wake-ups that were lost, moves requests on and starts what is overdue, so that an
// emptied Redis, a lost notification or a stalled job costs seconds, never data.

import { sleep } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { takeWakeable } from '../state/tasks.ts'
import { type Advanced, advance } from '../sync/advance.ts'
import type { JobQueue, SyncJob } from './queues.ts'

const intervalMs = 1_000
const wakeAtOnce = 500

/** What the reconciler needs of a queue. */
export type WakeUps = Pick<JobQueue, 'addBulk'>

export type Reconciler = {
  /** Looks now instead of at the next second. */
  poke(): void
  stop(): Promise<void>
}

type ReconcilerOptions = {
  readonly database: Database
  readonly queue: WakeUps
  readonly log: Logger
  /** Called each second besides, e.g. to start overdue streams. */
  readonly also?: () => Promise<void>
}

/** Wakes tasks: one job per task and fencing number, so that a wake-up that still waits is not doubled. */
async function wakeTasks(database: Database, queue: WakeUps): Promise<number> {
  const tasks = await takeWakeable(database.pool, wakeAtOnce)
  if (tasks.length === 0) return 0
  await queue.addBulk(
    tasks.map(({ id, fence, priority }) => {
      const data: SyncJob = { taskId: id }
      return {
        name: 'task',
        data,
        opts: { jobId: `task-${id}-${fence}`, priority, removeOnComplete: true, removeOnFail: true },
      }
    }),
  )
  return tasks.length
}

/** One look at the tables: ends and starts runs, wakes tasks. */
async function reconcileOnce(database: Database, queue: WakeUps, log: Logger): Promise<Advanced> {
  const advanced = await advance(database)
  for (const run of advanced.finished) {
    const level = run.status === 'done' ? 'debug' : 'warn'
    log[level](
      {
        event: 'run_finished',
        run: run.id,
        stream: run.stream,
        status: run.status,
        ...(run.error === null ? {} : { reason: run.error }),
      },
      `${run.stream}: ${run.status}`,
    )
  }
  await wakeTasks(database, queue)
  return advanced
}

/** Starts the reconciler's loop. Errors are logged, once per message in a row, and the next second tries again. */
export function startReconciler({ database, queue, log, also }: ReconcilerOptions): Reconciler {
  const stopping = new AbortController()
  let poked = new AbortController()
  let lastError = ''

  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await also?.()
        await reconcileOnce(database, queue, log)
        lastError = ''
      } catch (error) {
        if (messageOf(error) !== lastError)
          log.warn({ event: 'reconciler_failed', err: error }, 'the reconciler failed and tries again')
        lastError = messageOf(error)
      }
      await sleep(intervalMs, AbortSignal.any([stopping.signal, poked.signal])).catch(() => undefined) // woken early
      if (poked.signal.aborted) poked = new AbortController()
    }
  }
  const looping = loop()
  return {
    poke: () => poked.abort(),
    stop: async () => {
      stopping.abort()
      await looping
    },
  }
}
