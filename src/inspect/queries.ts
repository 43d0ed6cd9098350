// What people ask the database: the state of streams, endpoints, runs, the outbox and the quarantine. Reads only.

import type { Queryable } from '../database/sql.ts'
import type { Run } from '../state/runs.ts'

export type StreamFacts = {
  readonly stream: string
  readonly asOf: Date | null
  readonly rows: number
  readonly lastRunId: number | null
  readonly nextDueAt: Date | null
  readonly intervalS: number | null
  readonly targetS: number | null
}

export type EndpointFacts = {
  readonly endpoint: string
  readonly calls: number
  readonly failures: number
  readonly lastStatus: number | null
  readonly lastCalledAt: Date | null
  readonly lastError: string | null
}

/** Version as Postgres names it (`16.4`), and the database's size in bytes. */
export async function databaseFacts(db: Queryable): Promise<{ readonly version: string; readonly size: number }> {
  const { rows } = await db.query<{ version: string; size: string }>(
    `select current_setting('server_version') as version, pg_database_size(current_database())::text as size`,
  )
  return { version: rows[0]?.version ?? '', size: Number(rows[0]?.size ?? 0) }
}

/** The rows of sync.streams, in the order of their names. */
export async function streamFacts(db: Queryable): Promise<readonly StreamFacts[]> {
  const { rows } = await db.query<StreamFacts>(
    `select stream, as_of as "asOf", rows::float8 as rows, last_run_id::float8 as "lastRunId",
       next_due_at as "nextDueAt", interval_s::float8 as "intervalS", target_s::float8 as "targetS"
     from sync.streams order by stream`,
  )
  return rows
}

/** The rows of sync.endpoints, in the order of their names. */
export async function endpointFacts(db: Queryable): Promise<readonly EndpointFacts[]> {
  const { rows } = await db.query<EndpointFacts>(
    `select endpoint, calls::float8 as calls, failures::float8 as failures, last_status as "lastStatus",
       last_called_at as "lastCalledAt", last_error as "lastError"
     from sync.endpoints order by endpoint`,
  )
  return rows
}

export type OutboxFacts = {
  /** How many changes are in each state; states without changes left out. */
  readonly counts: Readonly<Record<string, number>>
  /** The oldest change in each of these states, by its id. */
  readonly first: Readonly<Record<string, number>>
  /** When the oldest queued change was enqueued. */
  readonly oldestQueuedAt: Date | null
}

/** What is in the outbox. */
export async function outboxFacts(db: Queryable): Promise<OutboxFacts> {
  const { rows } = await db.query<{ status: string; count: number; first: string; oldest: Date }>(
    `select status, count(*)::int as count, min(id) as first, min(enqueued_at) as oldest
     from outbox.changes group by status order by status`,
  )
  return {
    counts: Object.fromEntries(rows.map(({ status, count }) => [status, count])),
    first: Object.fromEntries(rows.map(({ status, first }) => [status, Number(first)])),
    oldestQueuedAt: rows.find(({ status }) => status === 'queued')?.oldest ?? null,
  }
}

/** One run; null when there is none of this number. */
export async function findRun(db: Queryable, id: string): Promise<Run | null> {
  const { rows } = await db.query<Run>(`select * from sync.runs where id = $1`, [id])
  return rows[0] ?? null
}

/** The last run of each stream that had one: running, or ended. */
export async function lastRuns(db: Queryable): Promise<readonly Run[]> {
  const { rows } = await db.query<Run>(`select distinct on (stream) * from sync.runs order by stream, id desc`)
  return rows
}

export type TaskFacts = {
  readonly kind: string
  readonly status: string
  readonly tasks: number
  readonly attempts: number
  readonly error: string | null
}

/** The tasks of a run, counted by kind and status. */
export async function taskFacts(db: Queryable, runId: string): Promise<readonly TaskFacts[]> {
  const { rows } = await db.query<TaskFacts>(
    `select kind, status, count(*)::int as tasks, sum(attempts)::int as attempts, min(error) as error
     from sync.tasks where run_id = $1 group by kind, status order by kind, status`,
    [runId],
  )
  return rows
}

/** Keys whose deletion a run holds back: the first of them, and how many there are, released ones left out. */
export async function heldKeyFacts(
  db: Queryable,
  runId: string,
  limit: number,
): Promise<{ readonly count: number; readonly keys: readonly string[] }> {
  const { rows } = await db.query<{ count: number; keys: string[] | null }>(
    `select count(*)::int as count, (array_agg(key order by key))[1:$2] as keys
     from sync.held where run_id = $1 and released_at is null`,
    [runId, limit],
  )
  return { count: rows[0]?.count ?? 0, keys: rows[0]?.keys ?? [] }
}

export type QuarantineFacts = {
  readonly id: number
  readonly stream: string
  readonly key: string
  readonly endpoint: string
  readonly reason: string
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly times: number
}

/** Records in quarantine without their payloads, newest first. */
export async function quarantineFacts(
  db: Queryable,
  filter: { readonly stream?: string; readonly limit: number },
): Promise<readonly QuarantineFacts[]> {
  const { rows } = await db.query<QuarantineFacts>(
    `select id::float8 as id, stream, key, endpoint, reason, first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt",
       times::float8 as times
     from sync.quarantine where $1::text is null or stream = $1 order by last_seen_at desc, id desc limit $2`,
    [filter.stream ?? null, filter.limit],
  )
  return rows
}

export type Backlog = {
  /** Running runs. */
  readonly runs: number
  /** Tasks of theirs: done, and in all. */
  readonly done: number
  readonly all: number
  /** Since the oldest of them started, in seconds. */
  readonly elapsedS: number
}

/** What the running runs still have to do; null when none runs. */
export async function backlog(db: Queryable): Promise<Backlog | null> {
  const { rows } = await db.query<Backlog>(
    `select count(distinct r.id)::int as runs, count(t.id) filter (where t.status in ('done', 'failed'))::int as done,
       count(t.id)::int as all,
       extract(epoch from clock_timestamp() - min(r.started_at))::float8 as "elapsedS"
     from sync.runs r join sync.tasks t on t.run_id = r.id where r.status = 'running' having count(*) > 0`,
  )
  return rows[0] ?? null
}

/** The database's own clock. */
export async function databaseClock(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]?.now ?? new Date()
}

/** The newest request of this trigger that is not finished; null when there is none. */
export async function openRequest(db: Queryable, trigger: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    `select id from sync.requests where trigger = $1 and finished_at is null order by id desc limit 1`,
    [trigger],
  )
  return rows[0]?.id ?? null
}

/** May this role create schemas in this database? */
export async function mayCreate(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ allowed: boolean }>(
    `select has_database_privilege(current_database(), 'create') as allowed`,
  )
  return rows[0]?.allowed ?? false
}
