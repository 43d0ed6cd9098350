// Calls of the API, added up in memory: by minute for sync.traffic (rate, errors and latency of the last hours, every two
// seconds), and by endpoint for sync.endpoints (every second). Workers and one-off commands share both tables.

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

type RecorderOptions<Call, Sum> = {
  readonly everyMs: number
  readonly keyOf: (call: Call) => string
  readonly add: (before: Sum | undefined, call: Call) => Sum
  /** Writes sums; those that come meanwhile are in `pending`. Must not reject. */
  readonly write: (sums: ReadonlyMap<string, Sum>, pending: Map<string, Sum>) => Promise<void>
}

/** Adds calls up, and writes the sums a while after the first of them. */
function createRecorder<Call, Sum>({ everyMs, keyOf, add, write }: RecorderOptions<Call, Sum>): Recorder<Call> {
  const pending = new Map<string, Sum>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  const flush = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(() => {
      const taken = new Map(pending)
      pending.clear()
      return write(taken, pending)
    })
    return writing
  }
  return {
    record: (call) => {
      pending.set(keyOf(call), add(pending.get(keyOf(call)), call))
      timer ??= setTimeout(flush, everyMs).unref()
    },
    flush,
  }
}

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

const trafficMs = 2_000
const forgetEveryMs = 3_600_000

/** Counts calls by minute. Counts that cannot be written are missing from the plots, which are pictures, not accounts. */
export function createTrafficRecorder(db: Queryable, log: Logger): Recorder {
  let forgotAt = Number.NEGATIVE_INFINITY
  return createRecorder<CallRecord, TrafficSum>({
    ...{ everyMs: trafficMs, keyOf: sumKey, add: addToSum },
    write: async (sums) => {
      try {
        if (sums.size > 0) await saveSums(db, [...sums.values()])
        if (performance.now() - forgotAt <= forgetEveryMs) return
        forgotAt = performance.now()
        await forgetOld(db)
      } catch (error) {
        log.debug({ event: 'traffic_not_written', reason: messageOf(error) })
      }
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

const endpointsMs = 1_000

/** Counts calls by endpoint; what could not be written is kept for the next time. */
export const createEndpointRecorder = (db: Queryable, log: Logger): Recorder<EndpointCall> =>
  createRecorder<EndpointCall, EndpointStats>({
    ...{ everyMs: endpointsMs, keyOf: ({ endpoint }) => endpoint, add: addCall },
    write: async (stats, pending) => {
      try {
        await flushEndpointStats(db, stats)
      } catch (error) {
        for (const [endpoint, each] of stats) pending.set(endpoint, addStats(pending.get(endpoint), each))
        log.debug({ event: 'endpoint_stats_kept', reason: messageOf(error) })
      }
    },
  })
