// The rate limit over all workers: borrows shares of their budget for whoever waits here, most urgent first, and lets each
// request leave at its own instant. What is not needed after all goes back.

import { sleep } from '../../clock.ts'
import { createPace } from './pace.ts'
import { createPriorityQueue, type Priority } from './priority-queue.ts'
import type { RequestBudget, Wish } from './request-budget.ts'

export interface Limiter {
  /** Resolves when one request may leave, most urgent first; rejects with the signal's reason when aborted. */
  acquire(priority: Priority, signal?: AbortSignal): Promise<void>
}

/** A limiter that lets everything pass at once. */
export const unlimited: Limiter = {
  acquire: async (_priority, signal) => signal?.throwIfAborted(),
}

/** What passes in this time is the most that is lent at once: the turns of the workers are short, and loans few. */
const shareMs = 50
/** The next share is asked for this long before the last one is used up. */
const leadMs = 100
/** Requests that were not made this long after their instant go back, and all of them when nobody came for so long. */
const keepMs = 250
/** Who needs few at a time borrows what it used in such a time and a quarter more, so that not each request is a loan. */
const periodMs = 200

/** Requests in the largest loan: 1 at 10/s, 5 at 100/s, 50 at 1000/s. */
export const largestLoan = (ratePerSecond: number): number => Math.ceil((ratePerSecond * shareMs) / 1000)

/** One request that was lent: from when it may leave, and for whom it was lent. */
type Permit = { readonly at: number; readonly priority: Wish['priority'] }
type Need = { readonly priority: Wish['priority']; readonly count: number }

type RateLimiter = Limiter & {
  /** Gives back what is not used. */
  close(): Promise<void>
}

/** A limiter for all that borrow from `budget`, which must not reject. A rate of 0 is no limit. */
export function createRateLimiter(ratePerSecond: number, budget: RequestBudget): RateLimiter {
  if (ratePerSecond <= 0) return { ...unlimited, close: async () => undefined }
  const largest = largestLoan(ratePerSecond)
  const queue = createPriorityQueue()
  const pace = createPace(periodMs)
  /** Earliest first. */
  let held: readonly Permit[] = []
  let unused = 0
  /** Somebody more urgent goes first until then. */
  let standBack: { readonly priority: Wish['priority']; readonly until: number } | null = null
  let pumping = false
  let waker: AbortController | null = null
  let idle: NodeJS.Timeout | undefined
  let closed = false

  const admitDue = (now: number): void => {
    const fresh = held.filter(({ at }) => at >= now - keepMs)
    unused += held.length - fresh.length
    const due = fresh.filter(({ at }) => at <= now).length
    const count = Math.min(due, queue.size())
    held = fresh.slice(count)
    pace.count(count)
    queue.admit(count)
  }

  /** For whom to borrow now: the most urgent for whom nothing is lent; null while what is held suffices. */
  const needAt = (now: number): Need | null => {
    const isSoon = ({ at }: Permit): boolean => at <= now + leadMs
    const writes = queue.size('write')
    const soon = held.filter(isSoon)
    const later = held.slice(soon.length)
    // Changes are lent to before what is held already; all others only after it.
    if (writes > soon.length && later.every(({ priority }) => priority !== 'write'))
      return { priority: 'write', count: writes - soon.length }
    if (later.length > 0) return null
    const reads = queue.size('asked') + queue.size('read')
    const forReads = held.length - writes
    if (reads > forReads) return { priority: 'read', count: reads - forReads }
    const details = queue.size() - held.length
    return details > 0 ? { priority: 'detail', count: details } : null
  }

  const borrow = async ({ priority, count }: Need): Promise<void> => {
    const wanted = Math.min(largest, priority === 'write' ? count : Math.max(count, Math.ceil(pace.lately() * 1.25)))
    const wish = { priority, wanted, unused, more: count > wanted }
    unused = 0
    const { granted, waitMs } = await budget.lend(wish)
    const start = performance.now() + waitMs
    const lent = Array.from({ length: granted }, (_, i) => ({ at: start + (1000 * i) / ratePerSecond, priority }))
    held = [...held, ...lent].sort((a, b) => a.at - b.at)
    standBack = granted > 0 ? null : { priority, until: start }
  }

  /** Sleeps until something changes by itself, or somebody joins. */
  const rest = async (now: number): Promise<void> => {
    const last = [held.at(-1), held.findLast(({ priority }) => priority === 'write')]
    const instants = [held[0]?.at, standBack?.until, ...last.map((permit) => permit && permit.at - leadMs)]
    const next = Math.min(...instants.filter((instant) => instant !== undefined && instant > now).map(Number))
    waker = new AbortController()
    await sleep(Math.ceil(next - now), waker.signal).catch(() => undefined) // woken
    waker = null
  }

  /** Admits waiters until none is left. One pump per process, however many wait. */
  const pump = async (): Promise<void> => {
    pumping = true
    clearTimeout(idle)
    try {
      for (;;) {
        const now = performance.now()
        admitDue(now)
        if (queue.size() === 0) break
        const need = needAt(now)
        const mayAsk = need !== null && !(need.priority === standBack?.priority && standBack.until > now)
        if (mayAsk) await borrow(need)
        else await rest(now)
      }
    } finally {
      pumping = false // in the same turn as the last look at the queue: nobody can join unseen
    }
    if (!closed) idle = setTimeout(() => void giveBack(), keepMs).unref()
  }

  const giveBack = async (): Promise<void> => {
    const back = unused + held.length
    unused = 0
    held = []
    if (back > 0) await budget.lend({ priority: 'detail', wanted: 0, unused: back, more: false })
  }

  return {
    async acquire(priority, signal) {
      const admitted = queue.join(priority, signal)
      if (pumping) waker?.abort()
      else void pump()
      await admitted
    },
    close: async () => {
      closed = true
      clearTimeout(idle)
      await giveBack()
    },
  }
}
