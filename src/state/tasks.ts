// Tasks: the units of work of a run, claimed under a lease with a fencing number.

import type { Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'

/** A lease without heartbeat for this long may be taken over. */
export const leaseMs = 10_000
/** How often a lease is renewed. */
export const heartbeatMs = 3_000

export type TaskKind = 'sweep' | 'plan' | 'details' | 'confirm' | 'release'

export type NewTask = { readonly kind: TaskKind; readonly payload?: unknown; readonly priority: number }

export type Task = {
  readonly id: string
  readonly runId: string
  readonly stream: string
  readonly kind: TaskKind
  readonly payload: unknown
  readonly fence: string
  readonly attempts: number
  readonly checkpoint: unknown
  /** Milliseconds since the last checkpoint, on the database's clock; null without one. */
  readonly checkpointAgeMs: number | null
  readonly runStartedAt: Date
  readonly fullRead: boolean
}

/** Adds tasks to a run. Returns their ids. */
export async function addTasks(
  db: Queryable,
  runId: string,
  stream: string,
  tasks: readonly NewTask[],
): Promise<string[]> {
  if (tasks.length === 0) return []
  const { rows } = await db.query<{ id: string }>(
    `insert into sync.tasks (run_id, stream, kind, payload, priority)
     select $1, $2, t ->> 'kind', t -> 'payload', (t ->> 'priority')::int
     from jsonb_array_elements($3::jsonb) with ordinality as e(t, n) order by n
     returning id`,
    [runId, stream, JSON.stringify(tasks.map((task) => ({ payload: {}, ...task })))],
  )
  return rows.map((row) => row.id)
}

/** Claims one task: waiting and due, or running under a lease that ran out. Raises its fencing number; null when another has it. */
export async function claimTask(db: Queryable, id: string, owner: string): Promise<Task | null> {
  const { rows } = await db.query<{
    id: string
    run_id: string
    stream: string
    kind: TaskKind
    payload: unknown
    fence: string
    attempts: number
    checkpoint: unknown
    checkpoint_age_ms: number | null
    started_at: Date
    full_read: boolean
  }>(
    `with claimed as (
       update sync.tasks set status = 'running', owner = $2, fence = fence + 1, attempts = attempts + 1,
         lease_until = clock_timestamp() + $3 * interval '1 ms'
       where id = $1 and ((status = 'waiting' and not_before <= clock_timestamp())
         or (status = 'running' and lease_until < clock_timestamp()))
       returning *)
     select c.id, c.run_id, c.stream, c.kind, c.payload, c.fence, c.attempts, c.checkpoint, r.started_at, r.full_read,
       extract(epoch from clock_timestamp() - c.checkpoint_at)::float8 * 1000 as checkpoint_age_ms
     from claimed c join sync.runs r on r.id = c.run_id`,
    [id, owner, leaseMs],
  )
  const row = rows[0]
  if (row === undefined) return null
  return {
    id: row.id,
    runId: row.run_id,
    stream: row.stream,
    kind: row.kind,
    payload: row.payload,
    fence: row.fence,
    attempts: row.attempts,
    checkpoint: row.checkpoint,
    checkpointAgeMs: row.checkpoint_age_ms,
    runStartedAt: row.started_at,
    fullRead: row.full_read,
  }
}

/** Extends the lease. False when the task was taken over. */
export async function renewLease(db: Queryable, task: Task): Promise<boolean> {
  const { rowCount } = await db.query(
    `update sync.tasks set lease_until = clock_timestamp() + $3 * interval '1 ms'
     where id = $1 and fence = $2 and status = 'running'`,
    [task.id, task.fence, leaseMs],
  )
  return rowCount === 1
}

const held = (rowCount: number | null, task: Task): void => {
  if (rowCount !== 1)
    throw new BoatMirrorError(
      'LEASE_LOST',
      `Task ${task.id} (${task.kind} of ${task.stream}) was taken over by another worker.`,
    )
}

/** Part of every commit: proves that the task is still ours, extends the lease, stores the checkpoint. @throws LEASE_LOST */
export async function checkpointTask(db: Queryable, task: Task, checkpoint: unknown): Promise<void> {
  const { rowCount } = await db.query(
    `update sync.tasks set lease_until = clock_timestamp() + $3 * interval '1 ms',
       checkpoint = coalesce($4::jsonb, checkpoint), checkpoint_at = clock_timestamp()
     where id = $1 and fence = $2 and status = 'running'`,
    [task.id, task.fence, leaseMs, checkpoint === undefined ? null : JSON.stringify(checkpoint)],
  )
  held(rowCount, task)
}

/** Ends a task, in the transaction of its last commit or alone. @throws LEASE_LOST */
export async function endTask(db: Queryable, task: Task, outcome: { readonly error: string | null }): Promise<void> {
  const { rowCount } = await db.query(
    `update sync.tasks set status = $3, error = $4, finished_at = clock_timestamp(), lease_until = null
     where id = $1 and fence = $2 and status = 'running'`,
    [task.id, task.fence, outcome.error === null ? 'done' : 'failed', outcome.error],
  )
  held(rowCount, task)
}

/** Gives a task back, to be claimed again after `delayMs`; what it committed stays. A stop costs no attempt. */
export async function returnTask(
  db: Queryable,
  task: Task,
  options: { readonly delayMs: number; readonly error: string | null },
): Promise<void> {
  await db.query(
    `update sync.tasks set status = 'waiting', owner = null, lease_until = null, error = $3, woken_at = null,
       attempts = case when $3::text is null then attempts - 1 else attempts end,
       not_before = clock_timestamp() + $4 * interval '1 ms'
     where id = $1 and fence = $2 and status = 'running'`,
    [task.id, task.fence, options.error, options.delayMs],
  )
}

/** Tasks that can be claimed and were not woken lately; marks them as woken. Returns ids with their fencing numbers and priorities. */
export async function takeWakeable(
  db: Queryable,
  limit: number,
): Promise<readonly { id: string; fence: string; priority: number }[]> {
  const { rows } = await db.query<{ id: string; fence: string; priority: number }>(
    `update sync.tasks set woken_at = clock_timestamp()
     where id in (
       select id from sync.tasks
       where (status = 'waiting' and not_before <= clock_timestamp() or status = 'running' and lease_until < clock_timestamp())
         and (woken_at is null or woken_at < clock_timestamp() - interval '5 s')
       order by priority, id limit $1 for update skip locked)
     returning id, fence, priority`,
    [limit],
  )
  return rows
}

/** Tasks that could have been claimed for this long, most urgent first: their wake-ups did not arrive. */
export async function neglectedTasks(db: Queryable, forMs: number, limit: number): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from sync.tasks
     where status = 'waiting' and greatest(created_at, not_before) < clock_timestamp() - $1 * interval '1 ms'
        or status = 'running' and lease_until < clock_timestamp() - $1 * interval '1 ms'
     order by priority, id limit $2`,
    [forMs, limit],
  )
  return rows.map((row) => row.id)
}

/** Open tasks of runs, by run: for progress. */
export async function countTasks(
  db: Queryable,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, { done: number; all: number }>> {
  const { rows } = await db.query<{ run_id: string; done: number; all: number }>(
    `select run_id, (count(*) filter (where status in ('done', 'failed')))::int as done, count(*)::int as all
     from sync.tasks where run_id = any($1::bigint[]) group by run_id`,
    [runIds],
  )
  return new Map(rows.map((row) => [row.run_id, row]))
}
