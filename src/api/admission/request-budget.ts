// The budget of requests that all workers borrow from: shares of it, one after the other, each with the instant from which
// it may be used. request-budget.sql lends to all that share a database, whichever queue they have; the same rule here
// lends to one process while Postgres does not answer. Instants and lengths are milliseconds.

import { withDeadline } from '../../clock.ts'
import type { RepeatableStep } from '../../database/repeatable-step.ts'
import { fillSql, type Queryable } from '../../database/sql.ts'
import type { Logger } from '../../log.ts'
import { detailEvery, type Priority } from './priority-queue.ts'
import { type Quota, quotaRule, quotaWindows } from './quota.ts'
import budget from './request-budget.sql'

/** What a worker requests. */
export type Wish = {
  readonly priority: Exclude<Priority, 'asked'>
  /** Requests; 0: none, it only gives back. */
  readonly wanted: number
  /** Requests of earlier loans that were not made. */
  readonly unused: number
  /** When the earliest of those loans was made, as it said; only a quota asks. */
  readonly unusedSince?: Date
  /** More of this priority wait than are wanted now. */
  readonly more: boolean
}

/**
 * All requests that were wanted, evenly spread from `waitMs` on; or none when a more urgent caller goes first, so ask
 * again then.
 */
type Loan = {
  readonly granted: number
  readonly waitMs: number
  /** The lender's clock, where it counts a quota. */
  readonly lentAt?: Date
  /** The quota has none left for this priority until about then. It may also grant fewer than were wanted. */
  readonly freeAt?: Date
}

export interface RequestBudget {
  lend(wish: Wish): Promise<Loan>
}

/** The numbers of the rule, for all who apply it. */
export const rule = {
  /** Changes go before what is lent already, but no further than this: so much more than the rate may leave at once. */
  aheadMs: 150,
  /** A caller this late loses nothing; unused requests from before are not saved up. */
  lateMs: 50,
  /** A caller that stood back has this long to ask again before less urgent ones get a loan. */
  graceMs: 50,
  /** Instants further off were set by a clock that was set back since. */
  farMs: 60_000,
  /** Where reads wait, one in so many is a detail. */
  detailEvery,
} as const

/** Instants until which requests are lent, changes and reads wait for more, and details have had their part beside reads. */
type BudgetState = {
  readonly lentUntil: number
  readonly changesUntil: number
  readonly readsUntil: number
  readonly detailsUntil: number
}

export const unspent: BudgetState = { lentUntil: 0, changesUntil: 0, readsUntil: 0, detailsUntil: 0 }

/** One loan at the instant `now`. Pure. */
export function lend(
  stored: BudgetState,
  { priority, wanted, unused, more }: Wish,
  now: number,
  ratePerSecond: number,
): Loan & { readonly state: BudgetState } {
  const known = (instant: number): number => (instant > now + rule.farMs ? now : instant)
  const changes = known(stored.changesUntil)
  const reads = known(stored.readsUntil)
  const details = known(stored.detailsUntil)
  const spacing = 1000 / ratePerSecond
  const given = known(stored.lentUntil) - unused * spacing
  const lent = given < now - rule.lateMs ? now : given

  const others = { write: 0, read: changes, detail: Math.max(changes, Math.min(reads, details)) }[priority]
  const granted = others > now ? 0 : wanted
  const start = others > now ? others : priority === 'write' ? Math.max(Math.min(lent, now), lent - rule.aheadMs) : lent
  const length = granted * spacing
  const waits = start + (others > now ? rule.graceMs : more ? length : 0)
  return {
    granted,
    waitMs: start - now,
    state: {
      lentUntil: lent + length,
      changesUntil: priority === 'write' ? Math.max(changes, waits) : changes,
      readsUntil: priority === 'read' ? Math.max(reads, waits) : reads,
      detailsUntil: priority === 'detail' && reads > now ? Math.max(details, now + length * detailEvery) : details,
    },
  }
}

/** Creates a budget for this process only. */
export function createOwnBudget(ratePerSecond: number, now: () => number = () => performance.now()): RequestBudget {
  let state = unspent
  return {
    lend: async (wish) => {
      const loan = lend(state, wish, now(), ratePerSecond)
      state = loan.state
      return loan
    },
  }
}

/** Postgres that lends more slowly than this counts as absent, and while it is absent it is asked again this often. */
const patienceMs = 2_000
const askAgainMs = 1_000

/**
 * The shared budget where it counts a quota. While it does not answer it lends nothing, because only it knows how
 * many requests are left. Logs this once. Never rejects.
 */
function withoutFallback(shared: RequestBudget, log: Logger): RequestBudget {
  let isOut = false
  return {
    lend: async (wish) => {
      try {
        const loan = await withDeadline(shared.lend(wish), patienceMs)
        if (isOut) log.info({ event: 'limiter_shared' }, 'the quota is counted again')
        isOut = false
        return loan
      } catch (error) {
        if (!isOut)
          log.warn(
            { event: 'limiter_out', error },
            'Postgres does not answer: no requests are sent until it does, because it counts the quota',
          )
        isOut = true
        return { granted: 0, waitMs: askAgainMs }
      }
    },
  }
}

/** The shared budget; while it does not answer, the process's own. Each change is logged once. Never rejects. */
export function withFallback(shared: RequestBudget, own: RequestBudget, log: Logger): RequestBudget {
  let isOut = false
  let knockAt = 0
  let lender = shared

  /** What the other budget has lent is not given back to this one, which would lend it a second time: it is lost. */
  const lendFrom = (budget: RequestBudget, wish: Wish): Promise<Loan> => {
    const unused = budget === lender ? wish.unused : 0
    lender = budget
    return budget.lend({ ...wish, unused })
  }

  /** No request waits for a budget that is out: one look now and then finds out whether it is back. */
  const knock = async (): Promise<void> => {
    if (performance.now() < knockAt) return
    knockAt = Number.POSITIVE_INFINITY
    try {
      await withDeadline(shared.lend({ priority: 'detail', wanted: 0, unused: 0, more: false }), patienceMs)
      isOut = false
      log.info({ event: 'limiter_shared' }, 'all workers share the rate limit again')
    } catch {
      knockAt = performance.now() + patienceMs // still out: said when it went
    }
  }

  return {
    lend: async (wish) => {
      if (!isOut)
        try {
          return await withDeadline(lendFrom(shared, wish), patienceMs)
        } catch (error) {
          if (!isOut)
            log.warn(
              { event: 'limiter_alone', error },
              'Postgres does not answer: until it does, each process applies the rate limit separately',
            )
          isOut = true
          knockAt = 0
        }
      void knock()
      return lendFrom(own, wish)
    },
  }
}

const microseconds = (ms: number): string => String(ms * 1000)

/** `sync.lend_requests`. */
export const requestBudgetFunction: RepeatableStep = {
  name: 'request-budget-function',
  sql: fillSql(budget, {
    far: microseconds(rule.farMs),
    late: microseconds(rule.lateMs),
    ahead_us: microseconds(rule.aheadMs),
    grace: microseconds(rule.graceMs),
    detail_every: String(rule.detailEvery),
    held: `interval '${quotaRule.heldMs} ms'`,
    reads: String(quotaRule.forReads),
    details: String(quotaRule.forDetails),
    details_of_hour: String(quotaRule.forDetailsOfHour),
    ahead: `interval '${quotaRule.detailsAheadHours} hours'`,
  }),
}

/** A quota as SQL takes it. */
export const quotaValues = (quota: Quota | null): readonly (number | null)[] | null =>
  quota === null ? null : quotaWindows.map((window) => quota[window])

/** What all that share a database keep to: requests a second (0: any number), and the quota (null: none). */
export type Limits = { readonly ratePerSecond: number; readonly quota: Quota | null }

/** A budget for all that share this database. Holds no connection between two loans; rejects while Postgres does not answer. */
export function createPostgresBudget(db: Queryable, ratePerSecond: number, quota: Quota | null = null): RequestBudget {
  const values = quotaValues(quota)
  return {
    lend: async ({ priority, wanted, unused, unusedSince, more }) => {
      const { rows } = await db.query<{ granted: number; waitMs: number; lentAt: Date; freeAt: Date | null }>(
        `select granted, wait_ms as "waitMs", lent_at as "lentAt", free_at as "freeAt"
         from sync.lend_requests($1, $2, $3, $4, $5, $6, $7)`,
        [ratePerSecond, priority, wanted, unused, more, values, unusedSince ?? null],
      )
      const [loan] = rows
      if (loan === undefined) return { granted: 0, waitMs: rule.graceMs }
      const { granted, waitMs, lentAt, freeAt } = loan
      return freeAt === null
        ? { granted, waitMs, lentAt }
        : { granted, waitMs: freeAt.getTime() - lentAt.getTime(), lentAt, freeAt }
    },
  }
}

/**
 * The same, with a fallback. While Postgres does not answer: without a quota the budget of this process only, with
 * one nothing. Never rejects.
 */
export const createSharedBudget = (db: Queryable, { ratePerSecond, quota }: Limits, log: Logger): RequestBudget =>
  quota === null
    ? withFallback(createPostgresBudget(db, ratePerSecond), createOwnBudget(ratePerSecond), log)
    : withoutFallback(createPostgresBudget(db, ratePerSecond, quota), log)
