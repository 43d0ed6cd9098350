// Calls of the API, added up in memory: by minute for sync.traffic (rate, errors and latency of the last hours, every two
// seconds), and by endpoint for sync.endpoints (every second). Workers and one-off commands share both tables.

import { sql } from 'kysely'
import { on, type Queryable } from '../../database/sql.ts'
import { messageOf } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { CallRecord } from '../types.ts'

/** Calls of one endpoint in one minute. */
type TrafficSum = {
  /** Beginning of the minute. */
  readonly minute: Date
  readonly endpoint: string
  readonly calls: number
  readonly failures: number
  readonly throttled: number
  readonly totalMs: number
  readonly slowestMs: number
}

const minuteMs = 60_000

/** Adds a call to the sum of its minute. Pure. */
function addToSum(before: TrafficSum | undefined, call: CallRecord): TrafficSum {
  return {
    minute: new Date(Math.floor(call.startedAt.getTime() / minuteMs) * minuteMs),
    endpoint: call.endpoint,
    calls: (before?.calls ?? 0) + 1,
    failures: (before?.failures ?? 0) + (isFailure(call) ? 1 : 0),
    throttled: (before?.throttled ?? 0) + (call.status === 429 ? 1 : 0),
    totalMs: (before?.totalMs ?? 0) + call.ms,
    slowestMs: Math.max(before?.slowestMs ?? 0, call.ms),
  }
}

const sumKey = (call: CallRecord): string => `${Math.floor(call.startedAt.getTime() / minuteMs)} ${call.endpoint}`

/** Adds sums to the table, locking in the order of its key. */
async function saveSums(db: Queryable, sums: readonly TrafficSum[]): Promise<void> {
  const of = <K extends keyof TrafficSum>(name: K): TrafficSum[K][] => sums.map((sum) => sum[name])
  await db.query(
    `insert into sync.traffic as t (minute, endpoint, calls, failures, throttled, total_ms, slowest_ms)
     select * from unnest($1::timestamptz[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::float8[], $7::float8[])
       as g(minute, endpoint, calls, failures, throttled, total_ms, slowest_ms) order by 1, 2
     on conflict (minute, endpoint) do update set calls = t.calls + excluded.calls,
       failures = t.failures + excluded.failures, throttled = t.throttled + excluded.throttled,
       total_ms = t.total_ms + excluded.total_ms, slowest_ms = greatest(t.slowest_ms, excluded.slowest_ms)`,
    [of('minute'), of('endpoint'), of('calls'), of('failures'), of('throttled'), of('totalMs'), of('slowestMs')],
  )
}

/** Deletes what is older than a week. */
async function forgetOld(db: Queryable): Promise<void> {
  await on(db).deleteFrom('sync.traffic').where('minute', '<', sql<Date>`now() - interval '7 days'`).execute()
}

type TrafficRecorder = {
  /** Counts a call; returns at once. */
  record(call: CallRecord): void
  /** Writes what is there now. */
  flush(): Promise<void>
  /** Writes what is left. May be called twice. */
  close(): Promise<void>
}

const flushMs = 2_000
const forgetEveryMs = 3_600_000

/** Counts calls. Counts that cannot be written are missing from the plots, which are pictures, not accounts. */
export function createTrafficRecorder(db: Queryable, log: Logger): TrafficRecorder {
  let pending = new Map<string, TrafficSum>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  let forgotAt = Number.NEGATIVE_INFINITY

  const write = async (): Promise<void> => {
    const taken = pending
    pending = new Map()
    try {
      if (taken.size > 0) await saveSums(db, [...taken.values()])
      if (performance.now() - forgotAt > forgetEveryMs) {
        forgotAt = performance.now()
        await forgetOld(db)
      }
    } catch (error) {
      log.debug({ event: 'traffic_not_written', reason: messageOf(error) })
    }
  }
  const flush = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(write)
    return writing
  }
  return {
    record: (call) => {
      pending.set(sumKey(call), addToSum(pending.get(sumKey(call)), call))
      timer ??= setTimeout(flush, flushMs).unref()
    },
    flush,
    close: flush,
  }
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

/** Calls of one endpoint, added up. */
type EndpointStats = {
  readonly calls: number
  readonly failures: number
  readonly lastStatus: number | null
  /** When the calls in a row that had this status began, of these. */
  readonly lastStatusSince: Date
  /** All of these calls had this status: those before them may have had it, too. */
  readonly isOneStatus: boolean
  readonly lastCalledAt: Date
  readonly lastError: string | null
}

/** Adds one call to what is known of its endpoint. The latest call says status and error. */
function addCall(before: EndpointStats | undefined, call: EndpointCall): EndpointStats {
  const failed = isFailure(call)
  const one: EndpointStats = {
    calls: 1,
    failures: failed ? 1 : 0,
    lastStatus: call.status,
    lastStatusSince: call.startedAt,
    isOneStatus: true,
    lastCalledAt: call.startedAt,
    lastError: failed && call.error !== null ? messageOf(call.error) : null,
  }
  return addStats(before, one)
}

/** Puts two sums of one endpoint together. */
function addStats(a: EndpointStats | undefined, b: EndpointStats): EndpointStats {
  if (a === undefined) return b
  const [earlier, latest] = a.lastCalledAt > b.lastCalledAt ? [b, a] : [a, b]
  const goesOn = latest.isOneStatus && earlier.lastStatus === latest.lastStatus
  return {
    ...latest,
    lastStatusSince: goesOn ? earlier.lastStatusSince : latest.lastStatusSince,
    isOneStatus: goesOn && earlier.isOneStatus,
    calls: a.calls + b.calls,
    failures: a.failures + b.failures,
  }
}

/** Adds sums to the rows of sync.endpoints, locked in the order of their names; other endpoints (writes) have no row. */
async function flushEndpointStats(db: Queryable, stats: ReadonlyMap<string, EndpointStats>): Promise<void> {
  if (stats.size === 0) return
  const values = [...stats.values()]
  await db.query(
    `with given as (
       select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::int[], $5::timestamptz[], $6::text[],
         $7::timestamptz[], $8::boolean[])
         as g(endpoint, calls, failures, last_status, last_called_at, last_error, last_status_since, is_one_status)
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
      [...stats.keys()],
      values.map((each) => each.calls),
      values.map((each) => each.failures),
      values.map((each) => each.lastStatus),
      values.map((each) => each.lastCalledAt),
      values.map((each) => each.lastError),
      values.map((each) => each.lastStatusSince),
      values.map((each) => each.isOneStatus),
    ],
  )
}

type EndpointRecorder = {
  /** Counts a call; returns at once. */
  record(call: EndpointCall): void
  /** Writes what is left. May be called twice. */
  close(): Promise<void>
}

const endpointsFlushMs = 1_000

/** Counts calls and writes the sums once a second; what could not be written is kept for the next time. */
export function createEndpointRecorder(database: { readonly pool: Queryable }, log: Logger): EndpointRecorder {
  const pending = new Map<string, EndpointStats>()
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> = Promise.resolve()

  const flush = async (): Promise<void> => {
    const taken = new Map(pending)
    pending.clear()
    try {
      await flushEndpointStats(database.pool, taken)
    } catch (error) {
      for (const [endpoint, stats] of taken) pending.set(endpoint, addStats(pending.get(endpoint), stats))
      log.debug({ event: 'endpoint_stats_kept', reason: messageOf(error) })
    }
  }
  const flushNext = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    flushing = flushing.then(flush)
    return flushing
  }
  return {
    record: (call) => {
      pending.set(call.endpoint, addCall(pending.get(call.endpoint), call))
      timer ??= setTimeout(flushNext, endpointsFlushMs).unref()
    },
    close: flushNext,
  }
}
