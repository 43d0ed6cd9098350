// What is read under which settings, what has to be read before, and in which keyBatches.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { streamNamed, streams } from '../../src/catalog/catalog.ts'
import {
  dependenciesOf,
  detailPriority,
  keyBatches,
  moreUrgentThan,
  type PlanSettings,
  priorities,
  startableStreams,
  streamsToRead,
} from '../../src/sync/plan.ts'

const everything: PlanSettings = {
  mirrorDocuments: true,
  slotDays: 1,
  slotDurations: 1,
  calendarYears: 1,
  priceDays: 1,
}
const slots = ['resource_availability', 'resource_slots', 'resource_slot_options', 'resource_slot_tides']

describe('a setting that is switched off leaves out', () => {
  const all = streamsToRead([], everything)
  const cases: readonly { name: string; off: Partial<PlanSettings>; left: readonly string[] }[] = [
    { name: 'nothing when none is', off: {}, left: [] },
    { name: 'identity and license', off: { mirrorDocuments: false }, left: ['user_identities', 'user_licenses'] },
    { name: 'calendars', off: { calendarYears: 0 }, left: ['resource_availability_years'] },
    { name: 'price tables', off: { priceDays: 0 }, left: ['resource_pricetable'] },
    { name: 'slots and availability, without days', off: { slotDays: 0 }, left: slots },
    { name: 'slots and availability, without durations', off: { slotDurations: 0 }, left: slots },
  ]
  for (const { name, off, left } of cases)
    it(name, () => {
      const read = streamsToRead([], { ...everything, ...off })
      expect(all.filter((stream) => !read.includes(stream)).sort()).toEqual([...left].sort())
    })
})

describe('a stream', () => {
  it('that asks for durations is read with them', () => {
    expect(streamsToRead(['resource_availability'], everything)).toEqual([
      'resources',
      'resource_durations',
      'resource_availability',
    ])
  })

  it('that does not exist is refused with the names of all that do', () => {
    expect(() => streamsToRead(['boats'], everything)).toThrow(
      expect.objectContaining({
        code: 'USAGE',
        remedy: expect.stringContaining(streams.map((s) => s.name).join(', ')),
      }),
    )
  })

  const dependencies: readonly (readonly [name: string, stream: string, expected: Readonly<Record<string, string>>])[] =
    [
      ['without anything above or inside it waits for nothing', 'equipments', {}],
      ['of documents that may be missing waits until every user is read', 'user_identities', { users: 'finished' }],
      ['of documents always there waits for lists alone', 'rental_resources', { rentals: 'swept', resources: 'swept' }],
      ['below slots waits until every slot is read', 'resource_slot_tides', { resource_slots: 'finished' }],
      [
        'that asks for durations waits until they are read',
        'resource_availability',
        { resources: 'swept', resource_durations: 'finished' },
      ],
    ]
  for (const [name, stream, expected] of dependencies)
    it(name, () => {
      const found = dependenciesOf(streamNamed(stream)).map((each) => [each.stream, each.state])
      expect(found).toEqual(Object.entries(expected))
    })

  it('waits for nothing that was not asked for in the same request', () => {
    expect(startableStreams(new Map([['rental_options', 'waiting']]))).toEqual(['rental_options'])
  })
})

describe('keyBatches', () => {
  const keys = fc.integer({ min: 1, max: 8_000 }).map((count) => [...Array(count).keys()])

  it('have every key once, are never empty nor larger than 200, and of one size but for the last', () => {
    expect(keyBatches([])).toEqual([])
    fc.assert(
      fc.property(keys, (all) => {
        const sizes = keyBatches(all).map((portion) => portion.length)
        expect(keyBatches(all).flat()).toEqual(all)
        const [first = 0] = sizes
        expect(first).toBeLessThanOrEqual(200)
        for (const size of sizes.slice(0, -1)) expect(size).toBe(first)
        expect(sizes.at(-1)).toBeGreaterThan(0)
      }),
    )
  })

  it('are of 20 keys until there is work for 16, and grow then', () => {
    const first = (count: number): number | undefined => keyBatches([...Array(count).keys()])[0]?.length
    expect([30, 320, 640, 3_200, 6_400].map(first)).toEqual([20, 20, 40, 200, 200])
  })
})

it('lists come before details; details by rank of use, then what links others, then in the order of the catalog', () => {
  const of = (stream: string, rank: number): number => detailPriority({ stream, isAsked: false }, rank)
  const order = [0, 1, 2].map((rank) => streams.map(({ name }) => of(name, rank)))
  expect(Math.min(...order.flat())).toBeGreaterThan(Math.max(...Object.values(priorities)))
  for (const rank of [0, 1]) expect(Math.max(...(order[rank] ?? []))).toBeLessThan(Math.min(...(order[rank + 1] ?? [])))
  const ofOneRank = streams.map(({ name }) => name).sort((a, b) => of(a, 1) - of(b, 1))
  for (const rank of [0, 1, 2]) for (const each of order[rank] ?? []) expect(moreUrgentThan(each)).toBe(10 + 100 * rank)
  const links = 'rental_resources'
  expect(ofOneRank).toEqual([links, ...streams.map(({ name }) => name).filter((name) => name !== links)])
  expect(priorities.sweep).toBeLessThan(priorities.plan)
  // What was requested comes before all of them, and makes way for nothing.
  const asked = detailPriority({ stream: 'rentals', isAsked: true }, 2)
  expect(asked).toBeLessThan(priorities.sweep)
  expect(moreUrgentThan(asked)).toBeLessThan(asked)
})
