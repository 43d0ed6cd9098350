// The rate limit, counted over all workers: fixed windows of about a tenth of a second in Postgres, taken in batches,
// so that one round trip serves everybody who waits. While the store is out, each process counts for itself.

import type { Pool } from 'pg'
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
  RLWrapperTimeouts,
} from 'rate-limiter-flexible'
import { sleep } from '../../clock.ts'
import type { Logger } from '../../log.ts'
import { createPriorityQueue, detailEvery, type Priority } from './priority-queue.ts'

export interface Limiter {
  /** Resolves when one request may leave, most urgent first; rejects with the signal's reason when aborted. */
  acquire(priority: Priority, signal?: AbortSignal): Promise<void>
}

/** A limiter that lets everything pass at once. */
export const unlimited: Limiter = {
  acquire: async (_priority, signal) => signal?.throwIfAborted(),
}

type RateLimitOptions = {
  /** Requests per second over all workers; 0: no limit. */
  readonly ratePerSecond: number
  /** Where the count is kept, in `sync.rate_limit`; null: in this process alone. */
  readonly store: Pool | null
  readonly log?: Logger
}

/** What passes in one window. */
type Window = { readonly points: number; readonly ms: number }

/**
 * The window for a rate: 1/s → 1 per 1000 ms, 10/s → 1 per 100 ms, 25/s → 3 per 120 ms, 1000/s → 100 per 100 ms.
 * Rounded so that the rate is never exceeded.
 */
export function windowFor(ratePerSecond: number): Window {
  const points = Math.ceil(ratePerSecond / 10)
  return { points, ms: Math.ceil((1000 * points) / ratePerSecond) }
}

const requestsKey = 'requests'
/** Set while such a one waits somewhere: what is less urgent at all workers leaves the next window to it. */
const flags = { write: 'writes-waiting', read: 'reads-waiting' } as const
/** Who waits under a flag: between workers what was asked for shares the windows with reads, and each begins with its own. */
const under: Readonly<Record<keyof typeof flags, readonly Priority[]>> = { write: ['write'], read: ['asked', 'read'] }
type Urgent = keyof typeof flags
const urgent = Object.keys(flags) as readonly Urgent[]
const flagSeconds = 1
/** A window that ends later than this after its length was opened by a process whose clock was ahead, and would last as long. */
const clockSlackMs = 2_000
/** A store slower than this is as good as out. */
const storeTimeoutMs = 2_000

/** A limiter for all workers that share the store. Opens no connection of its own, and holds none while it waits. */
export function createRateLimiter(options: RateLimitOptions): Limiter {
  if (options.ratePerSecond <= 0) return unlimited
  const window = windowFor(options.ratePerSecond)
  const queue = createPriorityQueue()
  const counter = createCounter(window, options)
  let pumping = false
  /** Windows in a row that our details left to reads of other workers. */
  let left = 0

  const waits = (flag: Urgent): boolean => under[flag].some((priority) => queue.size(priority) > 0)

  /** Tells the other workers who waits here. */
  const flagWaiting = async (flagged: Set<Urgent>): Promise<void> => {
    for (const priority of urgent)
      if (waits(priority)) {
        await counter.flag(priority)
        flagged.add(priority)
      } else if (flagged.delete(priority)) await counter.unflag(priority)
  }

  /** Does something more urgent wait at another worker? Details that stood back often enough do not any more. */
  const isLessUrgent = async (): Promise<boolean> => {
    if (queue.size() === 0 || queue.size('write') > 0) return false
    if (await counter.isFlagged('write')) return true
    if (waits('read') || left >= detailEvery - 1) return false
    const others = await counter.isFlagged('read')
    if (others) left++
    return others
  }

  /** Admits waiters until none is left. One pump per process, however many wait. */
  const pump = async (): Promise<void> => {
    pumping = true
    const flagged = new Set<Urgent>()
    try {
      while (queue.size() > 0) {
        const { granted, waitMs } = await counter.take(queue.size())
        if (granted > 0) left = 0
        queue.admit(granted)
        await flagWaiting(flagged)
        if (queue.size() === 0 || waitMs === 0) continue
        await sleep(waitMs)
        // Bounded by the flag's life, and ended by one of our own that is as urgent.
        while (await isLessUrgent()) await sleep(window.ms)
      }
    } finally {
      pumping = false // in the same turn as the last look at the queue: nobody can join unseen
    }
  }

  return {
    async acquire(priority, signal) {
      const admitted = queue.join(priority, signal)
      if (!pumping) void pump()
      await admitted
    },
  }
}

type Counter = {
  /** Takes up to `asked` points of the present window; `waitMs` is 0 when all were granted. Never rejects. */
  take(asked: number): Promise<{ granted: number; waitMs: number }>
  flag(priority: Urgent): Promise<void>
  unflag(priority: Urgent): Promise<void>
  isFlagged(priority: Urgent): Promise<boolean>
}

function createCounter(window: Window, options: RateLimitOptions): Counter {
  const alone = new RateLimiterMemory({ points: window.points, duration: window.ms / 1000 })
  const shared = options.store === null ? alone : createStore(window, options.store)
  let out = false
  let knockAtMs = 0

  /** While the store is out nobody waits for it: now and then one look finds out whether it is back. */
  const knock = async (): Promise<void> => {
    if (performance.now() < knockAtMs) return
    knockAtMs = Number.POSITIVE_INFINITY
    try {
      await shared.get(requestsKey)
      out = false
      options.log?.info({ event: 'limiter_shared' }, 'the rate limit is counted over all workers again')
    } catch {
      knockAtMs = performance.now() + storeTimeoutMs // still out: said when it went
    }
  }

  /** Runs on the shared store; while that is out, on our own count. */
  const insured = async <T>(run: (limiter: RateLimiterAbstract) => Promise<T>): Promise<T> => {
    if (out) {
      void knock()
      return run(alone)
    }
    try {
      return await run(shared)
    } catch (error) {
      if (!out)
        options.log?.warn(
          { event: 'limiter_alone', error },
          'the store of the rate limit does not answer; until it does, each process keeps the limit for itself',
        )
      out = true
      knockAtMs = 0
      return run(alone)
    }
  }

  const take = (asked: number) =>
    insured(async (limiter) => {
      const result = await consume(limiter, asked)
      // The counter also counts what it refuses; what stood below the limit before our increment is ours.
      const before = result.consumedPoints - asked
      const granted = Math.min(asked, Math.max(0, window.points - before))
      if (granted < asked) await endOfOtherTimes(limiter, requestsKey, window.ms, result)
      // A worker whose clock runs ahead may have set the window's end: never wait longer than one window.
      const waitMs = granted === asked ? 0 : Math.min(Math.max(result.msBeforeNext, 1), window.ms)
      return { granted, waitMs }
    })

  return {
    take,
    flag: async (priority) => {
      await insured((limiter) => limiter.set(flags[priority], 1, flagSeconds))
    },
    unflag: async (priority) => {
      await insured((limiter) => limiter.delete(flags[priority]))
    },
    isFlagged: (priority) =>
      insured(async (limiter) => {
        const key = flags[priority]
        const flag = await limiter.get(key)
        return flag !== null && !(await endOfOtherTimes(limiter, key, flagSeconds * 1000, flag))
      }),
  }
}

/** Ends a count that would outlive `ms` by far: the clock by which it was opened was set back since. True when it did. */
async function endOfOtherTimes(
  limiter: RateLimiterAbstract,
  key: string,
  ms: number,
  { msBeforeNext }: RateLimiterRes,
): Promise<boolean> {
  const isOld = msBeforeNext > ms + clockSlackMs
  if (isOld) await limiter.delete(key)
  return isOld
}

/** The count after adding `points`; the library rejects with the same record when the limit is passed. */
async function consume(limiter: RateLimiterAbstract, points: number): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(requestsKey, points)
  } catch (rejection) {
    if (rejection instanceof RateLimiterRes) return rejection
    throw rejection
  }
}

function createStore(window: Window, store: Pool): RateLimiterAbstract {
  const limiter = new RateLimiterPostgres({
    storeClient: store,
    storeType: 'pool',
    schemaName: 'sync',
    tableName: 'rate_limit',
    tableCreated: true,
    // Three rows in all: nothing to clear.
    clearExpiredByTimeout: false,
    keyPrefix: 'api',
    points: window.points,
    duration: window.ms / 1000,
  })
  return new RLWrapperTimeouts({ limiter, timeoutMs: storeTimeoutMs })
}
