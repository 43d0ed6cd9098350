// Reading times follow the database's clock: an imprecise reading of it must not move them.

import fc from 'fast-check'
import type { Pool } from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Belief, believe, followClock, measureSkew, skewOf } from '../../src/database/database-clock.ts'
import { createTestDatabase, createTestPool } from '../helpers/database.ts'
import { quiet } from '../helpers/rows.ts'

it('a measurement is never further off than it says', () => {
  const times = fc.record({
    asked: fc.integer({ min: 0, max: 1e12 }),
    way: fc.integer({ min: 0, max: 20_000 }),
    back: fc.integer({ min: 0, max: 20_000 }),
    skew: fc.integer({ min: -100_000, max: 100_000 }),
  })
  fc.assert(
    fc.property(times, ({ asked, way, back, skew }) => {
      const { ms, errorMs } = skewOf(asked, asked + way + skew, asked + way + back)
      expect(Math.abs(ms - skew)).toBeLessThanOrEqual(errorMs)
    }),
  )
})

it('a measurement that took much longer than the best one is not believed, one across a slow network is', () => {
  expect(believe({ ms: 5, toleratedMs: 2 }, { ms: 2_000, errorMs: 2_000 }).ms).toBe(5)
  expect(believe({ ms: 5, toleratedMs: 2 }, { ms: 30, errorMs: 40 }).ms).toBe(30)
  expect(believe({ ms: 5, toleratedMs: 240 }, { ms: 30, errorMs: 150 }).ms).toBe(30)
})

it('a way that stays slow is believed in the end', () => {
  let belief: Belief = { ms: 0, toleratedMs: 2 }
  for (let minute = 0; minute < 5; minute++) belief = believe(belief, { ms: 3_000, errorMs: 400 })
  expect(belief.ms).toBe(3_000)
})

describe('in simulated time', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  /** A database with the clock of this host, on which a connection takes so long, and so does an answer. */
  const poolWhere = (connectMs: number, answerMs: () => number): Pool =>
    ({
      connect: async () => {
        await pass(connectMs)
        return {
          query: async () => {
            const ms = Date.now()
            await pass(answerMs())
            return { rows: [{ ms }] }
          },
          release: () => undefined,
        }
      },
    }) as unknown as Pool

  it('waiting for a connection does not move the clock', async () => {
    const { ms, errorMs } = await measureSkew(poolWhere(1_500, () => 4))
    expect([ms, errorMs]).toEqual([expect.closeTo(-2), 2])
  })

  it('a first measurement on a slow way is made again until it is good', async () => {
    let slow = 3
    const clock = await followClock(
      poolWhere(0, () => (slow-- > 0 ? 400 : 0)),
      true,
      quiet,
    )
    clock.stop()
    expect(clock.now().getTime()).toBeCloseTo(Date.now(), 0)
    expect(slow).toBe(-1)
  })
})

it('a step of the clock of this host moves nothing, however far it goes', async () => {
  await using database = await createTestDatabase()
  const pool = createTestPool(database.url, 1)
  const clock = await followClock(pool, true, quiet)
  const began = performance.now() - clock.now().getTime()
  const realNow = Date.now
  try {
    for (const stepMs of [3_600_000, -3_600_000, 86_400_000, -86_400_000]) {
      vi.spyOn(Date, 'now').mockImplementation(() => realNow() + stepMs)
      expect(Math.abs(performance.now() - clock.now().getTime() - began)).toBeLessThan(60_000)
    }
  } finally {
    vi.restoreAllMocks()
    clock.stop()
    await pool.end()
  }
})
