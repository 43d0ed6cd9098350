// The budget of requests as a worker has it: in Redis where there is one, else in Postgres; alone when neither answers.

import { createRedisBudget } from '../api/admission/redis-budget.ts'
import { createOwnBudget, type RequestBudget, withFallback } from '../api/admission/request-budget.ts'
import type { Queryable } from '../database/sql.ts'
import type { Logger } from '../log.ts'
import { createPostgresBudget } from './request-budget.ts'

type Options = {
  readonly db: Queryable
  /** null: there is no Redis. */
  readonly redisUrl: string | null
  /** What the names of this installation's keys in Redis begin with. */
  readonly prefix: () => Promise<string>
  readonly ratePerSecond: number
  readonly log: Logger
}

/** A budget that never rejects: what is out is stood in for by the next, which is said once. */
export function openSharedBudget(options: Options): { readonly budget: RequestBudget; close(): void } {
  const { db, redisUrl, ratePerSecond, log } = options
  const onPostgres = withFallback({
    first: createPostgresBudget(db, ratePerSecond),
    second: createOwnBudget(ratePerSecond),
    out: {
      event: 'limiter_alone',
      text: 'Postgres does not answer: until it does, each process keeps the rate limit for itself',
    },
    back: { event: 'limiter_shared', text: 'the rate limit is counted over all workers again' },
    log,
  })
  if (redisUrl === null) return { budget: onPostgres, close: () => undefined }
  const redis = createRedisBudget({ ...options, url: redisUrl })
  const budget = withFallback({
    first: redis,
    second: onPostgres,
    out: {
      event: 'limiter_on_postgres',
      text: 'Redis does not answer: until it does, the rate limit is counted in Postgres',
    },
    back: { event: 'limiter_on_redis', text: 'the rate limit is counted in Redis again' },
    log,
  })
  return { budget, close: () => redis.close() }
}
