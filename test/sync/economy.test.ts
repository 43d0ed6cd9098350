// How much is compared before and after reads are skipped, and what that notices.

import { describe, expect, it } from 'vitest'
import { createRandom } from '../../sandbox/world/random.ts'
import type { RepeatingRead } from '../../src/sync/due/reads.ts'
import { dailySample, economyOf, isSampleDue, learningSample, shuffled } from '../../src/sync/economy.ts'

const now = new Date('2026-07-01T12:00:00Z')
const read = (wishes: Partial<RepeatingRead>): RepeatingRead => ({
  ...{ endpoint: 'GET /v3/users/{userId}', sameAs: 'GET /v3/users', state: 'redundant' },
  ...{ compared: 200, differed: 0, skipped: 0, since: now, sampledAt: now },
  ...wishes,
})

describe('a read that repeats another', () => {
  it('is compared for a fifth of the records before any is left out, for at least 20 and at most 200', () => {
    expect([61, 120, 1_000, 1_500, 20_000].map(learningSample)).toEqual([20, 24, 200, 200, 200])
  })

  it('is sampled for 2 % a day; after a verdict by less than a fifth, for 200 once more', () => {
    expect([61, 200, 1_500, 20_000].map((records) => dailySample(records, false))).toEqual([2, 4, 30, 400])
    expect([61, 200, 1_000, 1_500, 20_000].map((records) => dailySample(records, true))).toEqual([2, 4, 20, 200, 400])
  })

  const endpoint = 'GET /v3/users/{userId}'
  const skips = (wishes: Partial<RepeatingRead>, leavesOut = true): number => {
    const { next } = createRandom(1, 'economy')
    const economy = economyOf([read(wishes)], { leavesOut, now, random: next })
    return Array.from({ length: 1_000 }, () => economy.skips(endpoint)).filter(Boolean).length
  }

  it('is left out when it is redundant, but for samples, and never with --full or READ_ECONOMY=off', () => {
    expect(skips({})).toBeGreaterThan(960)
    expect(skips({})).toBeLessThan(1_000)
    expect(skips({}, false)).toBe(0)
    expect(skips({ state: 'learning' })).toBe(0)
    expect(skips({ state: 'needed' })).toBe(0)
  })

  it('is sampled at least once a day', () => {
    const yesterday = new Date('2026-06-30T11:00:00Z')
    const economy = economyOf([read({ sampledAt: yesterday })], { leavesOut: true, now, random: () => 1 })
    expect([1, 2, 3].map(() => economy.skips(endpoint))).toEqual([false, true, true])
    expect(isSampleDue(read({ sampledAt: null, since: now }), now)).toBe(false)
  })
})

describe('singles that say more than their list, for one record in fifty of 1,500', () => {
  const records = 1_500
  const deviates = (record: number): boolean => record % 50 === 7
  const all = Array.from({ length: records }, (_, record) => record)
  const seeds = Array.from({ length: 1_000 }, (_, seed) => createRandom(seed, 'samples').next)

  it('are noticed within two syncs, in more than 99 of 100 cases', () => {
    const noticed = seeds.filter((random) => {
      const order = shuffled(all, random)
      return order.slice(0, learningSample(records) + dailySample(records, true)).some(deviates)
    })
    expect(noticed.length).toBeGreaterThan(995)
  })

  it('are noticed within a month where they begin later', () => {
    const noticed = seeds.filter((random) =>
      Array.from({ length: 30 }).some(() =>
        Array.from({ length: dailySample(records, false) }, () => Math.floor(random() * records)).some(deviates),
      ),
    )
    expect(noticed).toHaveLength(seeds.length)
  })
})
