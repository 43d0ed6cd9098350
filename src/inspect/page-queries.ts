// What the status page shows besides `status --json`: freshness, last runs, what runs now, traffic, calendars. Reads only.

import type { Queryable } from '../database/sql.ts'
import type { Freshness } from './freshness.ts'

export type StreamFreshness = {
  readonly stream: string
  readonly state: Freshness
  readonly targetS: number | null
  readonly ageS: number | null
  readonly lastRunStatus: string | null
  readonly lastError: string | null
}

/** How fresh each stream is: report.freshness says it, here and everywhere. */
export async function freshnessFacts(db: Queryable): Promise<readonly StreamFreshness[]> {
  const { rows } = await db.query<StreamFreshness>(
    `select stream, state, target_s::float8 as "targetS", age_s::float8 as "ageS",
       last_run_status as "lastRunStatus", last_error as "lastError"
     from report.freshness order by stream`,
  )
  return rows
}

export type FinishedRun = {
  readonly stream: string
  readonly id: number
  readonly status: string
  readonly startedAt: Date
  readonly seconds: number
  readonly read: number
  readonly changes: number
}

/** The last finished runs of each stream, oldest first. */
export async function recentRuns(db: Queryable, perStream: number): Promise<readonly FinishedRun[]> {
  const { rows } = await db.query<FinishedRun>(
    `select s.stream, r.id::float8 as id, r.status, r.started_at as "startedAt",
       extract(epoch from r.finished_at - r.started_at)::float8 as seconds, r.read::float8 as read,
       (r.inserted + r.updated + r.deleted)::float8 as changes
     from sync.streams s cross join lateral (
       select * from sync.runs where stream = s.stream and finished_at is not null order by id desc limit $1) r
     order by s.stream, r.id`,
    [perStream],
  )
  return rows
}

export type RunningRun = {
  readonly id: number
  readonly stream: string
  readonly trigger: string
  readonly phase: string
  readonly seconds: number
  readonly read: number
  /** Records the list holds, where the API says so. */
  readonly total: number | null
  readonly changes: number
  readonly requests: number
  readonly tasksDone: number
  readonly tasks: number
}

/** The running runs, oldest first. */
export async function runningRuns(db: Queryable): Promise<readonly RunningRun[]> {
  const { rows } = await db.query<RunningRun>(
    `select r.id::float8 as id, r.stream, r.trigger, r.phase,
       extract(epoch from clock_timestamp() - r.started_at)::float8 as seconds, r.read::float8 as read,
       r.total::float8 as total, (r.inserted + r.updated + r.deleted)::float8 as changes, r.requests::float8 as requests,
       t.done as "tasksDone", t.tasks
     from sync.runs r cross join lateral (
       select count(*)::int as tasks, count(*) filter (where status in ('done', 'failed'))::int as done
       from sync.tasks where run_id = r.id) t
     where r.status = 'running' order by r.id`,
  )
  return rows
}

/** Streams that are asked for and have not begun. */
export async function waitingStreams(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ stream: string }>(
    `select distinct s.stream from sync.request_streams s join sync.requests r on r.id = s.request_id
     where r.finished_at is null and s.run_id is null order by 1`,
  )
  return rows.map(({ stream }) => stream)
}

/** Open tasks by status. */
export async function openTasks(db: Queryable): Promise<{ readonly waiting: number; readonly running: number }> {
  const { rows } = await db.query<{ waiting: number; running: number }>(
    `select count(*) filter (where status = 'waiting')::int as waiting, count(*) filter (where status = 'running')::int as running
     from sync.tasks where status in ('waiting', 'running')`,
  )
  return rows[0] ?? { waiting: 0, running: 0 }
}

export type TrafficPoint = {
  /** Beginning of the interval. */
  readonly at: Date
  readonly calls: number
  readonly failures: number
  readonly throttled: number
  readonly meanMs: number | null
  readonly slowestMs: number | null
}

/** Calls of the API in whole intervals up to now, oldest first; empty intervals included. */
export async function trafficPoints(
  db: Queryable,
  { hours, minutes }: { readonly hours: number; readonly minutes: number },
): Promise<readonly TrafficPoint[]> {
  const { rows } = await db.query<TrafficPoint>(
    `select p.at, coalesce(sum(t.calls), 0)::float8 as calls, coalesce(sum(t.failures), 0)::float8 as failures,
       coalesce(sum(t.throttled), 0)::float8 as throttled, (sum(t.total_ms) / nullif(sum(t.calls), 0))::float8 as "meanMs",
       max(t.slowest_ms)::float8 as "slowestMs"
     from (select date_bin($2 * interval '1 min', clock_timestamp(), 'epoch') - n * $2 * interval '1 min' as at
           from generate_series(0, $1::int * 60 / $2::int - 1) n) p
     left join sync.traffic t on t.minute >= p.at and t.minute < p.at + $2 * interval '1 min'
     group by p.at order by p.at`,
    [hours, minutes],
  )
  return rows
}

export type CalendarYear = {
  readonly year: number
  /** One character per day from 1 January: 0 free, 1 full. */
  readonly days: string
}

/** Changes whenever calendars were read again: the last run of their stream. */
export async function calendarVersion(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ version: string | null }>(
    `select last_run_id::text as version from sync.streams where stream = 'resource_availability_years'`,
  )
  return rows[0]?.version ?? ''
}

/** The calendars of all resources for these years. */
export async function calendarYears(db: Queryable, years: readonly number[]): Promise<readonly CalendarYear[]> {
  const { rows } = await db.query<CalendarYear>(
    `select year::int as year, days from mirror.resource_availability_years
     where _deleted_at is null and days is not null and year = any($1::bigint[])`,
    [years],
  )
  return rows
}
