// Fits the schedule to rate limit and quota. Without a quota all intervals are stretched by one factor; else see sync/quota-schedule.ts.

import { pacePerHour, quotaRule } from '../api/admission/quota.ts'
import { quotaValues } from '../api/admission/request-budget.ts'
import { streams } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { readProfile } from '../profile/profile.ts'
import { isSoon } from '../sync/due/ages.ts'
import { repeatingReads } from '../sync/due/reads.ts'
import { listStreams, turnCosts } from '../sync/due/stream-state.ts'
import { scheduledShare } from '../sync/plan.ts'
import { type Ages, type QuotaScheduleInput, solveSchedule } from '../sync/quota-schedule.ts'
import { detectedCosts } from '../sync/read-costs.ts'
import { changedADay, soonShare } from '../sync/request-plan.ts'
import { effectiveIntervals, scheduleFacts, wantedIntervals } from './schedule.ts'

export type Fitted = {
  /** Intervals by turn, in milliseconds: wanted and effective. */
  readonly wanted: ReadonlyMap<string, number>
  readonly intervals: ReadonlyMap<string, number>
  /** The greatest age of details by stream; empty: DETAIL_MAX_AGE. */
  readonly ages: ReadonlyMap<string, Ages>
  /** The use of the quota; null: none is set. */
  readonly solved: { readonly budgetPerDay: number; readonly perDay: number; readonly isKept: boolean } | null
}

/** Requests a day that a schedule may take. */
export function budgetPerDay(pace: number, ratePerSecond: number): number {
  const byRate = ratePerSecond === 0 ? Number.POSITIVE_INFINITY : ratePerSecond * scheduledShare * 86_400
  return Math.min(byRate, pace * 24 * quotaRule.forSchedule)
}

/** Fits the schedule to the size of the mirror and to the limits of the API. */
export async function fitSchedule(database: Database, config: Config, ratePerSecond: number): Promise<Fitted> {
  const wanted = wantedIntervals(config, await scheduleFacts(database, ratePerSecond))
  const { quota } = config.api
  if (quota === null) {
    const intervals = await effectiveIntervals(database, wanted, ratePerSecond)
    return { wanted, intervals, ages: new Map(), solved: null }
  }
  const { pool } = database
  const { rows } = await pool.query<{ pace: number | null }>('select sync.quota_pace($1, clock_timestamp()) as pace', [
    quotaValues(quota),
  ])
  const pace = Math.min(rows[0]?.pace ?? Number.POSITIVE_INFINITY, pacePerHour({ ...quota, day: null, month: null }))
  const budget = budgetPerDay(pace, ratePerSecond)
  const { intervals, ages, perDay, isKept } = solveSchedule(await inputOf(database, config, wanted), budget)
  return { wanted, intervals, ages, solved: { budgetPerDay: budget, perDay, isKept } }
}

/** The size of the mirror, and what was found out about the API. */
async function inputOf(
  { pool }: Database,
  config: Config,
  wanted: ReadonlyMap<string, number>,
): Promise<QuotaScheduleInput> {
  const known = new Map((await listStreams(pool)).map(({ stream, rows }) => [stream, Number(rows)]))
  const reads = await repeatingReads(pool)
  let [soon, all] = [0, 0]
  for (const stream of streams) {
    const condition = isSoon(stream, 't')
    if (condition === undefined) continue
    all += known.get(stream.name) ?? 0
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::int as count from mirror.${stream.name} t where t._deleted_at is null and ${condition}`,
    )
    soon += rows[0]?.count ?? 0
  }
  return {
    settings: config,
    wanted,
    measured: await turnCosts(pool),
    rowsOf: (stream) => known.get(stream) || null,
    needed: new Set(reads.flatMap(({ endpoint, state }) => (state === 'needed' ? endpoint : []))),
    ...detectedCosts(await readProfile(pool), config.priceDays),
    soonShare: all === 0 ? soonShare : Math.min(1, soon / all),
    hotShare: soonShare,
    changedADay,
  }
}
