// One task from claim to end: lease, heartbeat, and what becomes of it when it fails or is stopped.

import { setMaxListeners } from 'node:events'
import { backoffMs } from '../clock.ts'
import { leaseLost } from '../database/leases.ts'
import { ApiError, BoatMirrorError, messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { committing } from './commit.ts'
import { listReading, type SyncContext, type TaskRun, taskRun } from './context.ts'
import { runConfirm, runRelease } from './deletions/confirm.ts'
import { decideEmptied } from './deletions/emptied.ts'
import { runDetails, runPlan } from './details/details.ts'
import { runLinks } from './details/links.ts'
import { runSweep } from './lists/sweep.ts'
import { askingFirst, runRefresh } from './refresh.ts'
import { claimTask, endTask, heartbeatMs, renewLease, returnTask, type Task } from './runs/tasks.ts'

/** Attempts of a task that fails for a passing reason; each read was already retried by the api layer. */
const maxAttempts = 4
const backoff = { firstMs: 1_000, longestMs: 4_000, jitter: 0 }

/** A worker that must not write any more takes a task up again no sooner than this, in milliseconds: it is about to stop. */
const fencedMs = 5_000

/** Logs that say already that the API refuses the credentials: it refuses every stream alike. */
const refusalLogged = new WeakSet<Logger>()

type TaskOutcome = 'done' | 'taken' | 'returned' | 'failed' | 'lost'

/**
 * Claims a task and carries it out.
 * @returns `taken` when another worker has it, `returned` when it was given back for later, `lost` when it was taken over meanwhile.
 */
export async function runTask(
  context: SyncContext,
  taskId: string,
  owner: string,
  stop: AbortSignal,
): Promise<TaskOutcome> {
  const { pool } = context.database
  const task = await claimTask(pool, taskId, owner)
  if (task === null) return 'taken'
  const lost = new AbortController()
  const signal = AbortSignal.any([stop, lost.signal])
  // Each request in flight listens; Node would warn from the eleventh on.
  setMaxListeners(0, signal)
  const heartbeat = setInterval(() => {
    renewLease(pool, task).then(
      (held) => held || lost.abort(leaseLost(`Task ${task.id}`)),
      // The next beat tries again; a lease that ran out meanwhile shows in the next commit.
      (error) =>
        context.log.warn(
          { event: 'heartbeat_failed', task: task.id, error: messageOf(error) },
          'a lease could not be renewed',
        ),
    )
  }, heartbeatMs)
  try {
    await carryOut(taskRun(task.isAsked ? askingFirst(context) : context, task, committing, signal))
    refusalLogged.delete(context.log)
    return 'done'
  } catch (error) {
    return await afterFailure(context, task, { error, stopped: stop.aborted, lost: lost.signal.aborted })
  } finally {
    clearInterval(heartbeat)
  }
}

export function carryOut(run: TaskRun): Promise<void> {
  const { stream, task } = run
  switch (task.kind) {
    case 'sweep':
      return runSweep(listReading(run, stream))
    case 'plan':
      return runPlan(run)
    case 'links':
      return runLinks(run)
    case 'details':
      return runDetails(run)
    case 'confirm':
      return stream.reads.kind === 'list' ? runConfirm(listReading(run, stream)) : decideEmptied(run)
    case 'release':
      return runRelease(run)
    case 'refresh':
      return runRefresh(run)
    default:
      return task.kind satisfies never
  }
}

async function afterFailure(
  context: SyncContext,
  task: Task,
  { error, stopped, lost }: { readonly error: unknown; readonly stopped: boolean; readonly lost: boolean },
): Promise<TaskOutcome> {
  const { log, database } = context
  if (lost || (error instanceof BoatMirrorError && error.code === 'LEASE_LOST')) {
    log.info({ event: 'lease_lost', task: task.id, stream: task.stream }, 'another worker took over a task')
    return 'lost'
  }
  // What was read by rules that were changed meanwhile is dropped, and read again: by who knows the new ones.
  const isOld = error instanceof BoatMirrorError && (error.code === 'PRIVACY_DIFFERS' || error.kind === 'abort')
  if (stopped || isOld) {
    const isFenced = isOld && (error.kind === 'fatal' || error.code === 'DATABASE_SCHEMA')
    await returnTask(database.pool, task, { delayMs: isFenced ? fencedMs : 0, error: null })
    return 'returned'
  }
  const passing = error instanceof BoatMirrorError ? error.kind === 'retry' : true
  if (passing && task.attempts < maxAttempts) {
    const delayMs =
      error instanceof ApiError && error.retryAfterMs !== undefined
        ? error.retryAfterMs
        : backoffMs(task.attempts, backoff)
    log.warn(
      { event: 'task_returned', task: task.id, kind: task.kind, stream: task.stream, delayMs, err: error },
      'a task failed and will be retried',
    )
    await returnTask(database.pool, task, { delayMs, error: messageOf(error) })
    return 'returned'
  }
  const unauthorized = error instanceof ApiError && error.code === 'API_UNAUTHORIZED'
  const level = unauthorized && refusalLogged.has(log) ? 'debug' : 'error'
  if (unauthorized) refusalLogged.add(log)
  log[level](
    { event: 'task_failed', task: task.id, kind: task.kind, stream: task.stream, err: error },
    unauthorized
      ? `no stream can be read: ${messageOf(error)} ${error.remedy ?? ''}`
      : `${task.stream}: ${messageOf(error)}`,
  )
  await endTask(database.pool, task, { error: messageOf(error) })
  return 'failed'
}
