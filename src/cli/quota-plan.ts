// `schedule --plan` under a quota: how fresh each stream would be, and how long a first sync would take.

import { pacePerHour, type Quota, quotaRule, quotaText } from '../api/admission/quota.ts'
import { turnName } from '../catalog/turns.ts'
import { count, duration } from '../format.ts'
import { budgetPerDay } from '../jobs/fit-schedule.ts'
import { type QuotaSchedule, type QuotaScheduleInput, solveSchedule } from '../sync/quota-schedule.ts'
import { type RequestPlan, soonShare } from '../sync/request-plan.ts'
import { print, table } from './terminal/output.ts'

/** Hours of a first sync with this many requests. Details are spread evenly, except six hours' worth at once; lists wait only for the rate. */
export function firstSyncHours(first: number, quota: Quota, ratePerSecond: number): number {
  const atRate = ratePerSecond === 0 ? 0 : first / (ratePerSecond * 3_600)
  const pace = pacePerHour({ ...quota, hour: null }) * quotaRule.forDetails
  const evenly = Number.isFinite(pace) ? first / pace - quotaRule.detailsAheadHours : 0
  const byHours = quota.hour === null ? 0 : first / (quota.hour * quotaRule.forDetailsOfHour) - 1
  return Math.max(atRate, evenly, byHours)
}

type QuotaPlan = {
  readonly quota: string
  readonly budgetPerDay: number
  readonly perDay: number
  /** All streams reach their target freshness. */
  readonly kept: boolean
  readonly firstSyncHours: number
  /** In seconds: intervals of complete and hot runs, and ages of details, also of records that depart soon. */
  readonly streams: readonly {
    readonly stream: string
    readonly everyS: number | null
    readonly hotEveryS: number | null
    readonly detailsS: number | null
    readonly soonDetailsS: number | null
  }[]
}

const inS = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1_000)

export function planQuota(
  quota: Quota,
  plan: RequestPlan,
  input: QuotaScheduleInput,
  ratePerSecond: number,
): QuotaPlan {
  const budget = budgetPerDay(pacePerHour(quota), ratePerSecond)
  const solved: QuotaSchedule = solveSchedule(input, budget)
  return {
    quota: quotaText(quota),
    budgetPerDay: Math.round(budget),
    perDay: Math.round(solved.perDay),
    kept: solved.isKept,
    firstSyncHours: firstSyncHours(plan.first, quota, ratePerSecond),
    streams: plan.streams.map(({ stream }) => {
      const ages = solved.ages.get(stream)
      const hasSoon = ages !== undefined && solved.soon.has(stream)
      return {
        stream,
        everyS: inS(solved.intervals.get(stream)),
        hotEveryS: inS(solved.intervals.get(turnName({ stream, hot: true }))),
        detailsS: inS(ages?.maxAgeMs),
        soonDetailsS: hasSoon ? inS(ages.soonMaxAgeMs) : null,
      }
    }),
  }
}

const shown = (s: number | null): string => (s === null ? '' : duration(s))

export function printQuotaPlan(plan: QuotaPlan, first: number): void {
  print(
    table(
      ['STREAM', 'COMPLETE EVERY', 'HOT EVERY', 'DETAILS AT MOST', 'SOON AT MOST'],
      plan.streams.map((row) => [
        row.stream,
        row.everyS === null ? 'off' : duration(row.everyS),
        ...[row.hotEveryS, row.detailsS, row.soonDetailsS].map(shown),
      ]),
    ),
  )
  print(
    `\nAPI_QUOTA=${plan.quota}: the schedule may use ${count(plan.budgetPerDay)} requests a day; it uses ${count(plan.perDay)}.`,
  )
  print(
    plan.kept
      ? 'All streams reach their target freshness.'
      : 'That is too little: intervals and ages are longer than their limits. Switch streams off, or get a larger quota.',
  )
  print(`First sync: ${count(Math.round(first))} requests, about ${duration(Math.round(plan.firstSyncHours * 3_600))}.`)
  print(
    `Assumed: ${soonShare * 100} % of the rentals depart soon or are just back. "Soon" means: departs within 30 days, or came back within the last week. Their details are read as soon as the list shows a change.`,
  )
}
