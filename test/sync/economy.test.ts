// How many of the reads that repeat others are made all the same, and what that notices.

import { describe, expect, it } from 'vitest'
import { createRandom } from '../../sandbox/world/random.ts'
import type { RepeatingRead } from '../../src/sync/due/reads.ts'
import { dailySample, economyOf, firstSample, isSampleDue } from '../../src/sync/economy.ts'
import { firstOf } from '../helpers/extent.ts'

const now = new Date('2026-07-01T12:00:00Z')
const read = (wishes: Partial<RepeatingRead>): RepeatingRead => ({
  ...{ endpoint: 'GET /v3/users/{userId}', sameAs: 'GET /v3/users', state: 'redundant' },
  ...{ compared: 200, differed: 0, skipped: 0, since: now, sampledAt: now },
  ...wishes,
})

const endpoint = 'GET /v3/users/{userId}'

describe('a read that repeats another', () => {
  it('is compared for a fifth of the records first, for at least 20 and at most 200', () => {
    expect([61, 120, 1_000, 1_500, 20_000].map(firstSample)).toEqual([20, 24, 200, 200, 200])
  })

  it('is sampled for 2 % a day from then on, of few records not every day', () => {
    expect([200, 1_500, 20_000].map((records) => dailySample(records))).toEqual([4, 30, 400])
    const { next } = createRandom(1, 'daily')
    const days = Array.from({ length: 1_000 }, () => dailySample(10, next))
    expect(days.filter((sample) => sample === 1).length).toBeGreaterThan(150)
    expect(days.filter((sample) => sample === 0).length).toBeGreaterThan(750)
  })

  const skips = (wishes: Partial<RepeatingRead>, leavesOut = true): number => {
    const { next } = createRandom(1, 'economy')
    const economy = economyOf([read(wishes)], { leavesOut, now, random: next })
    return Array.from({ length: 1_000 }, () => economy.skips(endpoint)).filter(Boolean).length
  }

  it('is skipped when it is redundant, except for samples, and never with --full or READ_ECONOMY=off', () => {
    expect(skips({})).toBeGreaterThan(960)
    expect(skips({})).toBeLessThan(1_000)
    expect(skips({}, false)).toBe(0)
    expect(skips({ state: 'needed' })).toBe(0)
  })

  it('is sampled at least once a day', () => {
    const yesterday = new Date('2026-06-30T11:00:00Z')
    const economy = economyOf([read({ sampledAt: yesterday })], { leavesOut: true, now, random: () => 1 })
    expect([1, 2, 3].map(() => economy.skips(endpoint))).toEqual([false, true, true])
    expect(isSampleDue(read({ sampledAt: null, since: now }), now)).toBe(false)
  })

  // Elements are counted only when their collections are read: each task of a run makes its part.
  it.each([
    [60, 20],
    [300, 60],
    [900, 180],
    [5_000, 200],
  ])('of %i elements of collections a first sample takes about %i, in 20 tasks', (elements, wanted) => {
    const { next } = createRandom(1, `elements ${elements}`)
    let [sampled, after] = [0, 0]
    for (let task = 0; task < 20; task++) {
      const economy = economyOf([read({ compared: 0 })], { leavesOut: true, part: 1 / 20, now, random: next })
      for (let index = 0; index < elements / 20; index++)
        if (!economy.skips(endpoint)) {
          sampled += 1
          if (sampled > wanted) after += 1
        }
    }
    expect(sampled).toBeGreaterThanOrEqual(0.6 * wanted)
    // Beyond it, the 2 % of the others.
    expect(after).toBeLessThanOrEqual(Math.ceil(0.04 * elements))
  })
})

describe('singles that return more than their list, for one record in fifty', () => {
  const seeds = Array.from({ length: 2_000 }, (_, seed) => createRandom(seed, 'samples').next)
  /** In how many of these mirrors a sample includes one of them. */
  const noticed = (records: number, samples: number): number =>
    seeds.filter((random) => {
      const left = Array.from({ length: records }, (_, record) => record)
      for (let drawn = 0; drawn < samples; drawn++) {
        const place = Math.floor(random() * left.length)
        if ((left[place] ?? 0) % 50 === 7) return true
        left.splice(place, 1)
      }
      return false
    }).length / seeds.length

  it.each(firstOf([1_500, 1_000, 20_000]))(
    'of %i are noticed within two syncs, in at least 98 of 100 cases',
    (records) => {
      expect(noticed(records, firstSample(records) + Math.floor(records * 0.02))).toBeGreaterThan(0.98)
    },
  )

  it('are noticed within a month where they begin later', () => {
    expect(noticed(1_500, 30 * 30)).toBe(1)
  })
})
