// The budget of requests that all workers borrow from: shares of it, one after the other, each with the instant from which
// it may be used. request-budget.sql has the rule, and lends to all that share a database, whichever queue they have. While
// Postgres does not answer, nothing is lent. Instants and lengths are milliseconds.

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

/** The numbers of the rule. */
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

/** Postgres that lends more slowly than this counts as absent, and while it is absent it is asked again this often. */
const patienceMs = 2_000
const askAgainMs = 1_000

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
 * The budget of this database, which lends nothing while Postgres does not answer: only Postgres knows what others have
 * borrowed. Logs this once. Never rejects.
 */
export function createSharedBudget(db: Queryable, { ratePerSecond, quota }: Limits, log: Logger): RequestBudget {
  const budget = createPostgresBudget(db, ratePerSecond, quota)
  let isOut = false
  return {
    lend: async (wish) => {
      try {
        const loan = await withDeadline(budget.lend(wish), patienceMs)
        if (isOut) log.info({ event: 'limiter_back' }, 'Postgres answers again: requests are sent')
        isOut = false
        return loan
      } catch (error) {
        if (!isOut)
          log.warn({ event: 'limiter_out', error }, 'Postgres does not answer: no requests are sent until it does')
        isOut = true
        return { granted: 0, waitMs: askAgainMs }
      }
    },
  }
}
