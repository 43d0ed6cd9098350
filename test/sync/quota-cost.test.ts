// What API_QUOTA costs the database: a share of it is taken by the statement that lends requests of the rate, so a request, and
// a sync, has no statement more. Counted are the statements of this process, by their text, and loans in simulated time: how
// many requests wait when the next share is taken depends on the machine.

import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRateLimiter } from '../../src/api/admission/rate-limit.ts'
import { createPostgresBudget, type RequestBudget } from '../../src/api/admission/request-budget.ts'
import { parseQuota, type Quota } from '../../src/settings.ts'
import { openSimulatedBudget } from '../api/simulated-budget.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'

let statements: string[] = []
beforeEach(() => {
  const { query } = pg.Client.prototype
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const [statement] = given
    statements.push(typeof statement === 'string' ? statement : String((statement as { text?: string }).text))
    return Reflect.apply(query, this, given)
  } as typeof query)
})
afterEach(() => {
  vi.restoreAllMocks()
})

const loans = (all: readonly string[]): readonly string[] => all.filter((text) => text.includes('sync.lend_requests'))

describe('under a quota', () => {
  it('a loan is one statement, as without one', async () => {
    await using database = await createTestDatabase()
    const wish = { priority: 'read', wanted: 5, unused: 0, more: true } as const
    for (const quota of [null, parseQuota('100000/hour,1000000/day,10000000/month') as Quota]) {
      const budget = createPostgresBudget(database.pool, 200, quota)
      statements = []
      for (let loan = 0; loan < 20; loan++) await budget.lend(wish)
      expect(statements).toEqual(loans(statements))
      expect(statements).toHaveLength(20)
    }
  })

  it('requests are lent by as many loans as without one', async () => {
    await using simulated = await openSimulatedBudget()
    const [requests, ratePerSecond] = [300, 200]
    const lent = async (hasQuota: boolean): Promise<number> => {
      const budget = await simulated.create(ratePerSecond)
      let count = 0
      const lend: RequestBudget['lend'] = async (wish) => {
        count++
        await new Promise((resolve) => setTimeout(resolve, 3))
        return await budget.lend(wish)
      }
      const limiter = createRateLimiter({ ratePerSecond, hasQuota }, { lend })
      const lane = async (): Promise<void> => {
        for (let request = 0; request < requests / 4; request++) await limiter.acquire('read')
      }
      const all = Promise.all([lane(), lane(), lane(), lane()]).then(() => limiter.close())
      await simulated.advance(10_000)
      await all
      return count
    }
    const without = await lent(false)
    expect(without).toBeLessThan(requests / 2)
    expect(await lent(true)).toBe(without)
  })

  // Two worlds of its own.
  it.skipIf(isQuick)('a sync of the same world takes shares, and asks for nothing else of the quota', async () => {
    const synced = async (env: Readonly<Record<string, string>>) => {
      await using mirror = await openTestMirror({ size: 8 }, { API_RATE_LIMIT: '1000', ...env })
      statements = []
      mirror.sandbox.resetRequests()
      await mirror.sync({ streams: ['rentals', 'rental_payments', 'rental_options'] })
      const taken = [...statements]
      const rows = await mirror.all<{ counted: number }>(
        'select coalesce(max(total), 0)::int as counted from sync.request_counts',
      )
      return { taken, requests: mirror.sandbox.requests().length, counted: rows[0]?.counted ?? 0 }
    }
    const without = await synced({})
    const within = await synced({ API_QUOTA: '100000/hour' })
    expect(within.requests).toBe(without.requests)
    expect([without.counted, within.counted >= within.requests]).toEqual([0, true])
    // Depending on the clock, a sync checks its queue once more or less: how often differs from one to the next.
    const others = (all: readonly string[]): ReadonlySet<string> =>
      new Set(
        all.filter((text) => !text.includes('sync.lend_requests') && /quota|request_counts|details_paced/.test(text)),
      )
    expect(others(within.taken)).toEqual(others(without.taken))
  })
})
