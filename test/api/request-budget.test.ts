// The budget that all workers borrow from, in simulated time: how exact, how fair, and who goes first.

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Priority } from '../../src/api/admission/priority-queue.ts'
import { createRateLimiter, type Limiter } from '../../src/api/admission/rate-limit.ts'
import { type RequestBudget, rule } from '../../src/api/admission/request-budget.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { openSimulatedBudget } from './simulated-budget.ts'

const simulated = opened(openSimulatedBudget)
beforeAll(async () => {
  await simulated.client.query(lendAll)
})
const advance = (ms: number): Promise<void> => simulated.advance(ms)

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

type Loan = { readonly granted: number; readonly waitMs: number; readonly atMs: number }

/** One loan after the other in one statement; `afterMs` lies between them. */
const lendAll = `create function test_lend_all(rate int, wishes jsonb)
    returns table (granted int, wait_ms double precision, at_ms double precision) language plpgsql as $$
  declare wish record;
  begin
    at_ms := 1;
    for wish in select * from jsonb_to_recordset(wishes) w ("afterMs" int, priority text, wanted int, more boolean) loop
      at_ms := at_ms + wish."afterMs";
      perform set_config('test.ms', at_ms::text, false);
      select l.granted, l.wait_ms into granted, wait_ms
        from sync.lend_requests(rate, wish.priority, wish.wanted, 0, wish.more) l;
      return next;
    end loop;
  end $$`

describe('the rate', () => {
  it('is never exceeded by what is lent, whoever asks when', async () => {
    const wishes = fc.record({
      afterMs: fc.integer({ min: 0, max: 400 }),
      priority: fc.constantFrom('write' as const, 'read' as const, 'detail' as const),
      wanted: fc.integer({ min: 1, max: 5 }),
      more: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(wishes, { maxLength: 200 }), async (all) => {
        await simulated.create(100)
        const { rows: loans } = await simulated.client.query<Loan>(
          'select granted, wait_ms as "waitMs", at_ms as "atMs" from test_lend_all(100, $1)',
          [JSON.stringify(all)],
        )
        expect(loans).toHaveLength(all.length)
        const instants: number[] = []
        for (const [place, { granted, waitMs, atMs }] of loans.entries()) {
          expect(granted === all[place]?.wanted || waitMs > 0).toBe(true)
          for (let i = 0; i < granted; i++) instants.push(atMs + waitMs + 10 * i)
        }
        instants.sort((a, b) => a - b)
        for (const [i, start] of instants.entries()) {
          const passed = instants.slice(i).filter((at) => at < start + 1_000).length
          expect(passed).toBeLessThanOrEqual(1 + (1_000 + rule.aheadMs + rule.lateMs) / 10)
        }
      }),
      { numRuns: runsOf(100) },
    )
  })

  for (const [ratePerSecond, lanes, latencyMs] of [
    [10, 20, 0],
    [100, 2, 50],
    [300, 2, 20],
  ] as const)
    it(`of ${ratePerSecond} is kept within 5 % over any ten seconds by eight hungry workers, each with its share (${lanes} at once, ${latencyMs} ms)`, async () => {
      const budget = distant(await simulated.create(ratePerSecond))
      const left: Left[] = []
      const stops = Array.from({ length: 8 }, (_, worker) =>
        draw(createRateLimiter(ratePerSecond, budget), worker, left, 'read', [lanes, latencyMs]),
      )
      const begin = performance.now()
      await advance(22_000)
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
    const budget = distant(await simulated.create(100))
    const left: Left[] = []
    for (let worker = 0; worker < 7; worker++) draw(createRateLimiter(100, budget), worker, left, 'read', [20, 0])
    const pushing = createRateLimiter(100, budget)
    const begin = performance.now()
    for (let second = 0; second < 22; second++) {
      for (let change = 0; change < 30; change++)
        void pushing.acquire('write').then(() => left.push({ at: performance.now(), worker: 7, priority: 'write' }))
      await advance(1_000)
    }
    const { most, fewest } = anyTenSeconds(left, begin + 1_000, begin + 21_900)
    expect(most).toBeLessThanOrEqual(1_050)
    expect(fewest).toBeGreaterThanOrEqual(950)
    expect(left.filter(({ priority }) => priority === 'write').length).toBe(22 * 30)
  })

  it('of a killed worker is that of the others at once', async () => {
    const budget = distant(await simulated.create(100))
    let killed = false
    const left: Left[] = []
    const dying = createRateLimiter(100, {
      lend: (wish) => (killed ? new Promise(() => undefined) : budget.lend(wish)),
    })
    draw(dying, 0, [], 'read', [20, 0])
    draw(createRateLimiter(100, budget), 1, left, 'read', [20, 0])
    await advance(3_000)
    killed = true
    const before = left.length
    await advance(2_000)
    expect(left.length - before).toBeGreaterThan(170)
  })
})

describe('what is not needed', () => {
  it('goes back when those who waited are called off', async () => {
    const budget = await simulated.create(10)
    const off = new AbortController()
    const waiting = Promise.allSettled(
      Array.from({ length: 3 }, () => createRateLimiter(10, budget).acquire('read', off.signal)),
    )
    const first = createRateLimiter(10, budget)
    await advance(1)
    off.abort()
    await waiting
    await advance(300)
    const start = performance.now()
    const given = first.acquire('read').then(() => performance.now() - start)
    await advance(1_000)
    expect(await given).toBeLessThan(50)
  })

  it('goes back when nobody comes for what a worker borrowed for a while', async () => {
    const lent: number[] = []
    const own = await simulated.create(1_000)
    const limiter = createRateLimiter(1_000, {
      lend: async (wish) => {
        const loan = await own.lend(wish)
        lent.push(loan.granted - wish.unused)
        return loan
      },
    })
    const left: Left[] = []
    const stop = draw(limiter, 0, left, 'read', [2, 50])
    await advance(2_000)
    stop()
    await advance(1_000)
    expect(left.length).toBeGreaterThan(70)
    expect(lent.length).toBeLessThan(left.length / 3) // few loans for many requests
    expect(lent.reduce((sum, requests) => sum + requests, 0)).toBe(left.length)
  })
})

describe('over all workers', () => {
  it('changes go before reads, and reads before details, which keep one in ten', async () => {
    const budget = distant(await simulated.create(100))
    const left: Left[] = []
    const workers = Array.from({ length: 8 }, () => createRateLimiter(100, budget))
    for (const [worker, limiter] of workers.entries())
      draw(limiter, worker, left, worker < 4 ? 'read' : 'detail', [20, 0])
    await advance(10_000)
    const details = share(left.slice(100), ({ priority }) => priority === 'detail')
    expect(details).toBeGreaterThan(0.05)
    expect(details).toBeLessThan(0.15)

    const begin = performance.now()
    const stop = draw(createRateLimiter(100, budget), 8, left, 'write', [20, 0])
    await advance(5_000)
    stop()
    const after = left.filter(({ at }) => at >= begin)
    const waited = (after.find(({ priority }) => priority === 'write')?.at ?? Number.POSITIVE_INFINITY) - begin
    expect(waited).toBeLessThan(500)
    const later = after.filter(({ at }) => at >= begin + 1_000)
    expect(later.every(({ priority }) => priority === 'write')).toBe(true)
  })
})
