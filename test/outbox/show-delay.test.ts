// How long the API is taken to need until it shows a write, and when it is checked again.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Outcome, Unseen } from '../../src/outbox/outcome.ts'
import { checkAgain, createShowDelay } from '../../src/outbox/show-delay.ts'

const waits = (unseen: Unseen): Outcome => ({ kind: 'verify', delayMs: 1, error: 'x', unseen })
const shown: Outcome = { kind: 'verify', delayMs: 1, error: 'x' }
const failed: Outcome = { kind: 'failed', error: 'x', response: null }

describe('what is not to be seen', () => {
  it('is looked at again after as long again, from 250 ms to 5 s, and a last time when its time is over', () => {
    const delays = [0, 100, 800, 4_000, 20_000].map((sinceMs) => checkAgain({ sinceMs, patienceMs: 60_000 })?.delayMs)
    expect(delays).toEqual([250, 250, 800, 4_000, 5_000])
    expect(checkAgain({ sinceMs: 4_900, patienceMs: 5_000 })?.delayMs).toBe(100)
    expect(checkAgain({ sinceMs: 5_000, patienceMs: 5_000 })).toBeNull()
  })

  it('is looked at some twenty times at most, within its time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60_000 }), (patienceMs) => {
        let [sinceMs, looks] = [0, 0]
        for (
          let next = checkAgain({ sinceMs, patienceMs });
          next !== null;
          next = checkAgain({ sinceMs, patienceMs })
        ) {
          sinceMs += next.delayMs
          looks++
        }
        expect(looks).toBeLessThanOrEqual(20)
        expect(sinceMs).toBe(patienceMs)
      }),
    )
  })
})

describe('the delay', () => {
  it('is what is assumed until something was seen, and grows to twice what was, to a minute at most', () => {
    const delay = createShowDelay(5_000)
    expect([delay.ms(), delay.longestMs]).toEqual([5_000, 60_000])
    delay.note('1', waits({ sinceMs: 4_000, patienceMs: 60_000 }))
    expect(delay.ms()).toBe(5_000)
    delay.note('1', shown)
    expect(delay.ms()).toBe(16_000)
    delay.note('2', waits({ sinceMs: 40_000, patienceMs: 60_000 }))
    delay.note('2', shown)
    expect(delay.ms()).toBe(60_000)
  })

  it('learns nothing from what was never shown: an update that the API ignores, a record that is gone', () => {
    const delay = createShowDelay(5_000)
    delay.note('1', waits({ sinceMs: 4_000, patienceMs: 5_000 }))
    delay.note('1', shown)
    delay.note('2', waits({ sinceMs: 4_000, patienceMs: 60_000 }))
    delay.note('2', failed)
    delay.note('3', shown)
    expect(delay.ms()).toBe(5_000)
  })
})
