// Rate, errors and latency of the API over the last hours: calls are added up by minute in memory and written every few
// seconds to sync.traffic, which workers and one-off commands share.

import { sql } from 'kysely'
import { on, type Queryable } from '../../database/sql.ts'
import { messageOf } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { CallRecord } from '../types.ts'
import { isFailure } from './endpoint-stats.ts'

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
