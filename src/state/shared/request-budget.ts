// The budget of requests in Postgres, from which all workers borrow, whichever queue they have.

import { createOwnBudget, type RequestBudget, rule, withFallback } from '../../api/admission/request-budget.ts'
import type { RepeatableStep } from '../../database/repeatable-step.ts'
import { fillSql, type Queryable } from '../../database/sql.ts'
import type { Logger } from '../../log.ts'
import budget from './request-budget.sql'

const microseconds = (ms: number): string => String(ms * 1000)

/** `sync.lend_requests`. */
export const requestBudgetFunction: RepeatableStep = {
  name: 'request-budget-function',
  sql: fillSql(budget, {
    far: microseconds(rule.farMs),
    late: microseconds(rule.lateMs),
    ahead: microseconds(rule.aheadMs),
    grace: microseconds(rule.graceMs),
    detail_every: String(rule.detailEvery),
  }),
}

/** A budget for all that share this database. Holds no connection between two loans; rejects while Postgres does not answer. */
export function createPostgresBudget(db: Queryable, ratePerSecond: number): RequestBudget {
  return {
    lend: async ({ priority, wanted, unused, more }) => {
      const { rows } = await db.query<{ granted: number; waitMs: number }>(
        'select granted, wait_ms as "waitMs" from sync.lend_requests($1, $2, $3, $4, $5)',
        [ratePerSecond, priority, wanted, unused, more],
      )
      return rows[0] ?? { granted: 0, waitMs: rule.graceMs }
    },
  }
}

/** The same, and the budget of this process alone while Postgres does not answer. Never rejects. */
export const createSharedBudget = (db: Queryable, ratePerSecond: number, log: Logger): RequestBudget =>
  withFallback(createPostgresBudget(db, ratePerSecond), createOwnBudget(ratePerSecond), log)
