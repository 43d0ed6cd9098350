// What people ask the database: the state of streams, endpoints, runs, the outbox and the quarantine. Reads only.

import { sql } from 'kysely'
import { findStream } from '../catalog/catalog.ts'
import { now, on, type Queryable } from '../database/sql.ts'
import { doneChanges } from '../mirror/kept-counts.ts'
import type { RunStatus } from '../sync/runs/runs.ts'

/** The states of report.freshness, whose comment explains them. */
export type Freshness = 'fresh' | 'late' | 'unknown' | 'failing' | 'reading' | 'off'

/** The same and more: `held`: deletions need a decision; `off`: also by the settings. */
export type StreamState = Freshness | 'held'

export type StreamStatus = {
  readonly stream: string
  readonly asOf: Date | null
  /** The same of its hot window: records that are new, and those that happen soon; null: it has none, or it was never read. */
  readonly hotAsOf: Date | null
  /** Live rows, as counted when a run last ended. */
  readonly rows: number
  /** Rows so far, while the stream is read for the first time; null at other times, and of what is read inside another. */
  readonly rowsSoFar: number | null
  readonly lastRunId: number | null
  readonly nextDueAt: Date | null
  readonly intervalS: number | null
  /** The configured target, or what its schedule allows; null: neither is there. */
  readonly targetS: number | null
  /** What its age is measured from: `hotAsOf` where the target is configured, else `asOf`. */
  readonly countsAsOf: Date | null
  readonly state: StreamState
  /** Since when it is not to be read, and who decided that; null: it is read. */
  readonly paused: { readonly since: Date; readonly who: string } | null
  /** How the last complete run stands or ended; null: there was none. */
  readonly lastRunStatus: RunStatus | null
}

export type EndpointFacts = {
  readonly endpoint: string
  readonly calls: number
  readonly failures: number
  readonly lastStatus: number | null
  /** When the calls in a row that had this status began; null: that was not noted yet. */
  readonly lastStatusSince: Date | null
  readonly lastCalledAt: Date | null
  readonly lastError: string | null
}

/** Version as Postgres names it (`16.4`), and the database's size in bytes. */
export async function databaseFacts(db: Queryable): Promise<{ readonly version: string; readonly size: number }> {
  return await on(db)
    .selectNoFrom(sql<string>`current_setting('server_version')`.as('version'))
    .select(sql<number>`pg_database_size(current_database())::float8`.as('size'))
    .executeTakeFirstOrThrow()
}

/** Streams with their schedule, their freshness and their last run, in the order of their names. */
export async function streamStatus(db: Queryable): Promise<readonly StreamStatus[]> {
  const rows = await on(db)
    .selectFrom('sync.streams as s')
    .innerJoin('report.freshness as f', 'f.stream', 's.stream')
    // The running complete run, or the one that ended last: earlier ones are irrelevant.
    .leftJoin('sync.runs as r', (join) =>
      join
        .onRef('r.stream', '=', 's.stream')
        .on((eb) =>
          eb(
            'r.id',
            '=',
            eb.fn.coalesce(
              eb
                .selectFrom('sync.runs as g')
                .select('g.id')
                .whereRef('g.stream', '=', 's.stream')
                .where('g.status', '=', sql.lit('running'))
                .where('g.hot', '=', false)
                .where('g.record_key', 'is', null),
              's.last_run_id',
            ),
          ),
        ),
    )
    .leftJoin('sync.decisions as d', 'd.id', 's.paused_by')
    .select((eb) => [
      's.stream',
      's.as_of as asOf',
      's.hot_as_of as hotAsOf',
      eb.cast<number>('s.rows', 'float8').as('rows'),
      eb.cast<number | null>('s.last_run_id', 'float8').as('lastRunId'),
      sql<Date | null>`case when s.paused_by is null then s.next_due_at end`.as('nextDueAt'),
      eb.cast<number | null>('s.interval_s', 'float8').as('intervalS'),
      eb.cast<number | null>('f.target_s', 'float8').as('targetS'),
      'f.counts_as_of as countsAsOf',
      eb.ref('f.state').$castTo<Freshness>().as('state'),
      'r.status as lastRunStatus',
      'd.at as pausedSince',
      'd.who as pausedBy',
      sql<number>`coalesce(r.total, r.read)::float8`.as('listed'),
      sql<number>`(s.rows + r.inserted - r.deleted)::float8`.as('written'),
    ])
    .orderBy('s.stream')
    .execute()
  return rows.map(({ listed, written, pausedSince, pausedBy, ...stream }) => {
    const isFirst = stream.asOf === null && stream.lastRunStatus === 'running'
    // A run also counts what it writes of records inside its own.
    const isList = findStream(stream.stream)?.reads.kind === 'list'
    const paused = pausedSince === null || pausedBy === null ? null : { since: pausedSince, who: pausedBy }
    return { ...stream, paused, rowsSoFar: isFirst ? (isList ? listed : written) : null }
  })
}

/** The rows of sync.endpoints, in the order of their names. */
export async function endpointFacts(db: Queryable): Promise<readonly EndpointFacts[]> {
  return await on(db)
    .selectFrom('sync.endpoints')
    .select((eb) => [
      'endpoint',
      eb.cast<number>('calls', 'float8').as('calls'),
      eb.cast<number>('failures', 'float8').as('failures'),
      'last_status as lastStatus',
      'last_status_since as lastStatusSince',
      'last_called_at as lastCalledAt',
      'last_error as lastError',
    ])
    .orderBy('endpoint')
    .execute()
}

type OutboxFacts = {
  /** How many changes are in each state; states without changes are missing. */
  readonly counts: Readonly<Record<string, number>>
  /** The oldest change in each of these states, by its id. */
  readonly first: Readonly<Record<string, number>>
  /** When the first of those in each state was settled; states of unsettled changes are missing. */
  readonly settledSince: Readonly<Record<string, Date>>
  /** When the oldest queued change was enqueued. */
  readonly oldestQueuedAt: Date | null
}

/**
 * States by the index that finds their changes: open ones, and those after which nothing follows without a decision.
 */
const indexedStates = [
  ['queued', 'sending', 'conflict', 'unknown'],
  ['failed', 'expired', 'canceled', 'blocked'],
] as const

/** What is in the outbox; of what is done only the number is read. */
export async function outboxFacts(db: Queryable): Promise<OutboxFacts> {
  const rows = (await Promise.all(indexedStates.map((states) => changesIn(db, states)))).flat()
  const done = await doneChanges(db)
  const counts = rows.map(({ status, count }) => [status, count] as const)
  return {
    counts: Object.fromEntries([...counts, ['done', done]]),
    first: Object.fromEntries(rows.map(({ status, first }) => [status, Number(first)])),
    settledSince: Object.fromEntries(
      rows.flatMap(({ status, settled }) => (settled === null ? [] : [[status, settled]])),
    ),
    oldestQueuedAt: rows.find(({ status }) => status === 'queued')?.oldest ?? null,
  }
}

const changesIn = (db: Queryable, states: readonly string[]) =>
  on(db)
    .selectFrom('outbox.queue')
    .select((eb) => [
      'status',
      eb.fn.min('id').as('first'),
      eb.fn.min('enqueued_at').as('oldest'),
      eb.fn.min('settled_at').as('settled'),
    ])
    .select(sql<number>`count(*)::int`.as('count'))
    // As in the predicates of the indexes, which parameters would not match.
    .where(sql<boolean>`status in (${sql.join(states.map((state) => sql.lit(state)))})`)
    .groupBy('status')
    .orderBy('status')
    .execute()

type TaskFacts = {
  readonly kind: string
  readonly status: string
  readonly tasks: number
  readonly attempts: number
  readonly error: string | null
}

/** The tasks of a run, counted by kind and status. */
export async function taskFacts(db: Queryable, runId: string): Promise<readonly TaskFacts[]> {
  return await on(db)
    .selectFrom('sync.tasks')
    .select((eb) => ['kind', 'status', eb.fn.min('error').as('error')])
    .select([sql<number>`count(*)::int`.as('tasks'), sql<number>`sum(attempts)::int`.as('attempts')])
    .where('run_id', '=', runId)
    .groupBy(['kind', 'status'])
    .orderBy('kind')
    .orderBy('status')
    .execute()
}

/** Keys whose deletion a run holds: the first of them, and how many there are, without released ones. */
export async function heldKeyFacts(
  db: Queryable,
  runId: string,
  limit: number,
): Promise<{ readonly count: number; readonly keys: readonly string[] }> {
  const { count, keys } = await on(db)
    .selectFrom('sync.held')
    .select(sql<number>`count(*)::int`.as('count'))
    .select(sql<string[] | null>`(array_agg(key order by key))[1:${limit}]`.as('keys'))
    .where('run_id', '=', runId)
    .where('released_at', 'is', null)
    .executeTakeFirstOrThrow()
  return { count, keys: keys ?? [] }
}

export type Backlog = {
  /** Running runs. */
  readonly runs: number
  /** Their tasks: done, and in total. */
  readonly done: number
  readonly all: number
  /** Since the oldest of them started, in seconds. */
  readonly elapsedS: number
}

/** What the running runs still have to do; null when none runs. */
export async function backlog(db: Queryable): Promise<Backlog | null> {
  const row = await on(db)
    .selectFrom('sync.runs as r')
    // Run by run, by index: without statistics all tasks of all runs would be read.
    .innerJoinLateral(
      (q) =>
        q
          .selectFrom('sync.tasks as t')
          .select(sql<number>`count(*) filter (where t.status in ('done', 'failed'))`.as('done'))
          .select(({ fn }) => fn.countAll().as('all'))
          .whereRef('t.run_id', '=', 'r.id')
          .offset(sql.lit(0))
          .as('t'),
      (join) => join.onTrue(),
    )
    .select([
      sql<number>`count(*)::int`.as('runs'),
      sql<number>`sum(t.done)::int`.as('done'),
      sql<number>`sum(t."all")::int`.as('all'),
      sql<number>`extract(epoch from clock_timestamp() - min(r.started_at))::float8`.as('elapsedS'),
    ])
    .where('r.status', '=', sql.lit('running'))
    .where('t.all', '>', 0)
    .having((eb) => eb.fn.countAll(), '>', 0)
    .executeTakeFirst()
  return row ?? null
}

/** The database's own clock. */
export async function databaseClock(db: Queryable): Promise<Date> {
  return (await on(db).selectNoFrom(now.as('now')).executeTakeFirstOrThrow()).now
}

/** The newest request of this trigger that is not finished; null when there is none. */
export async function openRequest(db: Queryable, trigger: string): Promise<string | null> {
  const request = await on(db)
    .selectFrom('sync.requests')
    .select('id')
    .where('trigger', '=', trigger)
    .where('finished_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return request?.id ?? null
}

/** May this role create schemas in this database? */
export async function mayCreate(db: Queryable): Promise<boolean> {
  const allowed = sql<boolean>`has_database_privilege(current_database(), 'create')`.as('allowed')
  return (await on(db).selectNoFrom(allowed).executeTakeFirstOrThrow()).allowed
}
