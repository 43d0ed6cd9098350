// How much of API_QUOTA is used, and what waits for it.

import { type Quota, type QuotaWindow, quotaRule, quotaWindows } from '../api/admission/quota.ts'
import { quotaValues } from '../api/admission/request-budget.ts'
import { findStream } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import type { Queryable } from '../database/sql.ts'
import { count } from '../format.ts'
import { waitsForQuota } from '../outbox/quota-room.ts'
import { listStreams } from '../sync/due/stream-state.ts'
import { notKept } from '../sync/quota-schedule.ts'

type QuotaWindowStatus = {
  readonly window: QuotaWindow
  readonly allowed: number
  /** Requests taken since the window began. */
  readonly used: number
  /** The elapsed share of its time; hour and day always end now. */
  readonly elapsed: number
}

export type QuotaStatus = {
  readonly windows: readonly QuotaWindowStatus[]
  /** Reads wait, because the rest is reserved for changes. */
  readonly readsStopped: boolean
  readonly waitingChanges: number
  /** When the first of them was queued. */
  readonly waitingSince: Date | null
  /** Streams that are read less often than they should ever be. */
  readonly notKept: readonly string[]
}

/** Null: no quota is set. */
export async function quotaStatus(db: Queryable, config: Config): Promise<QuotaStatus | null> {
  const { quota } = config.api
  if (quota === null) return null
  const windows = await windowsOf(db, quota)
  const { rows } = await db.query<{ waiting: number; since: Date | null }>(
    `select count(*)::int as waiting, min(enqueued_at) as since from outbox.queue where status = 'queued' and error = $1`,
    [waitsForQuota],
  )
  const inMs = (s: string | null): number | null => (s === null ? null : Number(s) * 1_000)
  const effective = (await listStreams(db))
    .filter(({ stream }) => findStream(stream) !== undefined)
    .map((state) => ({
      stream: state.stream,
      intervalMs: inMs(state.interval_s),
      hotIntervalMs: inMs(state.hot_interval_s),
      maxAgeMs: inMs(state.max_age_s),
      soonMaxAgeMs: inMs(state.soon_max_age_s),
    }))
  return {
    windows,
    readsStopped: windows.some(areReadsStopped),
    waitingChanges: rows[0]?.waiting ?? 0,
    waitingSince: rows[0]?.since ?? null,
    notKept: notKept(effective, config),
  }
}

async function windowsOf(db: Queryable, quota: Quota): Promise<readonly QuotaWindowStatus[]> {
  const { rows } = await db.query<{ place: number; allowed: number; used: number; elapsed: number }>(
    `select w.place, w.allowed, greatest(0, w.used)::float8 as used,
       case when w.place = 3 then extract(epoch from n.now - date_trunc('month', n.now, 'UTC'))
         / extract(epoch from date_trunc('month', n.now, 'UTC') + interval '1 month' - date_trunc('month', n.now, 'UTC'))
       else 0 end::float8 as elapsed
     from (select clock_timestamp() as now) n, sync.quota_windows($1, n.now) w where w.allowed is not null order by w.place`,
    [quotaValues(quota)],
  )
  return rows.flatMap(({ place, ...facts }) => {
    const window = quotaWindows[place - 1]
    return window === undefined ? [] : { window, ...facts }
  })
}

const areReadsStopped = ({ used, allowed }: QuotaWindowStatus): boolean =>
  used >= Math.floor(allowed * quotaRule.forReads)

/** Shares that raise an alert if they are used before that share of the window has elapsed. */
const alertShares = [0.8, 0.95] as const

/** The shares that a window has reached too early, as percentages. Pure. */
export const reachedEarly = ({ used, allowed, elapsed }: QuotaWindowStatus): readonly number[] =>
  alertShares.filter((level) => used >= allowed * level && elapsed < level).map((level) => level * 100)

/** How much is used: `day 45 % of 120,000`. */
export const usedText = ({ windows }: Pick<QuotaStatus, 'windows'>): string =>
  windows
    .map(({ window, used, allowed }) => `${window} ${Math.floor((100 * used) / allowed)} % of ${count(allowed)}`)
    .join(' · ')
