// The schedule under a quota: what is stretched, how far, and in which order.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstSyncHours, planQuota } from '../../src/cli/quota-plan.ts'
import { readConfig } from '../../src/config.ts'
import { wantedIntervals } from '../../src/jobs/schedule.ts'
import {
  notKept,
  type QuotaScheduleInput,
  type Stretchable,
  solve,
  solveSchedule,
} from '../../src/sync/quota-schedule.ts'
import { planRequests } from '../../src/sync/request-plan.ts'

const minuteMs = 60_000
const uses = ['ages', 'shared', 'complete', 'soon', 'hot'] as const

const things = fc
  .array(
    fc.record({
      use: fc.constantFrom(...uses),
      minutes: fc.integer({ min: 1, max: 3_000 }),
      cost: fc.integer({ min: 1, max: 10_000 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((all) =>
    all.map(
      ({ use, minutes, cost }, index): Stretchable => ({
        ...{ what: 'interval', name: String(index), use, wantedMs: minutes * minuteMs },
        perDayAt: (ms) => (86_400_000 / ms) * cost,
      }),
    ),
  )

describe('what is solved', () => {
  it('takes no more than the budget, shortens nothing, and stretches nothing useful before all that is less so', () => {
    fc.assert(
      fc.property(things, fc.nat(10_000_000), fc.nat(1_000_000), (all, budget, fixed) => {
        const { lengths, perDay, isKept } = solve(all, fixed, budget)
        const of = (thing: Stretchable): number => lengths.get(thing) ?? 0
        for (const thing of all) expect(of(thing)).toBeGreaterThanOrEqual(thing.wantedMs)
        if (isKept) expect(perDay).toBeLessThanOrEqual(budget)
        const loosest = solve(all, fixed, Number.POSITIVE_INFINITY)
        for (const thing of all) expect(loosest.lengths.get(thing)).toBe(thing.wantedMs)
        // Under no budget at all everything is stretched as far as it goes.
        const tightest = solve(all, 0, 0)
        const stretched = all.filter((thing) => of(thing) > thing.wantedMs * 1.000001)
        for (const thing of stretched)
          for (const other of all.filter(({ use }) => uses.indexOf(use) < uses.indexOf(thing.use))) {
            const bearable = (tightest.lengths.get(other) ?? 0) / 1_000
            expect(of(other)).toBeGreaterThanOrEqual(bearable * 0.999999)
          }
      }),
    )
  })

  it('of a larger quota keeps everything at least as fresh', () => {
    fc.assert(
      fc.property(things, fc.nat(5_000_000), fc.nat(5_000_000), (all, budget, more) => {
        const [less, larger] = [solve(all, 0, budget), solve(all, 0, budget + more)]
        for (const thing of all)
          expect(larger.lengths.get(thing) ?? 0).toBeLessThanOrEqual((less.lengths.get(thing) ?? 0) * 1.000001)
      }),
    )
  })
})

const config = readConfig({}, '/nonexistent')
const rows: Readonly<Record<string, number>> = { rentals: 20_000, resources: 1_000, users: 10_000, companies: 100 }
const input: QuotaScheduleInput = {
  settings: config,
  wanted: wantedIntervals(config, { ratePerSecond: 10, pages: new Map([['rentals', 201]]), unexpected: new Set() }),
  measured: new Map(),
  rowsOf: (name) => rows[name] ?? null,
  needed: new Set(),
  ...{ soonShare: 0.06, hotShare: 0.11, changedADay: 0.02 },
}

const effective = ({ intervals, ages }: ReturnType<typeof solveSchedule>) =>
  [...input.wanted.keys()]
    .filter((turn) => !turn.includes('.'))
    .map((stream) => ({
      stream,
      intervalMs: intervals.get(stream) ?? null,
      hotIntervalMs: intervals.get(`${stream}.hot`) ?? null,
      maxAgeMs: ages.get(stream)?.maxAgeMs ?? null,
      soonMaxAgeMs: ages.get(stream)?.soonMaxAgeMs ?? null,
    }))

it('what a small quota no longer lets be kept is named, and nothing is under a fair one', () => {
  expect(notKept(effective(solveSchedule(input, 78_000)), config)).toEqual([])
  const tight = notKept(effective(solveSchedule(input, 5_000)), config)
  expect(tight).toEqual(expect.arrayContaining(['rentals', 'users', 'rental_payments', 'resource_slots']))
})

it('a plan says what a quota would buy: freshness, and the hours of a first sync', () => {
  const quota = { hour: null, day: 120_000, month: null }
  const plan = planRequests({ ...input, intervals: input.wanted })
  const bought = planQuota(quota, plan, input, 10)
  expect(bought).toMatchObject({ quota: '120000/day', budgetPerDay: 78_000, kept: true })
  expect(bought.perDay).toBeLessThanOrEqual(78_000)
  const rentals = bought.streams.find(({ stream }) => stream === 'rentals')
  expect(rentals).toMatchObject({ everyS: 3_000, soonDetailsS: 11 * 3_600 })
  expect(rentals?.hotEveryS).toBeLessThanOrEqual(240)
  // 3,500 an hour, six hours' worth of them at once.
  expect(firstSyncHours(35_000, quota, 10)).toBeCloseTo(4, 6)
  expect(firstSyncHours(3_600, quota, 1)).toBeCloseTo(1, 6)
  expect(firstSyncHours(36_000, { hour: 1_000, day: null, month: null }, 0)).toBeCloseTo(47, 6)
})
