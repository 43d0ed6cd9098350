// The rate limit in one process and over several that share a Postgres. Times are only ever bounded from below: a slow
// machine may take longer, but nothing may leave too early.

import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { afterEach, describe, expect, inject, it } from 'vitest'
import type { Priority } from '../../src/api/admission/priority-queue.ts'
import { createRateLimiter, type Limiter } from '../../src/api/admission/rate-limit.ts'
import { createPostgresBudget, createSharedBudget } from '../../src/api/admission/request-budget.ts'
import { type App, openApp } from '../../src/app.ts'
import { sleep } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { createTestDatabase, createTestPool } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { json, startServer } from './http-server.ts'
import { recordingLog } from './recording-log.ts'

/** Timers and clocks may differ by this much. */
const slackMs = 10

/** Draws `count` permits at once, and returns how many milliseconds later each was given. */
async function draw(limiter: Limiter, count: number, priority: Priority = 'read'): Promise<number[]> {
  return drawSince(performance.now(), limiter, count, priority)
}

/** The same by several at once: all count from one instant, for some time may pass until the last of them begins. */
async function drawByAll(limiters: readonly Limiter[], count: number): Promise<number[]> {
  const start = performance.now()
  return (await Promise.all(limiters.map((limiter) => drawSince(start, limiter, count, 'read')))).flat()
}

function drawSince(start: number, limiter: Limiter, count: number, priority: Priority): Promise<number[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      await limiter.acquire(priority)
      return performance.now() - start
    }),
  )
}

const database = opened(createTestDatabase)

type Worker = ReturnType<typeof createRateLimiter>

const sequences = ['requests_lent_until', 'changes_wait_until', 'reads_wait_until', 'details_lent_until']

let workers: readonly Worker[] = []
afterEach(() => Promise.all(workers.map((worker) => worker.close())))

/** Opens workers that share a budget of nobody else, until the end of the test. */
async function open(count: number, ratePerSecond: number): Promise<readonly Worker[]> {
  await database.pool.query(`select setval('sync.' || name, 1) from unnest($1::text[]) name`, [sequences])
  workers = Array.from({ length: count }, () =>
    createRateLimiter(ratePerSecond, createPostgresBudget(database.pool, ratePerSecond)),
  )
  return workers
}

it('a rate of 0 is no limit', async () => {
  const limiter = createRateLimiter(0, createPostgresBudget(database.pool, 0))
  expect(await draw(limiter, 10_000)).toHaveLength(10_000)
  await expect(limiter.acquire('read', AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop')
})

describe('in one process', () => {
  it('permits are spread, and given in order of arrival', async () => {
    const [limiter] = (await open(1, 50)) as [Worker]
    const instants = await draw(limiter, 23)
    expect(instants).toEqual(instants.toSorted((a, b) => a - b))
    expect(Math.max(...instants)).toBeGreaterThanOrEqual(400 - slackMs)
  })

  it('a write goes before the reads that wait', async () => {
    const [limiter] = (await open(1, 50)) as [Worker]
    const order: Priority[] = []
    const acquire = (priority: Priority) => limiter.acquire(priority).then(() => order.push(priority))
    const reads = Array.from({ length: 20 }, () => acquire('read'))
    await reads[0]
    await acquire('write')
    expect(order.indexOf('write')).toBeLessThanOrEqual(10)
    await Promise.all(reads)
  })

  it('who is called off leaves the line, and the rest go on', async () => {
    const [limiter] = (await open(1, 20)) as [Worker]
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
    const [limiter] = (await open(1, 100)) as [Worker]
    for (let round = 0; round < 5; round++) expect(await draw(limiter, 12)).toHaveLength(12)
  })
})

describe('over several workers', () => {
  it('workers draw on one count', async () => {
    await open(3, 100)
    const instants = await drawByAll(workers, 20)
    // 60 permits, one each 10 ms; each for itself, the three would take 200 ms.
    expect(instants).toHaveLength(60)
    expect(Math.max(...instants)).toBeGreaterThanOrEqual(500 - slackMs)
  })

  it('one a second is one a second', async () => {
    await open(2, 1)
    const instants = await drawByAll(workers, 1)
    expect(Math.max(...instants)).toBeGreaterThanOrEqual(1_000 - slackMs)
  })

  it('thousands a second take few round trips', async () => {
    await open(1, 5_000)
    const [limiter] = workers as [Worker]
    expect(Math.max(...(await draw(limiter, 2_500)))).toBeGreaterThanOrEqual(400 - slackMs)
  })

  for (const [waiting, urgent] of [
    ['read', 'write'],
    ['detail', 'read'],
  ] as const)
    it(`each ${waiting} of one worker makes way for a ${urgent} of another`, async () => {
      await open(2, 10)
      const [busy, other] = workers as [Worker, Worker]
      const given: Priority[] = []
      const stop = new AbortController()
      setMaxListeners(0, stop.signal)
      // So many that a halted machine does not let all of them leave before the urgent one has asked.
      const all = Array.from({ length: 200 }, () => busy.acquire(waiting, stop.signal).then(() => given.push(waiting)))
      const settled = Promise.allSettled(all)
      await all[1]
      await other.acquire(urgent).then(() => given.push(urgent))
      stop.abort()
      await settled
      expect(given.indexOf(urgent)).toBeLessThan(100)
    })

  it('the details of one worker go on while another has lists for ever', async () => {
    await open(2, 100)
    const [details, lists] = workers as [Worker, Worker]
    let listed = 0
    const stop = new AbortController()
    setMaxListeners(0, stop.signal)
    const sweeping = Array.from({ length: 30 }, async () => {
      for (;;) {
        await lists.acquire('read', stop.signal)
        listed++
      }
    })
    try {
      await expect.poll(() => listed).toBeGreaterThan(0)
      const before = listed
      // More than one loan: what is lent at once says nothing of who is preferred.
      await draw(details, 20, 'detail')
      expect(listed - before).toBeGreaterThan(20)
    } finally {
      stop.abort()
      await Promise.allSettled(sweeping)
    }
  })
})

/** Lets workers draw with ten requests each for so long, and counts what leaves each of them. */
async function drawHungrily(workers: readonly Worker[], ms: number): Promise<{ left: number[]; seconds: number }> {
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const left = workers.map(() => 0)
  const start = performance.now()
  const drawing = workers.flatMap((worker, i) =>
    Array.from({ length: 10 }, async () => {
      for (;;) {
        await worker.acquire('read', stop.signal)
        left[i] = (left[i] ?? 0) + 1
      }
    }),
  )
  await sleep(ms)
  const seconds = (performance.now() - start) / 1000
  stop.abort()
  await Promise.allSettled(drawing)
  await Promise.all(workers.map((worker) => worker.close()))
  return { left, seconds }
}

// Not with `npm test`: ten seconds of eight workers. Shares of each are compared in simulated time (request-budget.test.ts).
it.skipIf(isQuick)('eight hungry workers together keep the rate, and none of them waits for ever', async () => {
  const { left, seconds } = await drawHungrily(await open(8, 200), 10_000)
  const all = left.reduce((sum, one) => sum + one, 0)
  expect(all).toBeLessThanOrEqual(200 * seconds * 1.05)
  expect(Math.min(...left)).toBeGreaterThan(0)
})

it('workers draw on one count, whichever queue they have', async () => {
  await using server = await startServer((response) => json(response, []))
  const redisUrl = inject('redisUrl')
  const queues = [{}, redisUrl === null ? {} : { REDIS_URL: redisUrl }]
  await using own = await createTestDatabase()
  const openOn = async (queue: object): Promise<App> => {
    const config = readConfig({ DATABASE_URL: own.url, API_RATE_LIMIT: '20', ...queue }, '/nonexistent')
    const { log } = recordingLog()
    return await openApp({ config, log, apiUrl: server.url, sandbox: false, schema: 'check', patienceMs: 60_000 })
  }
  await using first = await openOn(queues[0] ?? {})
  await using second = await openOn(queues[1] ?? {})
  const start = performance.now()
  const reads = [first, second].flatMap(({ api }) =>
    Array.from({ length: 10 }, () => api.read({ endpoint: 'GET /v3/users' })),
  )
  await Promise.all(reads)
  // 20 permits, one each 50 ms; each for itself, the two would take 450 ms.
  expect(performance.now() - start).toBeGreaterThanOrEqual(900 - slackMs)
})

it('no connection is held while waiting', async () => {
  const pool = createTestPool(database.url, 1)
  try {
    const limiter = createRateLimiter(2, createPostgresBudget(pool, 2))
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

it('while Postgres does not answer nothing leaves, and that is logged once', async () => {
  const pool = createTestPool(database.url, 1)
  await pool.end()
  const { log, lines } = recordingLog()
  for (const quota of [null, { hour: 1_000, day: null, month: null }]) {
    const budget = createSharedBudget(pool, { ratePerSecond: 100, quota }, log)
    const wish = { priority: 'write', wanted: 5, unused: 0, more: false } as const
    expect(await budget.lend(wish)).toMatchObject({ granted: 0 })
    expect(await budget.lend(wish)).toMatchObject({ granted: 0 })
    expect(lines.splice(0).map((line) => line.event)).toEqual(['limiter_out'])
  }
})

it('requests leave again once Postgres answers', async () => {
  await using empty = await createTestDatabase({ migrated: false })
  const { log, lines } = recordingLog()
  const limiter = createRateLimiter(1_000, createSharedBudget(empty.pool, { ratePerSecond: 1_000, quota: null }, log))
  const leaving = limiter.acquire('read')
  await expect.poll(() => lines.map((line) => line.event)).toEqual(['limiter_out'])
  await migrate(empty.url)
  await leaving
  expect(lines.map((line) => line.event)).toEqual(['limiter_out', 'limiter_back'])
  const { rows } = await empty.pool.query('select last_value > 1 as used from sync.requests_lent_until')
  expect(rows).toEqual([{ used: true }])
})

it('instants that were set by a clock a day ahead hold nobody up for a day', async () => {
  await using own = await createTestDatabase()
  const tomorrow = (Date.now() + 86_400_000) * 1_000
  await own.pool.query(`select setval('sync.' || name, $2) from unnest($1::text[]) name`, [sequences, tomorrow])
  const limiter = createRateLimiter(20, createPostgresBudget(own.pool, 20))
  expect(await draw(limiter, 5)).toHaveLength(5)
  expect(await draw(limiter, 5, 'detail')).toHaveLength(5)
})

it('is lent on Postgres to a role that works on tasks, whatever it may do with sequences, and to no other', async () => {
  const [worker, reader] = ['worker', 'reader'].map((name) => `${name}_${randomBytes(6).toString('hex')}`)
  await database.pool.query(`create role ${worker}; create role ${reader};
    grant usage on schema sync to ${worker}, ${reader}; grant select, update on sync.tasks to ${worker}`)
  const as = async (role: string | undefined) => {
    const client = await database.pool.connect()
    try {
      await client.query(`begin; set local role ${role}`)
      return await createPostgresBudget(client, 10).lend({ priority: 'write', wanted: 1, unused: 0, more: false })
    } finally {
      await client.query('rollback')
      client.release()
    }
  }
  try {
    expect((await as(worker)).granted).toBe(1)
    await expect(as(reader)).rejects.toThrow(/may not run tasks/)
  } finally {
    await database.pool.query(`drop owned by ${worker}, ${reader}; drop role ${worker}, ${reader}`)
  }
})
