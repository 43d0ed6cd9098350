// /healthz and /readyz: what they say while everything is healthy, while the database is gone, and while the port is taken.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Client } from 'pg'
import { expect, it } from 'vitest'
import { streams } from '../../src/catalog/catalog.ts'
import { createLogger } from '../../src/log.ts'
import { kept } from '../../src/memo.ts'
import { startOperatorServer } from '../../src/web/server.ts'
import { openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'
import { openBarePages, readMetrics } from './pages-rig.ts'

it('a mirror that works is alive and ready, and tells how fresh it is', async () => {
  await using pages = await openBarePages()
  expect(await (await pages.get('/healthz')).json()).toEqual({ alive: true, version: '1.2.3' })
  const answer = await pages.get('/readyz')
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({
    ready: true,
    database: { ok: true },
    schema: { ok: true },
    queue: { ok: true },
    breaker: 'closed',
    freshness: { fresh: 0, late: 0, unknown: streams.length, failing: 0 },
  })
})

it('a mirror whose schema is of another version is not ready', async () => {
  await using pages = await openBarePages()
  const client = new Client({ connectionString: pages.databaseUrl })
  await client.connect()
  await client.query(`update sync.repeatable set version = 'of another program'`)
  await client.end()
  const answer = await pages.get('/readyz')
  expect(answer.status).toBe(503)
  expect(await answer.json()).toMatchObject({
    ready: false,
    database: { ok: true },
    schema: { ok: false, code: 'DATABASE_SCHEMA' },
  })
})

it('without its database it lives, is not ready, and every page says so instead of breaking', async () => {
  await using pages = await openBarePages()
  await pages.dropDatabase()
  expect((await pages.get('/healthz')).status).toBe(200)
  const ready = await pages.get('/readyz')
  expect(ready.status).toBe(503)
  expect(await ready.json()).toMatchObject({
    ready: false,
    database: { ok: false, code: expect.stringMatching(/^DATABASE_/) },
  })
  const page = await pages.get('/')
  expect(page.status).toBeGreaterThanOrEqual(500)
  expect(await page.text()).toContain('Cannot read the status')
  const metrics = await pages.get('/metrics')
  expect(metrics.status).toBe(200)
  const values = readMetrics(await metrics.text())
  expect(values.get('boat_mirror_up')).toBe(0)
  expect([...values.keys()].filter((name) => name.startsWith('boat_mirror_stream_rows{'))).toEqual([])
})

it('where the port is taken the worker goes on without pages', async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  await using pages = await openBarePages()
  const refused = await startOperatorServer({
    config: { host: '127.0.0.1', port: (holder.address() as AddressInfo).port, adminToken: null, timeZone: 'UTC' },
    log: createLogger('silent'),
    database: { pool: { query: () => Promise.reject(new Error('not asked')) } } as never,
    readStatus: pages.status,
    onCall: () => undefined,
    previewDecision: async () => null,
    queue: { ping: async () => undefined, openQueue: () => Promise.reject(new Error('no queue')) },
    queueNames: ['a'],
    version: '1',
  })
  expect(refused.url).toBe(null)
  await refused.close()
  holder.close()
})

it('many viewers share one read, a failed one is not kept', async () => {
  let reads = 0
  let clock = 0
  const read = kept(
    async () => {
      reads++
      if (reads === 2) throw new Error('gone')
      return reads
    },
    100,
    () => clock,
  )
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1])
  clock = 100
  await expect(read()).rejects.toThrow('gone')
  expect(await read()).toBe(3)
  clock = 199
  expect(await read()).toBe(3)
})

// Not with `npm test`: it waits for a queue that never comes, for a quarter of a minute.
it.skipIf(isQuick)('a worker that waits for its queue has its pages, and ends when it is told to', async () => {
  await using database = await createTestDatabase()
  // Nothing listens on the discard port.
  await using line = await openCommandLine({ DATABASE_URL: database.url, REDIS_URL: 'redis://127.0.0.1:9', PORT: '0' })
  const worker = line.start(['worker'], { API_BASE_URL: 'http://127.0.0.1:9', API_AUTH: 'none' })
  const address = (): string | undefined => /pages at (http:[^"\s]+)/.exec(worker.text())?.[1]
  await expect.poll(address).toBeDefined()
  const ready = await fetch(`${address()}/readyz`)
  expect(await ready.json()).toMatchObject({
    ready: false,
    database: { ok: true },
    queue: { ok: false, code: 'QUEUE_UNREACHABLE' },
  })
  worker.process.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
})
