// When a change goes again.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { absenceProvesInMs, absenceProvesNothing, nextDelayMs, nextVerificationMs } from '../../src/outbox/attempts.ts'

const attempts = fc.integer({ min: 1, max: 1_000 })
const random = fc.double({ min: 0, max: 1, noNaN: true })

describe('the next attempt', () => {
  it('comes after half to all of 1 s, 2 s, 4 s … and at most a minute', () => {
    expect([1, 2, 3, 7, 100].map((count) => nextDelayMs({ attempts: count, random: 1 }))).toEqual([
      1_000, 2_000, 4_000, 60_000, 60_000,
    ])
    expect(nextDelayMs({ attempts: 1, random: 0 })).toBe(500)
  })

  it('never comes before Retry-After', () => {
    fc.assert(
      fc.property(attempts, random, fc.nat({ max: 3_600_000 }), (count, chance, retryAfterMs) => {
        expect(nextDelayMs({ attempts: count, random: chance, retryAfterMs })).toBeGreaterThanOrEqual(retryAfterMs)
      }),
    )
  })

  it('comes up to a second after Retry-After, so that all do not come at once', () => {
    const delays = [0, 0.25, 1].map((chance) => nextDelayMs({ attempts: 1, random: chance, retryAfterMs: 2_000 }))
    expect(delays).toEqual([2_000, 2_250, 3_000])
  })

  it('never passes the expiry of a pending rental', () => {
    fc.assert(
      fc.property(attempts, random, fc.integer({ min: 1, max: 900_000 }), (count, chance, deadlineInMs) => {
        expect(nextDelayMs({ attempts: count, random: chance, deadlineInMs })).toBeLessThanOrEqual(deadlineInMs)
      }),
    )
  })

  it('is no longer hurried once the expiry has passed', () => {
    expect(nextDelayMs({ attempts: 7, random: 1, deadlineInMs: -1 })).toBe(60_000)
    expect(nextDelayMs({ attempts: 7, random: 1, deadlineInMs: 0 })).toBe(60_000)
  })
})

describe('the next verification', () => {
  it('comes after 1 s, 2 s, 4 s, then every 5 s, or up to a quarter earlier', () => {
    expect([0, 1, 2, 3, 2_000].map((verifications) => nextVerificationMs(verifications, 1))).toEqual([
      1_000, 2_000, 4_000, 5_000, 5_000,
    ])
    expect([0, 1, 2, 3, 2_000].map((verifications) => nextVerificationMs(verifications, 0))).toEqual([
      750, 1_500, 3_000, 3_750, 3_750,
    ])
  })

  it('begins within 15 s of a lost answer and comes at least each 5 s', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1_000 }), random, (verifications, chance) => {
        const delay = nextVerificationMs(verifications, chance)
        expect(delay).toBeGreaterThanOrEqual(750)
        expect(delay).toBeLessThanOrEqual(5_000)
      }),
    )
  })
})

describe('the absence of what was to be made', () => {
  const sentAt = new Date('2026-07-14T09:00:00Z')
  const later = (ms: number): Date => new Date(sentAt.getTime() + ms)

  it('proves nothing before the time limit of the request and the delay of the API are over', () => {
    const again = { timeLimitMs: 30_000, showDelayMs: 5_000 }
    expect(absenceProvesInMs({ ...again, knownMs: 0 })).toBe(35_000)
    expect(absenceProvesInMs({ ...again, knownMs: 34_999 })).toBe(1)
    expect(absenceProvesInMs({ ...again, knownMs: 35_000 })).toBe(0)
  })

  it('proves nothing about a rental after 15 minutes, whichever clock says so', () => {
    expect(absenceProvesNothing(sentAt, later(899_999), 899_999)).toBe(false)
    expect(absenceProvesNothing(sentAt, later(900_000), 0)).toBe(true)
    expect(absenceProvesNothing(sentAt, later(-3_600_000), 900_000)).toBe(true)
  })
})
