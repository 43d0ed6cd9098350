// The data of the status page beyond `status --json`: freshness, last runs, current runs, traffic, calendars. Reads
// only.

import { type NotNull, sql } from 'kysely'
import { on, type Queryable } from '../database/sql.ts'
import type { Freshness } from './queries.ts'

export type StreamFreshness = {
  readonly stream: string
  readonly state: Freshness
  readonly targetS: number | null
  readonly lastRunStatus: string | null
  readonly lastError: string | null
}

/** How fresh each stream is: report.freshness says it, here and everywhere. */
export async function freshnessFacts(db: Queryable): Promise<readonly StreamFreshness[]> {
  return await on(db)
    .selectFrom('report.freshness as f')
    .select((eb) => [
      'stream',
      eb.ref('f.state').$castTo<Freshness>().as('state'),
      eb.cast<number | null>('target_s', 'float8').as('targetS'),
      'last_run_status as lastRunStatus',
      'last_error as lastError',
    ])
    .$narrowType<{ stream: NotNull }>()
    .orderBy('stream')
    .execute()
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

const changesOf = sql<number>`(r.inserted + r.updated + r.deleted)::float8`.as('changes')

/** The last finished complete runs of each stream, oldest first. */
export async function recentRuns(db: Queryable, perStream: number): Promise<readonly FinishedRun[]> {
  return await on(db)
    .selectFrom('sync.streams as s')
    .innerJoinLateral(
      (q) =>
        q
          .selectFrom('sync.runs')
          .selectAll()
          .whereRef('stream', '=', 's.stream')
          .where('hot', '=', false)
          .where('record_key', 'is', null)
          .where('trigger', '<>', 'release')
          .where('finished_at', 'is not', null)
          .orderBy('id', 'desc')
          .limit(perStream)
          .as('r'),
      (join) => join.onTrue(),
    )
    .select((eb) => [
      's.stream',
      eb.cast<number>('r.id', 'float8').as('id'),
      'r.status',
      'r.started_at as startedAt',
      sql<number>`extract(epoch from r.finished_at - r.started_at)::float8`.as('seconds'),
      eb.cast<number>('r.read', 'float8').as('read'),
      changesOf,
    ])
    .orderBy('s.stream')
    .orderBy('r.id')
    .execute()
}

export type RunningRun = {
  readonly id: number
  readonly stream: string
  readonly phase: string
  readonly seconds: number
  readonly read: number
  /** Records in the list, if the API reports it. */
  readonly total: number | null
  readonly changes: number
  readonly requests: number
  readonly tasksDone: number
  readonly tasks: number
}

/** The running runs, oldest first. */
export async function runningRuns(db: Queryable): Promise<readonly RunningRun[]> {
  return await on(db)
    .selectFrom('sync.runs as r')
    .innerJoinLateral(
      (q) =>
        q
          .selectFrom('sync.tasks')
          .select(sql<number>`count(*)::int`.as('tasks'))
          .select(sql<number>`count(*) filter (where status in ('done', 'failed'))::int`.as('tasksDone'))
          .select(sql<number | null>`max((checkpoint -> 'totals' ->> -1)::float8)`.as('total'))
          .whereRef('run_id', '=', 'r.id')
          .as('t'),
      (join) => join.onTrue(),
    )
    .select((eb) => [
      eb.cast<number>('r.id', 'float8').as('id'),
      'r.stream',
      'r.phase',
      sql<number>`extract(epoch from clock_timestamp() - r.started_at)::float8`.as('seconds'),
      eb.cast<number>('r.read', 'float8').as('read'),
      sql<number | null>`coalesce(r.total, t.total)::float8`.as('total'),
      changesOf,
      eb.cast<number>('r.requests', 'float8').as('requests'),
      't.tasksDone',
      't.tasks',
    ])
    .where('r.status', '=', 'running')
    .orderBy('r.id')
    .execute()
}

/** Requested streams that have not started. */
export async function waitingStreams(db: Queryable): Promise<readonly string[]> {
  const rows = await on(db)
    .selectFrom('sync.request_streams as s')
    .innerJoin('sync.requests as r', 'r.id', 's.request_id')
    .select('s.stream')
    .distinct()
    .where('r.finished_at', 'is', null)
    .where('s.run_id', 'is', null)
    .orderBy('s.stream')
    .execute()
  return rows.map(({ stream }) => stream)
}

/** Open tasks by status. */
export async function openTasks(db: Queryable): Promise<{ readonly waiting: number; readonly running: number }> {
  return await on(db)
    .selectFrom('sync.tasks')
    .select([
      sql<number>`count(*) filter (where status = 'waiting')::int`.as('waiting'),
      sql<number>`count(*) filter (where status = 'running')::int`.as('running'),
    ])
    .where('status', 'in', ['waiting', 'running'])
    .executeTakeFirstOrThrow()
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
  const stream = await on(db)
    .selectFrom('sync.streams')
    .select('last_run_id')
    .where('stream', '=', 'resource_availability_years')
    .executeTakeFirst()
  return stream?.last_run_id ?? ''
}

/** The calendars of all resources for these years. */
export async function calendarYears(db: Queryable, years: readonly number[]): Promise<readonly CalendarYear[]> {
  return await on(db)
    .selectFrom('mirror.resource_availability_years')
    .select((eb) => [eb.cast<number>('year', 'int4').as('year'), 'days'])
    .where('_deleted_at', 'is', null)
    .where('days', 'is not', null)
    .where('year', 'in', years.map(String))
    .$narrowType<{ days: NotNull }>()
    .execute()
}
