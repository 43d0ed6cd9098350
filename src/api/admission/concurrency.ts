// How many requests may be in flight: grows by one per window of successes, halves when the API says "too much"
// or slows down (AIMD). The decision is a pure function of the outcomes; the semaphore only counts.

import { createPriorityQueue, type Priority } from './priority-queue.ts'

/** Latency of one endpoint: the best seen, in milliseconds, and how many answers in a row were much slower. */
type Latency = { readonly floorMs: number; readonly slowInRow: number }

export type Concurrency = {
  readonly max: number
  readonly limit: number
  /** Successes since the limit last changed. */
  readonly successes: number
  /** Requests that started before this instant belong to the load that was already answered by halving. */
  readonly halvedAtMs: number
  readonly latencies: Readonly<Record<string, Latency>>
}

/** One finished request. Instants in milliseconds of one monotonic clock. `overload`: 429, 503 or a timeout. */
export type Outcome = {
  readonly endpoint: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly result: 'success' | 'overload' | 'other'
}

export const initialConcurrency = (max: number): Concurrency => ({
  max,
  limit: max,
  successes: 0,
  halvedAtMs: Number.NEGATIVE_INFINITY,
  latencies: {},
})

/** Above four times the floor, and at least this much above it, an answer is slow: tiny ones vary more. */
const slowFactor = 4
const slowMarginMs = 500
/** One slow answer says nothing, three in a row do. */
const slowToHalve = 3
/** The floor rises by 1 % per success, so that an API that got slower for good is not throttled for good. */
const floorRise = 1.01

/** The state after one finished request. Pure. */
export function afterOutcome(state: Concurrency, outcome: Outcome): Concurrency {
  if (outcome.result === 'other') return state
  if (outcome.result === 'overload') return halved(state, outcome)
  const latency = nextLatency(state.latencies[outcome.endpoint], outcome.endedAtMs - outcome.startedAtMs)
  const known = { ...state, latencies: { ...state.latencies, [outcome.endpoint]: latency } }
  if (latency.slowInRow > 0 && latency.slowInRow % slowToHalve === 0) return halved(known, outcome)
  if (state.limit >= state.max) return known
  return state.successes + 1 >= state.limit
    ? { ...known, limit: state.limit + 1, successes: 0 }
    : { ...known, successes: state.successes + 1 }
}

function nextLatency(before: Latency | undefined, ms: number): Latency {
  if (before === undefined) return { floorMs: ms, slowInRow: 0 }
  const isSlow = ms > before.floorMs * slowFactor && ms > before.floorMs + slowMarginMs
  return { floorMs: Math.min(ms, before.floorMs * floorRise), slowInRow: isSlow ? before.slowInRow + 1 : 0 }
}

/** One halving per round: the other requests of the same round carry no new information. */
function halved(state: Concurrency, outcome: Outcome): Concurrency {
  if (outcome.startedAtMs < state.halvedAtMs) return state
  return { ...state, limit: Math.max(1, Math.floor(state.limit / 2)), successes: 0, halvedAtMs: outcome.endedAtMs }
}

type Semaphore = {
  /** Resolves with the function that gives the place back; most urgent first. Rejects with the signal's reason when aborted. */
  enter(priority: Priority, signal?: AbortSignal): Promise<() => void>
}

/** Counts places; reads `limit` whenever a caller comes or leaves, because it changes. */
export function createSemaphore(limit: () => number): Semaphore {
  const queue = createPriorityQueue()
  let taken = 0

  const admitNext = (): void => {
    const free = Math.min(limit() - taken, queue.size())
    if (free <= 0) return
    taken += free
    queue.admit(free)
  }

  const enter = async (priority: Priority, signal?: AbortSignal): Promise<() => void> => {
    signal?.throwIfAborted()
    if (queue.size() === 0 && taken < limit()) taken++
    else {
      const admitted = queue.join(priority, signal)
      admitNext()
      await admitted
    }
    let left = false
    return () => {
      if (left) return
      left = true
      taken--
      admitNext()
    }
  }

  return { enter }
}
