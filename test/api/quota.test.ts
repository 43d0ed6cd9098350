// API_QUOTA: what Postgres lends of it at any time, and after any worker dies.

import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Quota, quotaRule } from '../../src/api/admission/quota.ts'
import { createRateLimiter, QuotaUsed } from '../../src/api/admission/rate-limit.ts'
import type { Wish } from '../../src/api/admission/request-budget.ts'
import { createPostgresBudget, quotaValues } from '../../src/api/admission/request-budget.ts'
import { sleep } from '../../src/clock.ts'
import { parseQuota } from '../../src/settings.ts'
import { buildProgram, startProgram } from '../helpers/child-program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isQuick, runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { json, openApi, startServer } from './http-server.ts'
import type { QuotaProcessOptions } from './quota-process.ts'

describe('the setting', () => {
  it('takes any of the windows, each once', () => {
    expect(parseQuota('5000/hour,200000/day,500000/month')).toEqual({ hour: 5_000, day: 200_000, month: 500_000 })
    expect(parseQuota(' 120000 / day ')).toEqual({ hour: null, day: 120_000, month: null })
    for (const wrong of ['', '5000', '5000/week', '5/hour', '1e3/day', '100/hour,200/hour', '100/hour,'])
      expect(parseQuota(wrong)).toBe(undefined)
  })
})

const database = opened(createTestDatabase)
beforeEach(async () => {
  await database.pool.query(`truncate sync.request_counts; select setval('sync.details_paced_until', 1)`)
})

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Beginning of the calendar month of an instant, in UTC. */
const monthOf = (instant: number): number => {
  const date = new Date(instant)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

/** The most requests that left within any window of the quota. */
function mostIn(left: readonly number[]): Record<keyof Quota, number> {
  const sorted = left.toSorted((a, b) => a - b)
  const within = (ms: number): number =>
    Math.max(0, ...sorted.map((from, i) => sorted.slice(i).filter((at) => at < from + ms).length))
  const months = new Map<number, number>()
  for (const at of sorted) months.set(monthOf(at), (months.get(monthOf(at)) ?? 0) + 1)
  return { hour: within(hourMs), day: within(24 * hourMs), month: Math.max(0, ...months.values()) }
}

const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(
      fc.integer({ min: 0, max: 3 * minuteMs }),
      fc.integer({ min: 0, max: 2 * hourMs }),
      fc.integer({ min: 0, max: 9 * 24 * hourMs }),
      fc.integer({ min: -20 * minuteMs, max: 0 }),
    ),
    priority: fc.constantFrom<Wish['priority']>('write', 'write', 'read', 'detail'),
    wanted: fc.integer({ min: 1, max: 20 }),
    /** Of what is granted so many are given back with a later loan. */
    back: fc.integer({ min: 0, max: 20 }),
    heldMs: fc.integer({ min: 0, max: quotaRule.heldMs - 1 }),
  }),
  { minLength: 20, maxLength: 80 },
)

it('is never exceeded in any window, whoever asks when, holds requests back, returns some, or has the clock set back', async () => {
  const client = await database.pool.connect()
  try {
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom('50/hour', '40/hour,90/day', '60/day,100/month'), async (all, text) => {
        const quota = parseQuota(text) as Quota
        await client.query(`begin; truncate sync.request_counts; select setval('sync.details_paced_until', 1)`)
        let now = Date.UTC(2026, 0, 20)
        // Where the clock was set back, time went on all the same.
        let setBackMs = 0
        let unused: { count: number; since: Date } | null = null
        const left: number[] = []
        const byReads: number[] = []
        try {
          for (const { afterMs, priority, wanted, back, heldMs } of all) {
            now += Math.max(0, afterMs)
            setBackMs += Math.max(0, -afterMs)
            const clock = new Date(now - setBackMs)
            const { rows } = await client.query(
              'select granted, free_at from sync.take_from_quota($1, $2, $3, $4, $5, $6)',
              [quotaValues(quota), priority, wanted, unused?.count ?? 0, unused?.since ?? null, clock],
            )
            const { granted, free_at: freeAt } = rows[0]
            expect(granted === 0).toBe(freeAt !== null)
            if (freeAt !== null) expect(freeAt.getTime()).toBeGreaterThan(clock.getTime())
            const returned = Math.min(back, granted)
            unused = returned > 0 ? { count: returned, since: clock } : null
            for (let i = 0; i < granted - returned; i++) left.push(now + heldMs)
            if (priority !== 'write') byReads.push(...left.slice(left.length - (granted - returned)))
          }
        } finally {
          await client.query('rollback') // also what failed: the next run shows its own reason
        }
        const [most, ofReads] = [mostIn(left), mostIn(byReads)]
        for (const window of ['hour', 'day'] as const) {
          expect(most[window]).toBeLessThanOrEqual(quota[window] ?? Number.POSITIVE_INFINITY)
          expect(ofReads[window]).toBeLessThanOrEqual((quota[window] ?? Number.POSITIVE_INFINITY) * quotaRule.forReads)
        }
        if (setBackMs === 0) expect(most.month).toBeLessThanOrEqual(quota.month ?? Number.POSITIVE_INFINITY)
      }),
      { numRuns: runsOf(40) },
    )
  } finally {
    client.release()
  }
})

it('lends again when it said it would, not before', async () => {
  const take = async (at: Date, priority: string, wanted: number) =>
    (
      await database.pool.query('select granted, free_at from sync.take_from_quota($1, $2, $3, 0, null, $4)', [
        [10, null, null],
        priority,
        wanted,
        at,
      ])
    ).rows[0]
  const begin = new Date('2026-03-01T10:00:30Z')
  expect((await take(begin, 'read', 20)).granted).toBe(9)
  expect((await take(begin, 'read', 1)).granted).toBe(0)
  expect((await take(begin, 'write', 20)).granted).toBe(1)
  const { free_at: freeAt } = await take(begin, 'write', 1)
  expect(freeAt).toEqual(new Date('2026-03-01T11:02:00Z'))
  expect((await take(new Date(freeAt.getTime() - 1_000), 'write', 1)).granted).toBe(0)
  expect((await take(freeAt, 'write', 20)).granted).toBe(10)
})

it('details are spread evenly over the day, and may be six hours ahead', async () => {
  const quota = [null, 24_000, null]
  const take = async (at: Date, priority: string) =>
    (
      await database.pool.query('select granted from sync.take_from_quota($1, $2, 100000, 0, null, $3)', [
        quota,
        priority,
        at,
      ])
    ).rows[0].granted
  const begin = Date.UTC(2026, 2, 1)
  expect(await take(new Date(begin), 'detail')).toBe(6 * 700)
  expect(await take(new Date(begin + hourMs), 'detail')).toBe(700)
  // What goes before them takes what it needs; they make up for it.
  const ofReads = await take(new Date(begin + hourMs), 'read')
  expect(ofReads).toBe(24_000 * quotaRule.forReads - 7 * 700)
  expect(await take(new Date(begin + 2 * hourMs), 'detail')).toBe(0)
})

it('of eight workers in one process, five of them killed, no more leave than it allows, and of reads nine tenths', async () => {
  const quota = { hour: 1_000, day: null, month: null }
  let left = 0
  /** Draws until it is killed, which others do not hear of, or until the quota is used. */
  const work = async (index: number): Promise<'killed' | QuotaUsed> => {
    const diesAt = index < 5 ? 100 * (index + 1) : Number.POSITIVE_INFINITY
    const isDead = (): boolean => left >= diesAt
    const budget = createPostgresBudget(database.pool, 0, quota)
    const lend = async (wish: Wish) => {
      const loan = isDead() ? null : await budget.lend(wish)
      return loan === null || isDead() ? await new Promise<never>(() => undefined) : loan
    }
    const limiter = createRateLimiter({ ratePerSecond: 0, hasQuota: true, patienceMs: 1_000 }, { lend })
    const lane = async (): Promise<'killed' | QuotaUsed> => {
      for (;;) {
        if (isDead()) return 'killed'
        try {
          await limiter.acquire('read')
        } catch (error) {
          return error as QuotaUsed
        }
        if (isDead()) return 'killed'
        left++
        await sleep(1)
      }
    }
    const ends = await Promise.race([Promise.all([lane(), lane(), lane()]), died(isDead)])
    if (ends === 'killed' || isDead()) return 'killed'
    await limiter.close() // or it gives back what it holds while the next test runs
    return ends[0] ?? 'killed'
  }
  const ends = await Promise.all(Array.from({ length: 8 }, (_, index) => work(index)))
  expect(ends.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => 'killed'))
  for (const end of ends.slice(5)) expect(end).toBeInstanceOf(QuotaUsed)
  expect(left).toBeLessThanOrEqual(900)
  expect(left).toBeGreaterThan(500)
  const { rows } = await database.pool.query('select total::int from sync.request_counts order by minute desc limit 1')
  expect(rows[0].total).toBeGreaterThanOrEqual(left)
  expect(rows[0].total).toBeLessThanOrEqual(900)

  // The rest is for changes; then they are refused, too, at once.
  const changes = createRateLimiter({ ratePerSecond: 0, hasQuota: true }, createPostgresBudget(database.pool, 0, quota))
  for (let change = rows[0].total; change < 1_000; change++) await changes.acquire('write')
  await expect(changes.acquire('write')).rejects.toBeInstanceOf(QuotaUsed)
})

// Not with `npm test`: eight processes on two processors, for ten seconds.
it.skipIf(isQuick)(
  'of eight processes, five of them killed, no more reach the API in any hour than it allows; the others use nearly all of it',
  async () => {
    const [quota, ratePerSecond] = [400, 40] // slow enough that five die in time on a busy machine
    /** When each request arrived, by the server's clock, which goes on as the database's does. */
    const arrived: { at: number; isRead: boolean }[] = []
    let hoursLaterMs = 0
    await using server = await startServer((response, { method }) => {
      arrived.push({ at: Date.now() + hoursLaterMs, isRead: method === 'GET' })
      json(response, {})
    })
    await using program = await buildProgram('test/api/quota-process.ts')
    const options: QuotaProcessOptions = {
      ...{ databaseUrl: database.url, apiUrl: server.url, quota: `${quota}/hour`, ratePerSecond },
    }
    /** Until so many came, or none came for a second and a half: what nobody needs is given back by then. */
    const arrivals = async (count: number): Promise<void> => {
      for (let idleMs = 0, seen = arrived.length; arrived.length < count && idleMs < 1_500; idleMs += 20) {
        await sleep(20)
        if (arrived.length > seen) [idleMs, seen] = [0, arrived.length]
      }
    }
    const workers = Array.from({ length: 8 }, () => startProgram(program.file, [JSON.stringify(options)]))
    try {
      await Promise.all(workers.map((worker) => worker.nextLine()))
      for (const [index, worker] of workers.slice(0, 5).entries()) {
        await arrivals(50 * (index + 1))
        expect(arrived.length, 'it dies in the middle').toBeLessThan(quota * 0.8)
        expect(await worker.end('SIGKILL')).toBe('SIGKILL')
      }
      await arrivals(Number.POSITIVE_INFINITY)
      // What the dead had borrowed counts as spent.
      expect(arrived.length).toBeGreaterThanOrEqual(quota * 0.8)

      // Two thirds of an hour later nothing is free again; an hour after the first, all of it is.
      const pass = async (minutes: number): Promise<number> => {
        await database.pool.query(`update sync.request_counts set minute = minute - $1 * interval '1 minute'`, [
          minutes,
        ])
        hoursLaterMs += minutes * minuteMs
        const before = arrived.length
        await arrivals(Number.POSITIVE_INFINITY)
        return arrived.length - before
      }
      expect(await pass(40)).toBe(0)
      expect(await pass(22)).toBeGreaterThanOrEqual(quota * 0.97)
    } finally {
      for (const worker of workers.slice(5)) await worker.end('SIGTERM')
    }
    const most = (requests: typeof arrived): number => mostIn(requests.map(({ at }) => at)).hour
    expect(most(arrived)).toBeLessThanOrEqual(quota)
    expect(most(arrived.filter(({ isRead }) => isRead))).toBeLessThanOrEqual(quota * quotaRule.forReads)
  },
)

/** Resolves once that is so. */
async function died(isDead: () => boolean): Promise<'killed'> {
  while (!isDead()) await sleep(5)
  return 'killed'
}

describe('a request', () => {
  const users = { endpoint: 'GET /v3/users' } as const
  const quota = { hour: 100, day: null, month: null }
  const spent = async (): Promise<number> =>
    (await database.pool.query('select coalesce(max(total), 0)::int as spent from sync.request_counts')).rows[0].spent

  it('is counted each time that it is tried', async () => {
    let asked = 0
    await using server = await startServer((response) => {
      asked++
      json(response, {}, asked < 3 ? 503 : 200)
    })
    const limiter = createRateLimiter(
      { ratePerSecond: 0, hasQuota: true },
      createPostgresBudget(database.pool, 0, quota),
    )
    await using test = openApi(server.url, { limiter, random: () => 0 })
    await test.api.read(users)
    await limiter.close()
    expect([asked, await spent()]).toEqual([3, 3])
  })

  it('that the gate kept from leaving is given back', async () => {
    await using server = await startServer((response) => json(response, {}))
    const limiter = createRateLimiter(
      { ratePerSecond: 0, hasQuota: true },
      createPostgresBudget(database.pool, 0, quota),
    )
    await using test = openApi(server.url, { limiter })
    test.gate.pause(60_000)
    await expect(
      test.api.send({ endpoint: 'DELETE /v3/rentals/{rentalId}', params: { rentalId: '1' } }),
    ).rejects.toThrow()
    await limiter.close()
    expect(await spent()).toBe(0)
  })

  it('that waited for too long takes a new permit', async () => {
    await using server = await startServer((response) => json(response, {}))
    const given: string[] = []
    const permit = (name: string, stands: boolean) => ({
      stands: () => stands,
      giveBack: () => given.push(`${name} back`),
    })
    const permits = [permit('old', false), permit('new', true)]
    const acquire = async () => {
      given.push('asked')
      return permits.shift() ?? permit('more', true)
    }
    await using test = openApi(server.url, { limiter: { acquire } })
    await test.api.read(users)
    expect(given).toEqual(['asked', 'asked'])
    expect(server.seen).toHaveLength(1)
  })
})
