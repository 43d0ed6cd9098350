// `schedule`: which stream is due when, and how the intervals are stretched to fit the rate limit.

import { quotaText } from '../../api/admission/quota.ts'
import { turnName, turns } from '../../catalog/turns.ts'
import type { Quota } from '../../config.ts'
import { BoatMirrorError } from '../../errors.ts'
import { count, duration, relative } from '../../format.ts'
import { type Fitted, fitSchedule } from '../../jobs/fit-schedule.ts'
import { scheduleFacts } from '../../jobs/schedule.ts'
import { readProfile } from '../../profile/profile.ts'
import { intervalsAllowed } from '../../reports/freshness.ts'
import { repeatingReads } from '../../sync/due/reads.ts'
import { listStreams, turnCosts } from '../../sync/due/stream-state.ts'
import { scheduledShare, stretchFactor } from '../../sync/plan.ts'
import type { CommandContext, Json } from '../context.ts'
import { printRequestPlan } from '../request-plan.ts'
import { type Columns, fittingTable, lineWidth, print, printJson } from '../terminal/output.ts'

const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1_000)

const times = (ms: number | undefined, by: number): number | undefined => (ms === undefined ? undefined : ms * by)

type ScheduleOptions = Json & {
  readonly plan: boolean
  readonly rows: ReadonlyMap<string, number>
  readonly quota?: Quota
}

export async function runSchedule(
  { config, open }: CommandContext,
  { json, plan, rows: given, quota: asked }: ScheduleOptions,
): Promise<void> {
  await using app = await open({ schema: 'check', api: false, patienceMs: 0 })
  const { database, ratePerSecond } = app
  if (asked !== undefined && !plan) throw new BoatMirrorError('USAGE', '--quota needs --plan.')
  const { wanted, intervals: effective, ages, solved } = await fitSchedule(database, config, ratePerSecond)
  const costs = await turnCosts(database.pool)
  const states = new Map((await listStreams(database.pool)).map((state) => [state.stream, state]))
  if (plan) {
    const mirrored = new Map([...states].map(([stream, state]) => [stream, Number(state.rows)]))
    const [reads, profile] = [await repeatingReads(database.pool), await readProfile(database.pool)]
    const facts = await scheduleFacts(database, ratePerSecond)
    const quota = asked ?? config.api.quota
    return printRequestPlan({ config, facts, mirrored, given, reads, profile, quota, measured: costs }, json)
  }
  const planned = [...wanted].map(([turn, intervalMs]) => ({ intervalMs, cost: costs.get(turn) ?? 1 }))
  const neededPerSecond = planned.reduce((sum, { intervalMs, cost }) => sum + (cost * 1_000) / intervalMs, 0)
  const stretch = stretchFactor(planned, ratePerSecond)
  const rows = turns.map((turn): ScheduledTurn => {
    const name = turnName(turn)
    const state = states.get(turn.stream)
    return {
      stream: name,
      wantedS: seconds(wanted.get(name)),
      effectiveS: seconds(effective.get(name)),
      requestsPerTurn: costs.get(name) ?? null,
      targetS: seconds(config.targets[turn.stream] ?? times(effective.get(name), intervalsAllowed)),
      detailsS: turn.hot ? null : seconds(ages.get(turn.stream)?.maxAgeMs),
      asOf: (turn.hot ? state?.hot_as_of : state?.as_of) ?? null,
      nextDueAt: (turn.hot ? state?.hot_next_due_at : state?.next_due_at) ?? null,
      paused: state != null && state.paused_by !== null,
    }
  })
  const { quota } = config.api
  if (json) {
    const byQuota = quota === null || solved === null ? null : { quota: quotaText(quota), ...solved }
    return printJson({ ratePerSecond, scheduledShare, neededPerSecond, stretch, quota: byQuota, streams: rows })
  }
  print(scheduleTable(rows, new Date()))
  print(`\n${solved === null ? budgetText(ratePerSecond, neededPerSecond, stretch) : solvedText(solved)}`)
}

type ScheduledTurn = {
  readonly stream: string
  readonly wantedS: number | null
  readonly effectiveS: number | null
  readonly requestsPerTurn: number | null
  readonly targetS: number | null
  /** How old details may be under a quota; null: as DETAIL_MAX_AGE says. */
  readonly detailsS?: number | null
  readonly asOf: Date | null
  readonly nextDueAt: Date | null
  readonly paused: boolean
}

const interval = (s: number | null): string => (s === null ? 'off' : duration(s))

/** The turns as a table; a narrow one omits the wanted intervals, and leaves the ages to `status`. Pure. */
export function scheduleTable(rows: readonly ScheduledTurn[], now: Date, width = lineWidth()): string {
  const next = (row: ScheduledTurn, unknown: string): string | null =>
    row.effectiveS === null ? null : row.paused ? 'paused' : (relative(row.nextDueAt, now) ?? unknown)
  const target = ({ targetS }: ScheduledTurn): string | null => (targetS === null ? null : duration(targetS))
  const whole: Columns<ScheduledTurn> = {
    STREAM: ({ stream }) => stream,
    WANTED: ({ wantedS }) => interval(wantedS),
    EFFECTIVE: ({ effectiveS }) => interval(effectiveS),
    NEXT: (row) => next(row, 'when a worker starts'),
    'REQUESTS A TURN': ({ requestsPerTurn }) => requestsPerTurn,
    TARGET: target,
    'AS OF': ({ asOf }) => relative(asOf, now),
  }
  const narrow: Columns<ScheduledTurn> = {
    STREAM: ({ stream }) => stream,
    EFFECTIVE: ({ effectiveS }) => interval(effectiveS),
    NEXT: (row) => next(row, 'at start'),
    'REQUESTS A TURN': ({ requestsPerTurn }) => requestsPerTurn,
    TARGET: target,
  }
  return fittingTable(rows, [whole, narrow], width)
}

/** What the schedule was solved for, in a sentence or two. */
const solvedText = ({ budgetPerDay, perDay, isKept }: NonNullable<Fitted['solved']>): string =>
  `API_QUOTA leaves the schedule ${count(Math.round(budgetPerDay))} requests a day; it uses ${count(Math.round(perDay))}. ${
    isKept
      ? 'The least useful intervals are stretched first: see schedule --plan.'
      : 'That is too little: intervals are longer than their limits. Switch streams off, or get a larger quota.'
  }`

/** What the schedule takes of the rate limit, in a sentence. */
function budgetText(ratePerSecond: number, neededPerSecond: number, stretch: number): string {
  const needs = `The configured intervals need ${neededPerSecond.toFixed(2)} requests a second`
  if (ratePerSecond === 0) return `${needs}; there is no rate limit.`
  const allowed = `${count(ratePerSecond * scheduledShare)} of ${count(ratePerSecond)} are for the schedule`
  return stretch > 1
    ? `${needs}, and ${allowed}: intervals are stretched by ${stretch.toFixed(2)}. Raise API_RATE_LIMIT if the API allows it, or lengthen intervals.`
    : `${needs}; ${allowed}.`
}
