// What API_QUOTA costs the database: a share of it is taken by the statement that lends requests of the rate, so a request, and
// a sync, has no statement more. Counted are the statements of this process, by their text.

import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRateLimiter } from '../../src/api/admission/rate-limit.ts'
import { createPostgresBudget } from '../../src/api/admission/shared-budget.ts'
import { parseQuota, type Quota } from '../../src/settings.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { inGate } from '../helpers/gate.ts'
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
  it('requests are lent by as many statements as without one, and by no others', async () => {
    await using database = await createTestDatabase()
    const [requests, ratePerSecond] = [300, 200]
    const lent = async (quota: Quota | null): Promise<number> => {
      const budget = createPostgresBudget(database.pool, ratePerSecond, quota)
      const limiter = createRateLimiter({ ratePerSecond, hasQuota: quota !== null }, budget)
      statements = []
      const lane = async (): Promise<void> => {
        for (let request = 0; request < requests / 4; request++) await limiter.acquire('read')
      }
      await Promise.all([lane(), lane(), lane(), lane()])
      await limiter.close()
      expect(statements).toEqual(loans(statements))
      return statements.length
    }
    const without = await lent(null)
    expect(without).toBeLessThan(requests / 2)
    // Not one for each, and no more than without: 69 and 64, measured; the clock decides how many wait when the next is asked for.
    const within = await lent(parseQuota('100000/hour,1000000/day,10000000/month') as Quota)
    expect(within).toBeLessThan(requests / 2)
    expect(within).toBeLessThanOrEqual(without * 1.5)
  })

  // Two worlds of its own.
  it.skipIf(inGate)('a sync of the same world takes shares, and asks for nothing else of the quota', async () => {
    const synced = async (env: Readonly<Record<string, string>>) => {
      await using mirror = await openTestMirror({ size: 8 }, { API_RATE_LIMIT: '1000', ...env })
      const { pool } = mirror.app.database
      statements = []
      mirror.sandbox.resetRequests()
      await mirror.sync({ streams: ['rentals', 'rental_payments', 'rental_options'] })
      const taken = [...statements]
      const { rows } = await pool.query<{ counted: number }>(
        'select coalesce(max(total), 0)::int as counted from sync.request_counts',
      )
      return { taken, requests: mirror.sandbox.requests().length, counted: rows[0]?.counted ?? 0 }
    }
    const without = await synced({})
    const within = await synced({ API_QUOTA: '100000/hour' })
    expect(within.requests).toBe(without.requests)
    expect([without.counted, within.counted >= within.requests]).toEqual([0, true])
    // Depending on the clock, a sync checks its queue once more or less: how often differs from one to the next.
    const others = (all: readonly string[]): readonly string[] =>
      all.filter((text) => !text.includes('sync.lend_requests') && /quota|request_counts|details_paced/.test(text))
    expect(others(within.taken)).toEqual(others(without.taken))
    expect(loans(within.taken).length).toBeLessThan(within.requests)
    // How many requests wait when the next share is taken depends on the clock: of three syncs, the one with the fewest shares counts.
    const more = [await synced({ API_QUOTA: '100000/hour' }), await synced({ API_QUOTA: '100000/hour' })]
    const fewest = Math.min(...[within, ...more].map(({ taken }) => loans(taken).length))
    expect(fewest).toBeLessThanOrEqual(loans(without.taken).length * 1.5)
  })
})
