// `schedule --plan`: what a first sync and a day need in requests, against the rate limit.

import { streams, windowsOf } from '../catalog/catalog.ts'
import { turnName } from '../catalog/turns.ts'
import type { Config, Quota } from '../config.ts'
import { BoatMirrorError } from '../errors.ts'
import { count, duration } from '../format.ts'
import { type ScheduleFacts, wantedIntervals } from '../jobs/schedule.ts'
import type { Profile } from '../profile/profile.ts'
import type { RepeatingRead } from '../sync/due/reads.ts'
import { scheduledShare, stretchFactor } from '../sync/plan.ts'
import { detectedCosts, listRequests, type RowsOf } from '../sync/read-costs.ts'
import { changedADay, planRequests, scaledRows, soonShare } from '../sync/request-plan.ts'
import { planQuota, printQuotaPlan } from './quota-plan.ts'
import { print, printJson, table } from './terminal/output.ts'

type PlanFacts = {
  readonly config: Config
  readonly facts: ScheduleFacts
  readonly reads: readonly RepeatingRead[]
  /** What syncs have found out about the API. */
  readonly profile: Profile
  /** Live rows by stream. */
  readonly mirrored: ReadonlyMap<string, number>
  /** Assumed rows, which take precedence. */
  readonly given: ReadonlyMap<string, number>
  /** null: no quota. */
  readonly quota: Quota | null
  /** Measured requests of a turn, by its name. */
  readonly measured: ReadonlyMap<string, number>
}

/** Wanted intervals for a mirror of this size. Windows count as honoured unless a list has shown otherwise. */
function plannedIntervals({ config, facts, mirrored }: PlanFacts, rowsOf: RowsOf): ReadonlyMap<string, number> {
  const pages = new Map<string, number>()
  const idle = new Set<string>()
  for (const stream of streams) {
    const { name } = stream
    if (windowsOf(stream) === undefined) continue
    if (facts.pages.has(name) || !mirrored.get(name)) pages.set(name, listRequests(stream, rowsOf(name) ?? 0, config))
    else idle.add(turnName({ stream: name, hot: true }))
  }
  const intervals = wantedIntervals(config, { ...facts, pages })
  return new Map([...intervals].filter(([turn]) => !idle.has(turn)))
}

/** Prints the plan. @throws BoatMirrorError USAGE if the mirror is empty and no rows are given */
export function printRequestPlan(planned: PlanFacts, json: boolean): void {
  const { config, facts, mirrored, given, quota } = planned
  const { ratePerSecond } = facts
  const rowsOf = scaledRows((stream) => mirrored.get(stream) || null, given)
  const intervals = plannedIntervals(planned, rowsOf)
  const costs = {
    settings: config,
    rowsOf,
    needed: new Set(planned.reads.flatMap(({ endpoint, state }) => (state === 'needed' ? endpoint : []))),
    ...detectedCosts(planned.profile, config.priceDays),
  }
  const plan = planRequests({ ...costs, intervals })
  if (plan.streams.every(({ records }) => records === null))
    throw new BoatMirrorError('USAGE', 'The mirror is empty, and --rows is not given.', {
      remedy: 'Give the expected sizes: --rows rentals=20000 --rows resources=1000 --rows users=10000.',
    })
  if (quota !== null) {
    const measured = given.size > 0 ? new Map<string, number>() : planned.measured
    const shares = { soonShare, hotShare: soonShare, changedADay }
    const bought = planQuota(quota, plan, { ...costs, ...shares, wanted: intervals, measured }, ratePerSecond)
    if (json) printJson(bought)
    else printQuotaPlan(bought, plan.first)
    return
  }
  const stretch = stretchFactor(
    plan.streams.map(({ stream, perDay }) => ({ stream, intervalMs: dayS * 1_000, cost: perDay })),
    ratePerSecond,
  )
  const rows = plan.streams.map(({ stream, records, intervalMs, first, perDay }) => ({
    stream,
    records: records === null ? null : Math.round(records),
    intervalS: intervalMs === null ? null : intervalMs / 1_000,
    first: Math.round(first),
    perDay: Math.round(perDay),
  }))
  const [first, listed, perDay] = [plan.first, plan.pages, plan.perDay].map(Math.round) as [number, number, number]
  if (json) printJson({ ratePerSecond, scheduledShare, stretch, first, listed, perDay, streams: rows })
  else {
    print(
      table(
        ['STREAM', 'RECORDS', 'EVERY', 'FIRST SYNC', 'A DAY'],
        rows.map((row) => [
          row.stream,
          row.records === null ? 'unknown' : count(row.records),
          row.intervalS === null ? 'off' : duration(row.intervalS),
          count(row.first),
          count(row.perDay),
        ]),
      ),
    )
    print(`\nFirst sync: ${takes(first, ratePerSecond)}, including ${takes(listed, ratePerSecond)} for the lists.`)
    print(dayText(perDay, ratePerSecond, stretch))
    print(assumptions)
  }
}

const dayS = 86_400

const assumptions = `Assumed: ${soonShare * 100} % of the rentals depart soon or are just back (the hot window), ${changedADay * 100} % change within a day. A collection has two elements if the mirror shows none. Reads that only repeat others are skipped, unless they have returned more data before.`

const takes = (requests: number, ratePerSecond: number): string =>
  `${count(requests)} requests${ratePerSecond === 0 ? '' : ` (${duration(requests / ratePerSecond)})`}`

function dayText(perDay: number, ratePerSecond: number, stretch: number): string {
  const needs = `A day of the worker: ${count(perDay)} requests`
  if (ratePerSecond === 0) return `${needs}; there is no rate limit.`
  const allowed = `${count(ratePerSecond * scheduledShare * dayS)} are for the schedule at ${count(ratePerSecond)} a second`
  return `${needs}; ${allowed}: ${stretch > 1 ? `intervals would be stretched by ${stretch.toFixed(2)}` : 'no interval is stretched'}.`
}
