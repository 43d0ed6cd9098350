// Tasks: the units of work of a run, claimed under a lease with a fencing number.

import { type QueryCreator, sql, type UpdateResult } from 'kysely'
import { claiming, hasRunOut, leaseLost } from '../../database/leases.ts'
import type { MirrorDatabase } from '../../database/schema.generated.ts'
import { inMs, now, on, type Queryable } from '../../database/sql.ts'
import { stringifyJson } from '../../json/plain.ts'
import { type Reason, reasonNumber, reasonOf } from '../due/reasons.ts'
import { addingCounts, type RunCounts, refreshTrigger } from './runs.ts'

/** A task without a heartbeat for this long may be claimed by another worker. */
const leaseMs = 10_000
/** How often a lease is renewed. */
export const heartbeatMs = 3_000

type TaskKind = 'sweep' | 'plan' | 'links' | 'details' | 'confirm' | 'release' | 'refresh'

export type NewTask = {
  readonly kind: TaskKind
  /** Why; missing or null: for the reason of its run. */
  readonly reason?: Reason | null
  readonly payload?: unknown
  readonly priority: number
  /** How long it cannot be claimed, in milliseconds. */
  readonly delayMs?: number
}

export type Task = {
  readonly id: string
  readonly runId: string
  readonly stream: string
  readonly kind: TaskKind
  /** Null: an earlier version added it. */
  readonly reason: Reason | null
  readonly payload: unknown
  readonly priority: number
  readonly fence: string
  readonly attempts: number
  readonly checkpoint: unknown
  /** Milliseconds since the last checkpoint, on the database's clock; null without one. */
  readonly checkpointAgeMs: number | null
  readonly runStartedAt: Date
  readonly fullRead: boolean
  /** Its run reads only what is most likely to have changed. */
  readonly hot: boolean
  /** A worker's schedule asked for its run. */
  readonly isScheduled: boolean
  /** Its run was requested: it goes before everything scheduled. */
  readonly isAsked: boolean
}

/** SQL: why a run `r` reads. */
const reasonOfRun = `case when r.hot then 'hot' when r.trigger = 'release' then 'released'
  when r.trigger in ('first', 'schedule') then 'complete' else 'asked' end`

/** Adds tasks to a run. Returns their ids. */
export async function addTasks(
  db: Queryable,
  runId: string,
  stream: string,
  tasks: readonly NewTask[],
): Promise<string[]> {
  if (tasks.length === 0) return []
  const { rows } = await db.query<{ id: string }>(
    `insert into sync.tasks (run_id, stream, kind, payload, priority, reason, not_before)
     select $1, $2, t ->> 'kind', t -> 'payload', (t ->> 'priority')::int,
       ${reasonNumber(`coalesce(t ->> 'reason', (select ${reasonOfRun} from sync.runs r where r.id = $1))`)},
       coalesce(clock_timestamp() + (t ->> 'delayMs')::float8 * interval '1 ms', '-infinity')
     from jsonb_array_elements($3::jsonb) with ordinality as e(t, n) order by n
     returning id`,
    [runId, stream, stringifyJson(tasks.map((task) => ({ payload: {}, ...task })))],
  )
  return rows.map((row) => row.id)
}

/** SQL: can be claimed, waiting and due, or running under a lease that has run out; for so many milliseconds. */
const claimableSql = (forMs = 0): string => {
  const then = forMs === 0 ? 'clock_timestamp()' : `clock_timestamp() - ${forMs} * interval '1 ms'`
  return `(status = 'waiting' and ${forMs === 0 ? 'not_before' : 'greatest(created_at, not_before)'} <= ${then}
    or status = 'running' and ${hasRunOut('', then)})`
}
const claimSql = `
  with c as (
    update sync.tasks set status = 'running', attempts = attempts + 1, ${claiming('$2', leaseMs)}
    where id = $1 and ${claimableSql()} returning *
  )
  select c.id, c.run_id as "runId", c.stream, c.kind, ${reasonOf('c.reason')} as reason, c.payload, c.priority, c.fence, c.attempts, c.checkpoint,
    r.started_at as "runStartedAt", r.full_read as "fullRead", r.hot, r.trigger = 'schedule' as "isScheduled",
    r.trigger = '${refreshTrigger}' as "isAsked",
    extract(epoch from clock_timestamp() - c.checkpoint_at)::float8 * 1000 as "checkpointAgeMs"
  from c join sync.runs r on r.id = c.run_id`

/** Claims one task that can be claimed; null when another worker has it. */
export async function claimTask(db: Queryable, id: string, owner: string): Promise<Task | null> {
  const { rows } = await db.query<Task>(claimSql, [id, owner])
  return rows[0] ?? null
}

/** A task as long as this worker holds it: it was not claimed by another since. */
const ours = (q: Pick<QueryCreator<MirrorDatabase>, 'updateTable'>, task: Task) =>
  q.updateTable('sync.tasks').where('id', '=', task.id).where('fence', '=', task.fence).where('status', '=', 'running')

/** Extends the lease. False when the task was taken over. */
export async function renewLease(db: Queryable, task: Task): Promise<boolean> {
  const { numUpdatedRows } = await ours(on(db), task)
    .set({ lease_until: inMs(leaseMs) })
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

const assertOurs = ({ numUpdatedRows }: UpdateResult, task: Task): void => {
  if (numUpdatedRows !== 1n) throw leaseLost(`Task ${task.id} (${task.kind} of ${task.stream})`)
}

/**
 * Part of every commit: proves that the task is still ours, extends the lease, stores the checkpoint, and adds to the
 * counts of its run what was done up to there.
 * @throws LEASE_LOST
 */
export async function checkpointTask(
  db: Queryable,
  task: Task,
  { checkpoint, counts }: { readonly checkpoint: unknown; readonly counts: Partial<RunCounts> },
): Promise<void> {
  const stored = checkpoint === undefined ? {} : { checkpoint: stringifyJson(checkpoint) }
  const counting = addingCounts(on(db), task.runId, counts)
  const q = counting === undefined ? on(db) : on(db).with('counted', () => counting)
  const updated = await ours(q, task)
    .set({ lease_until: inMs(leaseMs), checkpoint_at: now, ...stored })
    .executeTakeFirst()
  assertOurs(updated, task)
}

/** Ends a task, in the transaction of its last commit or a separate one. @throws LEASE_LOST */
export async function endTask(db: Queryable, task: Task, { error }: { readonly error: string | null }): Promise<void> {
  const updated = await ours(on(db), task)
    .set({ status: error === null ? 'done' : 'failed', error, finished_at: now, lease_until: null })
    .executeTakeFirst()
  assertOurs(updated, task)
}

export async function hasOpenTasks(db: Queryable, runId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from sync.tasks where run_id = $1 and status in ('waiting', 'running') limit 1`,
    [runId],
  )
  return rowCount === 1
}

/** Gives a task back, to be claimed again after `delayMs`; what it committed stays. A stop costs no attempt. */
export async function returnTask(
  db: Queryable,
  task: Task,
  { delayMs, error }: { readonly delayMs: number; readonly error: string | null },
): Promise<void> {
  await ours(on(db), task)
    .set({ status: 'waiting', owner: null, lease_until: null, error, woken_at: null, not_before: inMs(delayMs) })
    .set({ attempts: error === null ? sql`attempts - 1` : sql`attempts` })
    .execute()
}

/** Tasks that can be claimed and were not woken lately, most urgent first; marks them as woken. */
export async function takeWakeable(
  db: Queryable,
  limit: number,
): Promise<readonly { id: string; fence: string; priority: number }[]> {
  const { rows } = await db.query<{ id: string; fence: string; priority: number }>(
    `with woken as (
       update sync.tasks set woken_at = clock_timestamp() where id in (select id from sync.tasks
         where ${claimableSql()} and (woken_at is null or woken_at < clock_timestamp() - interval '5 s')
         order by priority, id limit $1 for update skip locked)
       returning id, fence, priority)
     select * from woken order by priority, id`, // a plan puts first what is of use first
    [limit],
  )
  return rows
}

/** Tasks that could have been claimed for this long, most urgent first: their wake-ups did not arrive. */
export async function neglectedTasks(db: Queryable, forMs: number, limit: number): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from sync.tasks where ${claimableSql(forMs)} order by priority, id limit $1`,
    [limit],
  )
  return rows.map(({ id }) => id)
}

/**
 * Lets go of the plans that wait for the other lists of their requests: those of which no list is still to be read.
 * A list whose stream is busy with the details of an earlier run is not waited for.
 */
export async function releasePlans(db: Queryable, lists: readonly string[]): Promise<void> {
  await db.query(
    `update sync.tasks t set not_before = clock_timestamp()
     where t.status = 'waiting' and t.kind = 'plan' and t.attempts = 0 and t.not_before > clock_timestamp()
       and not exists (
         select from sync.request_streams mine
         join sync.request_streams other on other.request_id = mine.request_id and other.stream = any($1)
         left join sync.runs own on own.id = other.run_id
         left join sync.runs earlier on other.run_id is null and earlier.stream = other.stream and earlier.status = 'running'
         where mine.run_id = t.run_id and coalesce(own.swept_at, earlier.swept_at) is null)`,
    [lists],
  )
}

export type Waiting = {
  /** A task of a lower priority number has waited for so long that no worker has a place for it. */
  readonly urgent: boolean
  /** A task waits that could be claimed: no worker is without work. */
  readonly any: boolean
}

/** What waits to be claimed: urgent is what has a lower priority number than `below` and has waited for `forMs`. */
export async function waitingTasks(db: Queryable, below: number, forMs: number): Promise<Waiting> {
  const { rows } = await db.query<Waiting>(
    `select exists (select from sync.tasks where ${claimableSql(forMs)} and priority < $1) as urgent,
       exists (select from sync.tasks where ${claimableSql()}) as any`,
    [below],
  )
  return rows[0] ?? { urgent: false, any: false }
}
