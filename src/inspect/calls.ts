// Calls of the API: the last of each endpoint, traffic over time, and reads that may repeat others. Reads only.

import type { Queryable } from '../database/sql.ts'
import { counted } from '../format.ts'
import type { RepeatingRead } from '../sync/due/reads.ts'

export type EndpointFacts = {
  readonly endpoint: string
  readonly calls: number
  readonly failures: number
  readonly lastStatus: number | null
  /** Since when all calls had this status; null: unknown. */
  readonly lastStatusSince: Date | null
  readonly lastCalledAt: Date | null
  readonly lastError: string | null
}

/** The rows of sync.endpoints, in the order of their names. */
export async function endpointFacts(db: Queryable): Promise<readonly EndpointFacts[]> {
  const { rows } = await db.query<EndpointFacts>(
    `select endpoint, calls::float8 as calls, failures::float8 as failures, last_status as "lastStatus",
       last_status_since as "lastStatusSince", last_called_at as "lastCalledAt", last_error as "lastError"
     from sync.endpoints order by endpoint`,
  )
  return rows
}

/** Whether a call of this endpoint ever succeeded. */
export const wasAnswered = ({ calls, failures }: EndpointFacts): boolean => calls > failures

/** Whether the last call of this endpoint failed. 404, 410 and the refusal of a probe are no failures. */
export const isFailing = ({ lastError }: EndpointFacts): boolean => lastError !== null

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

const meanings: Readonly<Record<RepeatingRead['state'], string>> = {
  redundant: 'skipped except for samples',
  needed: 'always read because they returned more data',
}

/** `22 endpoints may return data that the mirror already has: 20 skipped except for samples, 2 always read because they returned more data; 1,150 requests saved`. */
export function readsSummary(reads: readonly RepeatingRead[]): string {
  const states = Object.entries(meanings).flatMap(([state, meaning]) => {
    const number = reads.filter((read) => read.state === state).length
    return number === 0 ? [] : [`${number} ${meaning}`]
  })
  const saved = reads.reduce((sum, { skipped }) => sum + skipped, 0)
  return `${counted(reads.length, 'endpoint')} may return data that the mirror already has: ${states.join(', ')}; ${counted(saved, 'request')} saved`
}
