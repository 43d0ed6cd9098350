// Calls of the API, added up by Postgres: by minute in sync.traffic (rate, errors and latency of the last hours, every two
// seconds), and by endpoint in sync.endpoints (every second). Workers and one-off commands share both tables.

import { sql } from 'kysely'
import { on, type Queryable } from '../../database/sql.ts'
import { messageOf } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { CallRecord } from '../types.ts'

type Recorder<Call = CallRecord> = {
  /** Counts a call; returns at once. */
  record(call: Call): void
  /** Writes what is there now; the last time when it closes. */
  flush(): Promise<void>
}

type RecorderOptions<Call> = {
  readonly everyMs: number
  /** Writes calls. Must not reject. @returns those to write again, with the next ones */
  readonly write: (calls: readonly Call[]) => Promise<readonly Call[]>
}

/** So many calls are kept at most while they cannot be written; the oldest are dropped. */
const mostKept = 50_000

/** Gathers calls, and writes them a while after the first of them. */
function createRecorder<Call>({ everyMs, write }: RecorderOptions<Call>): Recorder<Call> {
  let pending: Call[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  const flush = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(async () => {
      const taken = pending
      pending = []
      const left = taken.length === 0 ? [] : await write(taken)
      if (left.length > 0) pending = [...left, ...pending].slice(-mostKept)
    })
    return writing
  }
  return {
    record: (call) => {
      pending.push(call)
      timer ??= setTimeout(flush, everyMs).unref()
    },
    flush,
  }
}

/** Adds calls to the table, locking in the order of its key. */
async function saveTraffic(db: Queryable, calls: readonly CallRecord[]): Promise<void> {
  await db.query(
    `insert into sync.traffic as t (minute, endpoint, calls, failures, throttled, total_ms, slowest_ms)
     select date_trunc('minute', at, 'UTC'), endpoint, count(*), count(*) filter (where failed),
       count(*) filter (where status = 429), sum(ms), max(ms)
     from unnest($1::text[], $2::timestamptz[], $3::int[], $4::boolean[], $5::float8[])
       as g(endpoint, at, status, failed, ms) group by 1, 2 order by 1, 2
     on conflict (minute, endpoint) do update set calls = t.calls + excluded.calls,
       failures = t.failures + excluded.failures, throttled = t.throttled + excluded.throttled,
       total_ms = t.total_ms + excluded.total_ms, slowest_ms = greatest(t.slowest_ms, excluded.slowest_ms)`,
    [
      calls.map(({ endpoint }) => endpoint),
      calls.map(({ startedAt }) => startedAt),
      calls.map(({ status }) => status),
      calls.map(isFailure),
      calls.map(({ ms }) => ms),
    ],
  )
}

/** Deletes what is older than a week. */
async function forgetOld(db: Queryable): Promise<void> {
  await on(db).deleteFrom('sync.traffic').where('minute', '<', sql<Date>`now() - interval '7 days'`).execute()
}

const trafficMs = 2_000
const forgetEveryMs = 3_600_000

/** Counts calls by minute. Counts that cannot be written are missing from the plots, which are pictures, not accounts. */
export function createTrafficRecorder(db: Queryable, log: Logger): Recorder {
  let forgotAt = Number.NEGATIVE_INFINITY
  return createRecorder<CallRecord>({
    everyMs: trafficMs,
    write: async (calls) => {
      try {
        await saveTraffic(db, calls)
        if (performance.now() - forgotAt <= forgetEveryMs) return []
        forgotAt = performance.now()
        await forgetOld(db)
      } catch (error) {
        log.debug({ event: 'traffic_not_written', reason: messageOf(error) })
      }
      return []
    },
  })
}

/** 404 and 410 are answers (an optional document, a record that is gone), not failures. */
export const isFailure = ({
  status,
  error,
}: {
  readonly status: number | null
  readonly error: Error | null
}): boolean => error !== null && status !== 404 && status !== 410

/** What is needed of a call to count it. */
type EndpointCall = Pick<CallRecord, 'endpoint' | 'status' | 'startedAt'> & { readonly error: Error | null }

/**
 * Adds calls to the rows of sync.endpoints, locked in the order of their names; other endpoints (writes) have no row. The latest
 * call says status and error, and those in a row that had its status say since when.
 */
async function saveEndpoints(db: Queryable, calls: readonly EndpointCall[]): Promise<void> {
  await db.query(
    `with called as (
       select g.*, first_value(status) over latest as last_status, first_value(error) over latest as last_error
       from unnest($1::text[], $2::timestamptz[], $3::int[], $4::text[]) with ordinality
         as g(endpoint, at, status, error, number)
       window latest as (partition by endpoint order by at desc, number desc)
     ), lasting as (
       select *, bool_and(status is not distinct from last_status)
         over (partition by endpoint order by at desc, number desc) as lasts from called
     ), given as (
       select endpoint, last_status, last_error, count(*) as calls, count(error) as failures, max(at) as last_called_at,
         min(at) filter (where lasts) as last_status_since, bool_and(lasts) as is_one_status
       from lasting group by endpoint, last_status, last_error
     ), locked as materialized (
       select e.endpoint from sync.endpoints e join given g on g.endpoint = e.endpoint
       order by e.endpoint for no key update of e
     )
     update sync.endpoints e set calls = e.calls + g.calls, failures = e.failures + g.failures,
       last_called_at = greatest(e.last_called_at, g.last_called_at),
       last_status_since = case when e.last_called_at > g.last_called_at then e.last_status_since
         when g.is_one_status and e.last_status is not distinct from g.last_status
           then coalesce(e.last_status_since, g.last_status_since)
         else g.last_status_since end,
       last_status = case when e.last_called_at > g.last_called_at then e.last_status else g.last_status end,
       last_error = case when e.last_called_at > g.last_called_at then e.last_error else g.last_error end
     from given g join locked l on l.endpoint = g.endpoint where e.endpoint = g.endpoint`,
    [
      calls.map(({ endpoint }) => endpoint),
      calls.map(({ startedAt }) => startedAt),
      calls.map(({ status }) => status),
      calls.map((call) => (isFailure(call) && call.error !== null ? messageOf(call.error) : null)),
    ],
  )
}

const endpointsMs = 1_000

/** Counts calls by endpoint; what could not be written is kept for the next time. */
export const createEndpointRecorder = (db: Queryable, log: Logger): Recorder<EndpointCall> =>
  createRecorder<EndpointCall>({
    everyMs: endpointsMs,
    write: async (calls) => {
      try {
        await saveEndpoints(db, calls)
        return []
      } catch (error) {
        log.debug({ event: 'endpoint_stats_kept', reason: messageOf(error) })
        return calls
      }
    },
  })
