// The budget of requests in Postgres, from which all workers borrow, whichever queue they have.

import type { RepeatableStep } from '../../database/repeatable-step.ts'
import { fillSql, type Queryable } from '../../database/sql.ts'
import type { Logger } from '../../log.ts'
import { type Quota, quotaRule, quotaWindows } from './quota.ts'
import budget from './request-budget.sql'
import { createOwnBudget, type RequestBudget, rule, withFallback, withoutFallback } from './request-budget.ts'

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
