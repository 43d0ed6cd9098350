// The rate limit over all workers: borrows shares of their budget for its waiters, most urgent first, and lets each
// request leave at its own instant. Unused requests are returned. When a counted quota is used up, changes are
// refused, because the outbox plans their next attempt; reads wait.

import { sleep } from '../../clock.ts'
import { BoatMirrorError } from '../../errors.ts'
import { createPriorityQueue, type Priority } from './priority-queue.ts'
import { quotaRule } from './quota.ts'
import type { RequestBudget, Wish } from './request-budget.ts'

/** One request that may leave. */
export type Permit = {
  /** False: it waited for so long that a quota would count it in another window; ask for a new one. */
  stands(): boolean
  /** Nothing left by it. */
  giveBack(): void
}

export interface Limiter {
  /**
   * Resolves when one request may leave, most urgent first; rejects with the signal's reason when aborted, and with
   * QuotaUsed where it would have to wait for the quota longer than it may.
   */
  acquire(priority: Priority, signal?: AbortSignal): Promise<Permit>
}

/** A permit that is not counted. */
export const freePermit: Permit = { stands: () => true, giveBack: () => undefined }

/** A limiter that lets everything pass at once. */
export const unlimited: Limiter = {
  acquire: async (_priority, signal) => {
    signal?.throwIfAborted()
    return freePermit
  },
}

/** The quota of the API is used; it may have requests left again in `waitMs`. */
export class QuotaUsed extends BoatMirrorError {
  readonly waitMs: number

  constructor(freeAt: Date, waitMs: number) {
    super('API_QUOTA_USED', `API_QUOTA is used up until about ${freeAt.toISOString().slice(0, 16)}Z.`, {
      remedy: 'Wait, or raise API_QUOTA if the API allows more. `boat-mirror status` shows what is used.',
    })
    this.waitMs = waitMs
  }
}

/** What passes in this time is the most that is lent at once: the turns of the workers are short, and loans few. */
const shareMs = 50
/** The next share is requested this long before the current one is used up. */
const leadMs = 100
/** Requests not made this long after their instant are returned; all of them are when no caller came for this long. */
const keepMs = 250
/**
 * A process that needs few requests at a time borrows what it used in this period and a quarter more, so that not
 * every request is a loan.
 */
const periodMs = 200

/** Requests in the largest loan: 1 at 10/s, 5 at 100/s, 50 at 1000/s. */
const largestLoan = (ratePerSecond: number): number => Math.ceil((ratePerSecond * shareMs) / 1000)

/** Of a quota without a rate so many are lent at once, at most. */
const largestUnpaced = 200
/** A waiter for the quota asks again after this time at the latest: others may have returned some. */
const askAgainMs = 30_000

/** The lanes that wait for the quota together with the one that asked. */
const waitingWith: Readonly<Record<Wish['priority'], readonly Priority[]>> = {
  write: ['write'],
  read: ['asked', 'read', 'detail'],
  detail: ['detail'],
}

/** One request that was lent: from when it may leave, for whom it was lent, and when: here, and by the lender's clock. */
type Lent = {
  readonly at: number
  readonly priority: Wish['priority']
  readonly lentAt: number
  readonly since: Date | undefined
}
type Need = { readonly priority: Wish['priority']; readonly count: number }

type LimiterOptions = {
  readonly ratePerSecond: number
  /** The budget counts a quota, too. */
  readonly hasQuota?: boolean
  /** How long a read waits for the quota, in milliseconds; unset: as long as it takes. */
  readonly patienceMs?: number | null
}

type RateLimiter = Limiter & {
  /** Gives back what is not used. */
  close(): Promise<void>
}

/** Creates a limiter for all callers that borrow from `budget`, which must not reject. A rate of 0 is no limit. */
export function createRateLimiter(limits: number | LimiterOptions, budget: RequestBudget): RateLimiter {
  const {
    ratePerSecond,
    hasQuota = false,
    patienceMs = null,
  } = typeof limits === 'number' ? { ratePerSecond: limits } : limits
  const isPaced = ratePerSecond > 0
  if (!isPaced && !hasQuota) return { ...unlimited, close: async () => undefined }
  const largest = isPaced ? largestLoan(ratePerSecond) : largestUnpaced
  const queue = createPriorityQueue()
  const pace = createPace(periodMs)
  /** Earliest first. */
  let held: readonly Lent[] = []
  let unused: readonly Lent[] = []
  /** The loan of those that are admitted now. */
  let admitted: Lent | undefined
  /** Until then a more urgent caller goes first, or the quota is used up. */
  let standBack: { readonly priority: Wish['priority']; readonly until: number } | null = null
  let pumping = false
  let waker: AbortController | null = null
  let idle: NodeJS.Timeout | undefined
  let closed = false

  const admitDue = (now: number): void => {
    const fresh = held.filter(({ at }) => at >= now - keepMs)
    unused = [...unused, ...held.filter(({ at }) => at < now - keepMs)]
    const due = fresh.filter(({ at }) => at <= now)
    // Part of a quota is reserved for changes: no read may use a request taken from it.
    const forChanges = hasQuota ? due.filter(({ priority }) => priority === 'write').length : 0
    const spare = Math.max(0, forChanges - queue.size('write'))
    const count = Math.min(due.length - spare, queue.size())
    const notNeeded = due.filter(({ priority }) => priority === 'write').slice(0, spare)
    const leaving = due.filter((lent) => !notNeeded.includes(lent)).slice(0, count)
    unused = [...unused, ...notNeeded]
    held = fresh.filter((lent) => !leaving.includes(lent) && !notNeeded.includes(lent))
    admitted = leaving[0]
    pace.count(count)
    queue.admit(count)
  }

  /** For whom to borrow now: the most urgent for whom nothing is lent; null while what is held suffices. */
  const needAt = (now: number): Need | null => {
    const isSoon = ({ at }: Lent): boolean => at <= now + leadMs
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

  /** What is given back with the next loan: what was lent too long ago counts as spent. */
  const takeUnused = (): Pick<Wish, 'unused' | 'unusedSince'> => {
    const back = unused.filter(({ lentAt }) => performance.now() - lentAt < quotaRule.heldMs)
    unused = []
    const since = back.flatMap(({ since }) => since?.getTime() ?? [])
    return { unused: back.length, ...(since.length > 0 && { unusedSince: new Date(Math.min(...since)) }) }
  }

  const borrow = async ({ priority, count }: Need): Promise<void> => {
    const wanted = Math.min(largest, priority === 'write' ? count : Math.max(count, Math.ceil(pace.lately() * 1.25)))
    const wish = { priority, wanted, ...takeUnused(), more: count > wanted }
    const lentAt = performance.now()
    const { granted, waitMs, lentAt: since, freeAt } = await budget.lend(wish)
    const start = performance.now() + waitMs
    const spacingMs = isPaced ? 1000 / ratePerSecond : 0
    const lent = Array.from({ length: granted }, (_, i) => ({ at: start + i * spacingMs, priority, lentAt, since }))
    held = [...held, ...lent].sort((a, b) => a.at - b.at)
    const refused = freeAt !== undefined && refuse(priority, new QuotaUsed(freeAt, waitMs))
    const until = freeAt === undefined ? start : Math.min(start, lentAt + askAgainMs)
    standBack = granted > 0 || refused ? null : { priority, until }
  }

  /** Refuses the waiters that do not wait for the quota. Returns whether there were any. */
  const refuse = (priority: Wish['priority'], error: QuotaUsed): boolean => {
    const waits = patienceMs === null || error.waitMs <= patienceMs
    if (priority !== 'write' && waits) return false
    queue.refuse(waitingWith[priority], error)
    return true
  }

  /** Sleeps until a time passes that changes something, or a waiter joins. */
  const rest = async (now: number): Promise<void> => {
    const last = [held.at(-1), held.findLast(({ priority }) => priority === 'write')]
    const instants = [held[0]?.at, standBack?.until, ...last.map((lent) => lent && lent.at - leadMs)]
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
      pumping = false // in the same turn as the last check of the queue: no waiter can join unseen
    }
    giveBackLater()
  }

  const giveBackLater = (): void => {
    clearTimeout(idle)
    if (!closed) idle = setTimeout(() => void giveBack(), keepMs).unref()
  }

  const giveBack = async (): Promise<void> => {
    unused = [...unused, ...held]
    held = []
    const back = takeUnused()
    if (back.unused > 0) await budget.lend({ priority: 'detail', wanted: 0, ...back, more: false })
  }

  const permitOf = (lent: Lent | undefined): Permit => {
    if (lent === undefined || !hasQuota) return freePermit
    return {
      stands: () => performance.now() - lent.lentAt < quotaRule.heldMs,
      giveBack: () => {
        unused = [...unused, lent]
        if (!pumping) giveBackLater()
      },
    }
  }

  return {
    async acquire(priority, signal) {
      const turn = queue.join(priority, signal)
      if (pumping) waker?.abort()
      else void pump()
      await turn
      return permitOf(admitted)
    },
    close: async () => {
      closed = true
      clearTimeout(idle)
      await giveBack()
    },
  }
}

type Pace = {
  /** Counts requests that leave. */
  count(requests: number): void
  /** How many left in the last whole period; 0 when that was longer ago. */
  lately(): number
}

/** Counts by periods of `periodMs`. */
function createPace(periodMs: number): Pace {
  let [before, present, since] = [0, 0, performance.now()]
  const turn = (): void => {
    const periods = Math.floor((performance.now() - since) / periodMs)
    if (periods === 0) return
    before = periods === 1 ? present : 0
    present = 0
    since += periods * periodMs
  }
  return {
    count: (requests) => {
      turn()
      present += requests
    },
    lately: () => {
      turn()
      return before
    },
  }
}
