// The budget that all workers borrow from, in simulated time: how exact, how fair, and who goes first.

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Priority } from '../../src/api/admission/priority-queue.ts'
import { createRateLimiter, type Limiter } from '../../src/api/admission/rate-limit.ts'
import {
  createOwnBudget,
  lend,
  type RequestBudget,
  rule,
  unspent,
  withFallback,
} from '../../src/api/admission/request-budget.ts'
import { recordingLog } from './recording-log.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

type Left = { readonly at: number; readonly worker: number; readonly priority: Priority }

/** Draws for ever with so many at once; each request takes `latencyMs` after it left. */
function draw(
  limiter: Limiter,
  worker: number,
  left: Left[],
  priority: Priority,
  [lanes, latencyMs]: [number, number],
) {
  const stop = new AbortController()
  for (let lane = 0; lane < lanes; lane++)
    void (async () => {
      while (!stop.signal.aborted) {
        await limiter.acquire(priority)
        left.push({ at: performance.now(), worker, priority })
        if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs))
      }
    })()
  return () => stop.abort()
}

/** The most and the fewest that left in any ten seconds between two instants. */
function anyTenSeconds(left: readonly Left[], from: number, to: number): { most: number; fewest: number } {
  const instants = left.map(({ at }) => at).filter((at) => at >= from && at < to)
  const counts: number[] = []
  let end = 0
  for (const [first, at] of instants.entries()) {
    if (at + 10_000 > to) break
    while (end < instants.length && (instants[end] ?? 0) < at + 10_000) end++
    counts.push(end - first)
  }
  return { most: Math.max(...counts), fewest: Math.min(...counts) }
}

const share = (left: readonly Left[], one: (left: Left) => boolean): number => left.filter(one).length / left.length

/** A store that answers after some milliseconds, as one across a network does. */
function distant(budget: RequestBudget): RequestBudget {
  let loans = 0
  return {
    lend: async (wish) => {
      await new Promise((resolve) => setTimeout(resolve, 1 + (loans++ % 7)))
      const loan = await budget.lend(wish)
      await new Promise((resolve) => setTimeout(resolve, 1 + (loans % 5)))
      return loan
    },
  }
}

describe('the rate', () => {
  it('is never exceeded by what is lent, whoever asks when', () => {
    const wishes = fc.record({
      afterMs: fc.integer({ min: 0, max: 400 }),
      priority: fc.constantFrom('write' as const, 'read' as const, 'detail' as const),
      wanted: fc.integer({ min: 1, max: 5 }),
      more: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(wishes, { maxLength: 200 }), (all) => {
        let [state, now] = [unspent, 1_000_000]
        const instants: number[] = []
        for (const { afterMs, ...wish } of all) {
          now += afterMs
          const loan = lend(state, { ...wish, unused: 0 }, now, 100)
          state = loan.state
          expect(loan.granted === wish.wanted || loan.waitMs > 0).toBe(true)
          for (let i = 0; i < loan.granted; i++) instants.push(now + loan.waitMs + 10 * i)
        }
        instants.sort((a, b) => a - b)
        for (const [i, start] of instants.entries()) {
          const passed = instants.slice(i).filter((at) => at < start + 1_000).length
          expect(passed).toBeLessThanOrEqual(1 + (1_000 + rule.aheadMs + rule.lateMs) / 10)
        }
      }),
    )
  })

  for (const [ratePerSecond, lanes, latencyMs] of [
    [10, 20, 0],
    [100, 2, 50],
    [300, 2, 20],
  ] as const)
    it(`of ${ratePerSecond} is kept within 5 % over any ten seconds by eight hungry workers, each with its share (${lanes} at once, ${latencyMs} ms)`, async () => {
      const budget = distant(createOwnBudget(ratePerSecond))
      const left: Left[] = []
      const stops = Array.from({ length: 8 }, (_, worker) =>
        draw(createRateLimiter(ratePerSecond, budget), worker, left, 'read', [lanes, latencyMs]),
      )
      const begin = performance.now()
      await vi.advanceTimersByTimeAsync(22_000)
      for (const stop of stops) stop()
      const { most, fewest } = anyTenSeconds(left, begin + 1_000, begin + 21_900)
      expect(most).toBeLessThanOrEqual(10.5 * ratePerSecond)
      expect(fewest).toBeGreaterThanOrEqual(9.5 * ratePerSecond)
      for (let worker = 0; worker < 8; worker++) {
        const part = 8 * share(left, (one) => one.worker === worker)
        expect(part).toBeGreaterThan(0.8)
        expect(part).toBeLessThan(1.2)
      }
    })

  it('is kept while changes come and go in bursts', async () => {
    const budget = distant(createOwnBudget(100))
    const left: Left[] = []
    for (let worker = 0; worker < 7; worker++) draw(createRateLimiter(100, budget), worker, left, 'read', [20, 0])
    const pushing = createRateLimiter(100, budget)
    const begin = performance.now()
    for (let second = 0; second < 22; second++) {
      for (let change = 0; change < 30; change++)
        void pushing.acquire('write').then(() => left.push({ at: performance.now(), worker: 7, priority: 'write' }))
      await vi.advanceTimersByTimeAsync(1_000)
    }
    const { most, fewest } = anyTenSeconds(left, begin + 1_000, begin + 21_900)
    expect(most).toBeLessThanOrEqual(1_050)
    expect(fewest).toBeGreaterThanOrEqual(950)
    expect(left.filter(({ priority }) => priority === 'write').length).toBe(22 * 30)
  })

  it('of a killed worker is that of the others at once', async () => {
    const budget = distant(createOwnBudget(100))
    let killed = false
    const left: Left[] = []
    const dying = createRateLimiter(100, {
      lend: (wish) => (killed ? new Promise(() => undefined) : budget.lend(wish)),
    })
    draw(dying, 0, [], 'read', [20, 0])
    draw(createRateLimiter(100, budget), 1, left, 'read', [20, 0])
    await vi.advanceTimersByTimeAsync(3_000)
    killed = true
    const before = left.length
    await vi.advanceTimersByTimeAsync(2_000)
    expect(left.length - before).toBeGreaterThan(170)
  })
})

describe('what is not needed', () => {
  it('goes back when those who waited are called off', async () => {
    const budget = createOwnBudget(10)
    const off = new AbortController()
    const waiting = Promise.allSettled(
      Array.from({ length: 3 }, () => createRateLimiter(10, budget).acquire('read', off.signal)),
    )
    const first = createRateLimiter(10, budget)
    await vi.advanceTimersByTimeAsync(1)
    off.abort()
    await waiting
    await vi.advanceTimersByTimeAsync(300)
    const start = performance.now()
    const given = first.acquire('read').then(() => performance.now() - start)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await given).toBeLessThan(50)
  })

  it('goes back when nobody comes for what a worker borrowed for a while', async () => {
    const lent: number[] = []
    const own = createOwnBudget(1_000)
    const limiter = createRateLimiter(1_000, {
      lend: async (wish) => {
        const loan = await own.lend(wish)
        lent.push(loan.granted - wish.unused)
        return loan
      },
    })
    const left: Left[] = []
    const stop = draw(limiter, 0, left, 'read', [2, 50])
    await vi.advanceTimersByTimeAsync(2_000)
    stop()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(left.length).toBeGreaterThan(70)
    expect(lent.length).toBeLessThan(left.length / 3) // few loans for many requests
    expect(lent.reduce((sum, requests) => sum + requests, 0)).toBe(left.length)
  })
})

describe('a budget that the own one stands in for', () => {
  it('is given back only what it has lent itself', async () => {
    const asked: string[] = []
    let isOut = false
    const store = (name: string, fails: () => boolean): RequestBudget => ({
      lend: async ({ wanted, unused }) => {
        if (fails()) throw new Error(`${name} is out`)
        if (wanted > 0) asked.push(`${name} ${unused}`)
        return { granted: wanted, waitMs: 0 }
      },
    })
    const { log } = recordingLog()
    const budget = withFallback(
      store('shared', () => isOut),
      store('own', () => false),
      log,
    )
    const wish = { priority: 'read', wanted: 5, unused: 2, more: false } as const
    await budget.lend(wish)
    isOut = true
    await budget.lend(wish)
    await budget.lend(wish)
    isOut = false
    await vi.advanceTimersByTimeAsync(2_000)
    await budget.lend(wish) // by its own still: it finds out that the shared one is back
    await vi.advanceTimersByTimeAsync(0)
    await budget.lend(wish)
    await budget.lend(wish)
    expect(asked).toEqual(['shared 2', 'own 0', 'own 2', 'own 2', 'shared 0', 'shared 2'])
  })
})

describe('over all workers', () => {
  it('changes go before reads, and reads before details, which keep one in ten', async () => {
    const budget = distant(createOwnBudget(100))
    const left: Left[] = []
    const workers = Array.from({ length: 8 }, () => createRateLimiter(100, budget))
    for (const [worker, limiter] of workers.entries())
      draw(limiter, worker, left, worker < 4 ? 'read' : 'detail', [20, 0])
    await vi.advanceTimersByTimeAsync(10_000)
    const details = share(left.slice(100), ({ priority }) => priority === 'detail')
    expect(details).toBeGreaterThan(0.05)
    expect(details).toBeLessThan(0.15)

    const begin = performance.now()
    const stop = draw(createRateLimiter(100, budget), 8, left, 'write', [20, 0])
    await vi.advanceTimersByTimeAsync(5_000)
    stop()
    const after = left.filter(({ at }) => at >= begin)
    const waited = (after.find(({ priority }) => priority === 'write')?.at ?? Number.POSITIVE_INFINITY) - begin
    expect(waited).toBeLessThan(500)
    const later = after.filter(({ at }) => at >= begin + 1_000)
    expect(later.every(({ priority }) => priority === 'write')).toBe(true)
  })
})
