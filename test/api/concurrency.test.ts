// How many requests may be in flight, and who goes first.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  afterOutcome,
  type Concurrency,
  createSemaphore,
  initialConcurrency,
  type Outcome,
} from '../../src/api/admission/concurrency.ts'
import { createPriorityQueue, type Priority } from '../../src/api/admission/priority-queue.ts'

const outcome = (at: number, result: Outcome['result'] = 'success', ms = 10, endpoint = 'GET /v3/users'): Outcome => ({
  endpoint,
  startedAtMs: at,
  endedAtMs: at + ms,
  result,
})
const stateAfter = (state: Concurrency, outcomes: readonly Outcome[]): Concurrency =>
  outcomes.reduce(afterOutcome, state)
const successes = (count: number, from: number, ms = 10): Outcome[] =>
  Array.from({ length: count }, (_, i) => outcome(from + i * ms, 'success', ms))

describe('the limit', () => {
  it('starts at the most and never passes it', () => {
    expect(stateAfter(initialConcurrency(8), successes(100, 0)).limit).toBe(8)
  })

  it('halves once per round, however many requests of that round fail', () => {
    const round = Array.from({ length: 8 }, (_, i) => outcome(i, 'overload', 100))
    expect(stateAfter(initialConcurrency(8), round).limit).toBe(4)
    expect(stateAfter(initialConcurrency(8), [...round, outcome(200, 'overload')]).limit).toBe(2)
  })

  it('stays at one at least, and grows by one per window of successes', () => {
    const low = stateAfter(
      initialConcurrency(8),
      [0, 200, 400, 600].map((at) => outcome(at, 'overload')),
    )
    expect(low.limit).toBe(1)
    expect(stateAfter(low, successes(1, 1000)).limit).toBe(2)
    expect(stateAfter(low, successes(2, 1000)).limit).toBe(2)
    expect(stateAfter(low, successes(3, 1000)).limit).toBe(3)
    expect(stateAfter(low, successes(1 + 2 + 3 + 4 + 5 + 6 + 7, 1000)).limit).toBe(8)
  })

  it('halves when an endpoint becomes much slower than it was, and recovers when that stays so', () => {
    const known = stateAfter(initialConcurrency(8), successes(10, 0))
    const slow = stateAfter(known, successes(3, 1000, 2_000))
    expect(slow.limit).toBeLessThan(8)
    expect(stateAfter(slow, successes(1_000, 10_000, 2_000)).limit).toBe(8)
  })

  it('does not take a slow endpoint for a slow API, nor a slow answer now and then, nor small wavering', () => {
    const list = Array.from({ length: 20 }, (_, i) => outcome(i * 1000, 'success', 900, 'GET /v3/rentals'))
    const waver = successes(20, 50_000, 300)
    const outliers = [outcome(60_000, 'success', 9_000), outcome(70_000), outcome(71_000, 'success', 9_000)]
    expect(stateAfter(initialConcurrency(8), [...successes(10, 0), ...list, ...waver, ...outliers]).limit).toBe(8)
  })

  it('is not moved by refusals', () => {
    expect(stateAfter(initialConcurrency(8), [outcome(0, 'other'), outcome(1, 'other')])).toEqual(initialConcurrency(8))
  })

  it('stays between one and the most', () => {
    const anyOutcome = fc.record({
      endpoint: fc.constantFrom('a', 'b'),
      startedAtMs: fc.nat(10_000),
      endedAtMs: fc.nat(20_000),
      result: fc.constantFrom('success', 'overload', 'other'),
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 256 }), fc.array(anyOutcome, { maxLength: 200 }), (max, outcomes) => {
        const { limit } = stateAfter(initialConcurrency(max), outcomes)
        expect(limit).toBeGreaterThanOrEqual(1)
        expect(limit).toBeLessThanOrEqual(max)
      }),
    )
  })
})

const settled = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await Promise.resolve()
}

describe('the waiting line', () => {
  const line = (arrivals: readonly Priority[]) => {
    const queue = createPriorityQueue()
    const order: string[] = []
    const all = arrivals.map((priority, i) => queue.join(priority).then(() => order.push(`${priority} ${i}`)))
    return { queue, order, all }
  }

  it('admits writes before reads before details, and each in order of arrival', async () => {
    const { queue, order, all } = line(['detail', 'read', 'write', 'read', 'write'])
    queue.admit(3)
    await settled()
    expect(order).toEqual(['write 2', 'write 4', 'read 1'])
    expect([queue.size(), queue.size('read'), queue.size('write'), queue.size('detail')]).toEqual([2, 1, 0, 1])
    queue.admit(5)
    await Promise.all(all)
    expect(order.slice(3)).toEqual(['read 3', 'detail 0'])
  })

  it('admits a detail after nine reads that went before it', async () => {
    const { queue, order, all } = line([...Array<Priority>(30).fill('read'), ...Array<Priority>(5).fill('detail')])
    for (let i = 0; i < 35; i++) queue.admit(1)
    await Promise.all(all)
    expect(order.flatMap((each, i) => (each.startsWith('detail') ? [i] : []))).toEqual([9, 19, 29, 33, 34])
  })

  it('forgets who was called off, with the reason of the signal', async () => {
    const queue = createPriorityQueue()
    const stop = new AbortController()
    const leaving = queue.join('write', stop.signal)
    const staying = queue.join('read')
    stop.abort(new Error('stop'))
    await expect(leaving).rejects.toThrow('stop')
    await expect(queue.join('read', stop.signal)).rejects.toThrow('stop')
    expect(queue.size()).toBe(1)
    queue.admit(1)
    await staying
  })

  it('holds no listener on the signal of who was admitted', async () => {
    const queue = createPriorityQueue()
    const stop = new AbortController()
    const joined = queue.join('read', stop.signal)
    queue.admit(1)
    await joined
    stop.abort()
    expect(queue.size()).toBe(0)
  })
})

describe('places', () => {
  it('are never more than the limit, which may move meanwhile', async () => {
    let limit = 2
    const semaphore = createSemaphore(() => limit)
    let inside = 0
    const leaves: (() => void)[] = []
    const enter = async (): Promise<void> => {
      leaves.push(await semaphore.enter('read'))
      inside++
    }
    const leave = (): void => {
      inside--
      leaves.shift()?.()
    }
    const all = Array.from({ length: 6 }, enter)
    await settled()
    expect(inside).toBe(2)
    limit = 1
    leave()
    await settled()
    expect(inside).toBe(1)
    limit = 3
    leave()
    await settled()
    expect(inside).toBe(3)
    for (let i = 0; i < 6; i++) {
      leave()
      await settled()
    }
    await Promise.all(all)
  })

  it('given back twice count once', async () => {
    const semaphore = createSemaphore(() => 1)
    const leave = await semaphore.enter('read')
    leave()
    leave()
    await semaphore.enter('read')
    const stop = new AbortController()
    const waiting = semaphore.enter('read', stop.signal)
    stop.abort(new Error('full'))
    await expect(waiting).rejects.toThrow('full')
  })

  it('go to writes first', async () => {
    const semaphore = createSemaphore(() => 1)
    const leave = await semaphore.enter('read')
    const order: string[] = []
    const all = (['read', 'write'] as const).map(async (priority) => {
      const done = await semaphore.enter(priority)
      order.push(priority)
      done()
    })
    leave()
    await Promise.all(all)
    expect(order).toEqual(['write', 'read'])
  })
})
