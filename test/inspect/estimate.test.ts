// What is left of syncs under way, from what they have done and planned.

import { expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { type Estimate, estimateOf, type OpenRun, type OpenWork } from '../../src/inspect/estimate.ts'

const settings = readConfig({ READ_ECONOMY: 'off' }, '/nonexistent')

const run = (stream: string, state: OpenRun['state'], wishes: Partial<OpenRun> = {}): OpenRun => ({
  stream,
  state,
  isWhole: true,
  requests: 0,
  pages: 0,
  total: null,
  keys: { waiting: 0, running: 0, done: 0 },
  ...wishes,
})

const estimate = (
  runs: readonly OpenRun[],
  rows: Readonly<Record<string, number>> = {},
  rate: Pick<OpenWork, 'elapsedS' | 'lately'> = { elapsedS: 0, lately: { reads: 0, seconds: 90 } },
): Estimate => estimateOf({ runs, rows: new Map(Object.entries(rows)), needed: new Set(), ...rate }, settings)

const left = (...of: Parameters<typeof estimate>): number | null => estimate(...of).requestsLeft

it('nothing is left where nothing runs', () => {
  expect(estimate([])).toEqual({ requestsMade: 0, requestsLeft: 0, perSecond: null, secondsLeft: 0 })
  expect(left([run('rentals', 'ended', { requests: 7 })])).toBe(0)
})

it('a list leaves its pages, the one that ends it, and the details that follow', () => {
  // A rental: its single and its user.
  expect(left([run('rentals', 'listing', { total: 1_000, pages: 4 })])).toBe(6 + 1 + 2_000)
  expect(left([run('rentals', 'listing', { total: 1_000, pages: 4, isWhole: false })])).toBe(6 + 1)
  expect(left([run('rentals', 'swept', { total: 1_000, pages: 10 })])).toBe(2_000)
  expect(left([run('cities', 'waiting')], { cities: 300 })).toBe(1 + 300)
})

it('nobody knows before a list of unknown length is through, nor what hangs below it', () => {
  expect(left([run('rentals', 'listing')])).toBe(null)
  expect(left([run('rentals', 'waiting'), run('cities', 'swept', { total: 3 })])).toBe(null)
  expect(left([run('rentals', 'waiting', { isWhole: false })], { rentals: 200 })).toBe(3)
})

it('what was not begun is told by what it hangs below', () => {
  const rentals = run('rentals', 'detailed', { total: 100 })
  expect(left([rentals, run('rental_resources', 'waiting')])).toBe(100)
  expect(left([rentals, run('rental_payments', 'waiting')])).toBe(300)
  expect(left([rentals, run('rental_payments', 'waiting')], { rentals: 100, rental_payments: 50 })).toBe(150)
  expect(left([rentals, run('rental_payments', 'waiting', { isWhole: false })])).toBe(0)
  // Two slots a boat, until they are read.
  const resources = run('resources', 'ended', { total: 10 })
  expect(left([resources, run('resource_slots', 'waiting'), run('resource_slot_tides', 'waiting')])).toBe(30 + 20)
  // Of slots of past days nothing is read.
  expect(left([run('resource_slot_tides', 'waiting')], { resources: 10, resource_slots: 900 })).toBe(30)
})

it('of reads that repeat others samples are left, but of those that tell more', () => {
  const economical = readConfig({}, '/nonexistent')
  const of = (run: OpenRun, needed: readonly string[] = []): number | null =>
    estimateOf(
      { runs: [run], rows: new Map(), needed: new Set(needed), elapsedS: 0, lately: { reads: 0, seconds: 90 } },
      economical,
    ).requestsLeft
  const rentals = run('rentals', 'swept', { total: 1_500 })
  expect(of(rentals)).toBe(200 + 200)
  expect(of(rentals, ['GET /v3/rentals/{rentalId}'])).toBe(1_500 + 200)
  expect(of(run('cities', 'swept', { total: 40 }))).toBe(20)
})

it('tasks under way count half, and what was done tells what a record costs', () => {
  const keys = { waiting: 100, running: 40, done: 0 }
  expect(left([run('rental_resources', 'detailed', { keys })])).toBe(120)
  const dearer = { keys: { ...keys, done: 60 }, requests: 250, pages: 10 }
  expect(left([run('rental_resources', 'detailed', dearer)])).toBe(120 * 3)
})

it('the rate is that of the sync, later that of the last minute', () => {
  const runs = [run('rental_resources', 'detailed', { requests: 300, keys: { waiting: 600, running: 0, done: 0 } })]
  const of = (elapsedS: number): Estimate => estimate(runs, {}, { elapsedS, lately: { reads: 900, seconds: 90 } })
  expect(of(1)).toMatchObject({ requestsMade: 300, requestsLeft: 600, perSecond: null, secondsLeft: null })
  expect(of(60)).toMatchObject({ perSecond: 5, secondsLeft: 120 })
  expect(of(40_000)).toMatchObject({ perSecond: 10, secondsLeft: 60 })
})
