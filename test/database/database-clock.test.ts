// Reading times follow the database's clock: an imprecise reading of it must not move them.

import { createServer, Socket } from 'node:net'
import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { type Belief, believe, followClock, measureSkew, skewOf } from '../../src/database/database-clock.ts'
import { createTestDatabase, createTestPool } from '../helpers/database.ts'
import { quiet } from '../helpers/rows.ts'

it('a measurement is never further off than it says', () => {
  const times = fc.record({
    asked: fc.integer({ min: 0, max: 1e12 }),
    way: fc.integer({ min: 0, max: 20_000 }),
    back: fc.integer({ min: 0, max: 20_000 }),
    skew: fc.integer({ min: -100_000, max: 100_000 }),
  })
  fc.assert(
    fc.property(times, ({ asked, way, back, skew }) => {
      const { ms, errorMs } = skewOf(asked, asked + way + skew, asked + way + back)
      expect(Math.abs(ms - skew)).toBeLessThanOrEqual(errorMs)
    }),
  )
})

it('a measurement that took much longer than the best one is not believed, one across a slow network is', () => {
  expect(believe({ ms: 5, toleratedMs: 2 }, { ms: 2_000, errorMs: 2_000 }).ms).toBe(5)
  expect(believe({ ms: 5, toleratedMs: 2 }, { ms: 30, errorMs: 40 }).ms).toBe(30)
  expect(believe({ ms: 5, toleratedMs: 240 }, { ms: 30, errorMs: 150 }).ms).toBe(30)
})

it('a way that stays slow is believed in the end', () => {
  let belief: Belief = { ms: 0, toleratedMs: 2 }
  for (let minute = 0; minute < 5; minute++) belief = believe(belief, { ms: 3_000, errorMs: 400 })
  expect(belief.ms).toBe(3_000)
})

it('waiting for a connection does not move the clock', async () => {
  await using database = await createTestDatabase()
  const pool = createTestPool(database.url, 1)
  try {
    const held = await pool.connect()
    const measuring = measureSkew(pool)
    setTimeout(() => held.release(), 1_500)
    const { ms, errorMs } = await measuring
    expect(errorMs).toBeLessThan(700)
    expect(Math.abs(ms)).toBeLessThanOrEqual(errorMs + 1)
  } finally {
    await pool.end()
  }
})

it('a first measurement on a slow way is made again until it is good', async () => {
  await using database = await createTestDatabase()
  const { hostname, port } = new URL(database.url)
  let delayMs = 400
  const proxy = createServer((client) => {
    const server = new Socket().connect(Number(port), hostname)
    client.on('data', (chunk) => void server.write(chunk))
    server.on('data', (chunk) => void setTimeout(() => client.write(chunk), delayMs))
    client.on('close', () => server.destroy())
    for (const socket of [client, server]) socket.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(database.url)
  url.port = String((proxy.address() as { port: number }).port)
  const pool = createTestPool(url.href, 1)
  try {
    const following = followClock(pool, true, quiet)
    setTimeout(() => (delayMs = 0), 1_500)
    const clock = await following
    expect(Math.abs(clock.now().getTime() - Date.now())).toBeLessThan(100)
    clock.stop()
  } finally {
    await pool.end()
    proxy.close()
  }
})

it('a step of the clock of this host moves nothing, however far it goes', async () => {
  await using database = await createTestDatabase()
  const pool = createTestPool(database.url, 1)
  const clock = await followClock(pool, true, quiet)
  const began = performance.now() - clock.now().getTime()
  const realNow = Date.now
  try {
    for (const stepMs of [3_600_000, -3_600_000, 86_400_000, -86_400_000]) {
      vi.spyOn(Date, 'now').mockImplementation(() => realNow() + stepMs)
      expect(Math.abs(performance.now() - clock.now().getTime() - began)).toBeLessThan(1_000)
    }
  } finally {
    vi.restoreAllMocks()
    clock.stop()
    await pool.end()
  }
})
