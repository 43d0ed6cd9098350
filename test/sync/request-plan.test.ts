// The requests that a first sync and a day of the schedule need, reckoned from settings and sizes.

import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { wantedIntervals } from '../../src/jobs/schedule.ts'
import { stretchFactor } from '../../src/sync/plan.ts'
import type { Costs } from '../../src/sync/read-costs.ts'
import { type PlannedStream, planRequests, scaledRows } from '../../src/sync/request-plan.ts'

const hours = (number: number): number => number * 3_600_000

function line(
  stream: string,
  rows: Readonly<Record<string, number>>,
  every = 24,
  env: Readonly<Record<string, string>> = {},
): PlannedStream | undefined {
  const settings = readConfig({ READ_ECONOMY: 'off', ...env }, '/nonexistent')
  const plan = planRequests({
    settings,
    intervals: new Map([[stream, hours(every)]]),
    rowsOf: (name) => rows[name] ?? null,
    needed: new Set(),
  })
  return plan.streams.find((each) => each.stream === stream)
}

it('hot runs read a page of what is new, and the window', () => {
  const settings = readConfig({ READ_ECONOMY: 'off' }, '/nonexistent')
  const rowsOf = (name: string): number | null => (name === 'rentals' ? 1_000 : null)
  const of = (...hot: readonly (readonly [string, number])[]): number =>
    planRequests({ settings, intervals: new Map([['rentals', hours(1)], ...hot]), rowsOf, needed: new Set() }).perDay
  expect(of(['rentals.hot', hours(0.5)]) - of()).toBeCloseTo(48 * (1 + 2), 6)
})

describe('the plan of requests', () => {
  it('counts the pages of each sweep, and what each record costs', () => {
    const cities = line('cities', { cities: 300 })
    // A list that is not paginated, and 300 singles: once a day each.
    expect(cities).toMatchObject({ records: 300, pages: 1, first: 301, perDay: 1 + 300 })
    const users = line('users', { users: 1_000 }, 1, { DETAIL_MAX_AGE: '10000h' })
    expect(users).toMatchObject({ pages: 12, first: 1_012 })
    expect(users?.perDay).toBeCloseTo(24 * 12 + 1_000 * (24 / 8_750), 6)
  })

  it('reads what others change at every turn, the rest by its age, oftener around departure, and when it changes', () => {
    expect(line('resource_availability_years', { resources: 10 }, 1)).toMatchObject({ first: 20, perDay: 24 * 20 })
    const resources = line('rental_resources', { rentals: 1_000 }, 1)
    const byAge = 24 / (24 * 0.875)
    expect(resources?.perDay).toBeCloseTo(1_000 * (0.9 * byAge + 0.1 * 4 * byAge + 0.02), 6)
  })

  it('takes page sizes, days and durations from the settings, and leaves out what is switched off', () => {
    expect(line('rentals', { rentals: 1_000 }, 24, { API_PAGE_SIZE: '50' })).toMatchObject({ pages: 21 })
    expect(line('rentals', { rentals: 1_000 }, 24, { API_PAGING: 'cursor' })).toMatchObject({ pages: 10 })
    const wide = { SLOT_DAYS: '10', SLOT_DURATIONS: '2' }
    expect(line('resource_slots', { resources: 10 }, 1, wide)).toMatchObject({ first: 200, perDay: 24 * 200 })
    expect(line('resource_slots', { resources: 10 }, 1, { SLOT_DAYS: '0' })).toBe(undefined)
  })

  it('counts samples of what repeats other reads', () => {
    const users = line('users', { users: 1_000 }, 1, { READ_ECONOMY: 'on' })
    expect(users).toMatchObject({ first: 12 + 200, perDay: 24 * 12 + 20 })
    const payments = line('rental_payments', { rentals: 100, rental_payments: 500 }, 1, { READ_ECONOMY: 'on' })
    expect(payments?.first).toBe(100 + 100)
  })

  it('counts the requests that link rentals to their boats, and one for prices that are answered at once', () => {
    const settings = readConfig({ READ_ECONOMY: 'off', PRICE_DAYS: '90' }, '/nonexistent')
    const of = (
      stream: string,
      rentals: number,
      wishes: Pick<Costs, 'pricesAtOnce' | 'refusedFilters'> = {},
    ): number | undefined => {
      const rows: Readonly<Record<string, number>> = { resources: 10, rentals }
      const rowsOf = (name: string): number | null => rows[name] ?? null
      const plan = planRequests({ settings, intervals: new Map(), rowsOf, needed: new Set(), ...wishes })
      return plan.streams.find((each) => each.stream === stream)?.first
    }
    expect(of('rental_resources', 9)).toBe(9)
    expect(of('rental_resources', 500)).toBe(500 + 10)
    expect(of('rental_resources', 1_000)).toBe(1_000 + 2 * 10)
    expect(of('rental_resources', 500, { refusedFilters: new Set(['rentals.resourceId']) })).toBe(500)
    expect(of('resource_pricetable', 9)).toBe(3 * 10)
    expect(of('resource_pricetable', 9, { pricesAtOnce: true })).toBe(10)
  })

  it('says that nobody knows how many there are', () => {
    expect(line('users', {})).toMatchObject({ records: null, first: 2 })
  })
})

// 10 % of the rentals depart soon, 2 % change within a day, a boat has two slots, a collection two elements, and no single returns
// more than its list.
it('a day of 20,000 rentals, 1,000 boats and 10,000 users stretches no interval at ten requests a second', () => {
  const config = readConfig({ API_RATE_LIMIT: '10' }, '/nonexistent')
  const rows = new Map(Object.entries({ rentals: 20_000, resources: 1_000, users: 10_000, companies: 100 }))
  const facts = { ratePerSecond: 10, pages: new Map([['rentals', 201]]), unexpected: new Set<string>() }
  const intervals = wantedIntervals(config, facts)
  expect(intervals.get('rentals')).toBeCloseTo((201 * 1_000) / 0.3, 6)
  const rowsOf = (name: string): number | null => rows.get(name) ?? null
  const { perDay } = planRequests({ settings: config, intervals, rowsOf, needed: new Set() })
  expect(perDay).toBeLessThanOrEqual(330_000)
  expect(stretchFactor([{ intervalMs: 86_400_000, cost: perDay }], 10)).toBe(1)
})

it('what hangs below a record grows with it; other rows stay', () => {
  const mirrored = new Map([
    ['rentals', 200],
    ['rental_payments', 300],
    ['users', 120],
  ])
  const rowsOf = scaledRows((name) => mirrored.get(name) ?? null, new Map([['rentals', 2_000]]))
  expect(['rentals', 'rental_payments', 'users', 'rental_options'].map(rowsOf)).toEqual([2_000, 3_000, 120, null])
})
