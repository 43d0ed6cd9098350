// The rate limit over all workers, in memory and on Postgres. Times are only ever bounded from below: a slow
// machine may take longer, but nothing may leave too early.

import { setMaxListeners } from 'node:events'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Priority } from '../../src/api/admission/priority-queue.ts'
import { createRateLimiter, type Limiter, windowFor } from '../../src/api/admission/rate-limit.ts'
import { createTestDatabase, createTestPool, type TestDatabase } from '../helpers/database.ts'
import { recordingLog } from './recording-log.ts'

/** Timers and clocks may differ by this much. */
const slackMs = 10

/** Draws `count` permits at once, and returns how many milliseconds later each was given. */
async function draw(limiter: Limiter, count: number, priority: Priority = 'read'): Promise<number[]> {
  const start = performance.now()
  return Promise.all(
    Array.from({ length: count }, async () => {
      await limiter.acquire(priority)
      return performance.now() - start
    }),
  )
}

describe('windows', () => {
  it('never allow more than the rate, and little less', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), (rate) => {
        const { points, ms } = windowFor(rate)
        expect((1_000 * points) / ms).toBeLessThanOrEqual(rate)
        expect((1_000 * points) / ms).toBeGreaterThanOrEqual(0.98 * rate)
        expect([Number.isInteger(points), Number.isInteger(ms), ms <= 1_000]).toEqual([true, true, true])
      }),
    )
  })

  it('are well below a second where the rate allows', () => {
    expect([1, 2, 10, 25, 1_000].map(windowFor)).toEqual([
      { points: 1, ms: 1_000 },
      { points: 1, ms: 500 },
      { points: 1, ms: 100 },
      { points: 3, ms: 120 },
      { points: 100, ms: 100 },
    ])
  })
})

it('a rate of 0 is no limit', async () => {
  const limiter = createRateLimiter({ ratePerSecond: 0, store: null })
  expect(await draw(limiter, 10_000)).toHaveLength(10_000)
  await expect(limiter.acquire('read', AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop')
})

describe('in one process', () => {
  it('permits are spread, and given in order of arrival', async () => {
    const limiter = createRateLimiter({ ratePerSecond: 50, store: null })
    const instants = await draw(limiter, 23)
    expect(instants).toEqual(instants.toSorted((a, b) => a - b))
    expect(Math.max(...instants)).toBeGreaterThanOrEqual(400 - slackMs)
  })

  it('a write goes before the reads that wait', async () => {
    const limiter = createRateLimiter({ ratePerSecond: 50, store: null })
    const order: Priority[] = []
    const acquire = (priority: Priority) => limiter.acquire(priority).then(() => order.push(priority))
    const reads = Array.from({ length: 20 }, () => acquire('read'))
    await reads[0]
    await acquire('write')
    expect(order.indexOf('write')).toBeLessThanOrEqual(10)
    await Promise.all(reads)
  })

  it('who is called off leaves the line, and the rest go on', async () => {
    const limiter = createRateLimiter({ ratePerSecond: 20, store: null })
    const stop = new AbortController()
    setMaxListeners(0, stop.signal)
    const waiting = Array.from({ length: 50 }, () => limiter.acquire('read', stop.signal))
    const settled = Promise.allSettled(waiting)
    await waiting[0]
    stop.abort(new Error('stop'))
    await limiter.acquire('read')
    const refused = (await settled).filter((one) => one.status === 'rejected')
    expect(refused.length).toBeGreaterThan(40)
  })

  it('the line starts again after it ran empty', async () => {
    const limiter = createRateLimiter({ ratePerSecond: 100, store: null })
    for (let round = 0; round < 5; round++) expect(await draw(limiter, 12)).toHaveLength(12)
  })
})

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

describe('over several workers', () => {
  it('workers draw on one count', async () => {
    const workers = Array.from({ length: 3 }, () => createRateLimiter({ ratePerSecond: 100, store: database.pool }))
    const instants = (await Promise.all(workers.map((worker) => draw(worker, 20)))).flat()
    // 60 permits at 10 per 100 ms; each for itself, the three would take 100 ms.
    expect(instants).toHaveLength(60)
    expect(Math.max(...instants)).toBeGreaterThanOrEqual(500 - slackMs)
  })

  it('one a second is one a second', async () => {
    const workers = Array.from({ length: 2 }, () => createRateLimiter({ ratePerSecond: 1, store: database.pool }))
    const instants = (await Promise.all(workers.map((worker) => draw(worker, 1)))).flat()
    expect(Math.max(...instants)).toBeGreaterThanOrEqual(1_000 - slackMs)
  })

  it('thousands a second take few round trips', async () => {
    const limiter = createRateLimiter({ ratePerSecond: 5_000, store: database.pool })
    expect(Math.max(...(await draw(limiter, 2_500)))).toBeGreaterThanOrEqual(400 - slackMs)
  })

  for (const [waiting, urgent] of [
    ['read', 'write'],
    ['detail', 'read'],
  ] as const)
    it(`each ${waiting} of one worker makes way for a ${urgent} of another`, async () => {
      const [busy, other] = [
        createRateLimiter({ ratePerSecond: 10, store: database.pool }),
        createRateLimiter({ ratePerSecond: 10, store: database.pool }),
      ]
      const given: Priority[] = []
      const all = Array.from({ length: 15 }, () => busy.acquire(waiting).then(() => given.push(waiting)))
      await all[1]
      await other.acquire(urgent).then(() => given.push(urgent))
      expect(given.indexOf(urgent)).toBeLessThanOrEqual(5)
      await Promise.all(all)
    })

  it('the details of one worker go on while another has lists for ever', async () => {
    const [details, lists] = [
      createRateLimiter({ ratePerSecond: 100, store: database.pool }),
      createRateLimiter({ ratePerSecond: 100, store: database.pool }),
    ]
    let listed = 0
    const stop = new AbortController()
    setMaxListeners(0, stop.signal)
    const sweeping = Array.from({ length: 30 }, async () => {
      for (;;) {
        await lists.acquire('read', stop.signal)
        listed++
      }
    })
    await expect.poll(() => listed).toBeGreaterThan(0)
    const before = listed
    await draw(details, 2, 'detail')
    expect(listed - before).toBeGreaterThan(2)
    stop.abort()
    await Promise.allSettled(sweeping)
  })
})

it('no connection is held while waiting', async () => {
  const pool = createTestPool(database.url, 1)
  try {
    const limiter = createRateLimiter({ ratePerSecond: 2, store: pool })
    await limiter.acquire('read')
    let given = false
    const next = limiter.acquire('read').then(() => {
      given = true
    })
    await pool.query('select 1')
    expect(given).toBe(false)
    await next
  } finally {
    await pool.end()
  }
})

it('while the store is out each process keeps the limit for itself, and says so once', async () => {
  const pool = createTestPool(database.url, 1)
  await pool.end()
  const { log, lines } = recordingLog()
  const limiter = createRateLimiter({ ratePerSecond: 100, store: pool, log })
  expect(Math.max(...(await draw(limiter, 40)))).toBeGreaterThanOrEqual(300 - slackMs)
  expect(lines.map((line) => line.event)).toEqual(['limiter_alone'])
})

// The store is looked for again only now and then.
it('a store that comes back is used again', { timeout: 60_000 }, async () => {
  await using empty = await createTestDatabase({ migrated: false })
  const { log, lines } = recordingLog()
  const limiter = createRateLimiter({ ratePerSecond: 1_000, store: empty.pool, log })
  await limiter.acquire('read')
  await empty.pool.query(
    'create schema sync; create table sync.rate_limit (key varchar(255) primary key, points integer not null default 0, expire bigint)',
  )
  await expect
    .poll(
      async () => {
        await limiter.acquire('read')
        return lines.map((line) => line.event)
      },
      { timeout: 30_000 },
    )
    .toEqual(['limiter_alone', 'limiter_shared'])
  await limiter.acquire('read')
  expect((await empty.pool.query('select points from sync.rate_limit')).rows).toEqual([{ points: expect.any(Number) }])
})

it('a count that was opened by a clock a day ahead holds nobody up for a day', async () => {
  await using own = await createTestDatabase()
  const tomorrow = Date.now() + 86_400_000
  await own.pool.query(`insert into sync.rate_limit (key, points, expire) values ($1, 1000, $3), ($2, 1, $3)`, [
    'api:requests',
    'api:writes-waiting',
    tomorrow,
  ])
  expect(await draw(createRateLimiter({ ratePerSecond: 20, store: own.pool }), 10)).toHaveLength(10)
})
