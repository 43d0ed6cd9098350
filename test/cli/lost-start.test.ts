// A worker and a `serve` whose database goes away while they start: they wait for it, as they do once they run.

import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { withDatabase } from '../helpers/addresses.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { openTcpProxy } from '../helpers/tcp-proxy.ts'
import { errorOf, openCommandLine } from './program.ts'

const patience = { timeout: 120_000, interval: 20 }

const database = opened(() => createTestDatabase())
const sandbox = opened(() => createSandbox({ size: 6 }))
const proxy = opened(() => openTcpProxy(Number(new URL(database.url).port)))
const line = opened(() => {
  const url = new URL(database.url)
  url.host = `127.0.0.1:${proxy.port}`
  const api = { API_BASE_URL: sandbox.url, API_AUTH: 'none' }
  return openCommandLine({ DATABASE_URL: url.href, ...api, PORT: '0', SERVE_LISTEN: '127.0.0.1:0' })
})

/** Holds each session that comes to this table, until it is disposed of. */
async function hold(table: string): Promise<AsyncDisposable & { held(): Promise<readonly number[]> }> {
  const client = new pg.Client({ connectionString: database.url })
  client.on('error', () => {}) // it may outlive its database where a test fails
  await client.connect()
  await client.query(`begin; lock table ${table} in access exclusive mode`)
  const { rows } = await client.query('select pg_backend_pid() as pid')
  const held = 'select pid from pg_stat_activity where $1::int = any (pg_blocking_pids(pid))'
  return {
    held: async () => (await database.pool.query<{ pid: number }>(held, [rows[0].pid])).rows.map(({ pid }) => pid),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

const cut = (sessions: readonly number[]): Promise<unknown> =>
  database.pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [sessions])

/** In the order in which a start comes to them. */
const places = [
  'sync.migrations',
  'sync.settings',
  'sync.privacy',
  'bullmq.migration',
  'outbox.installation',
  'sync.requests',
] as const

describe('a worker that is starting', () => {
  it('goes on when its sessions are cut at any moment, and when the database refuses connections', async () => {
    let holding = await hold(places[0])
    const worker = line.start(['worker'])
    try {
      for (const place of [...places.slice(1), null]) {
        await expect.poll(() => holding.held().then(({ length }) => length), patience).toBeGreaterThan(0)
        const next = place === null ? null : await hold(place)
        if (place === null) await proxy.refuse()
        else await cut(await holding.held())
        await holding[Symbol.asyncDispose]()
        if (next !== null) holding = next
      }
      await expect.poll(() => worker.text().match(/database_awaited/g)?.length, patience).toBe(1)
      await proxy.pass()
      await expect.poll(() => worker.text(), patience).toContain('Pages ')
      worker.process.kill('SIGTERM')
      expect((await worker.ended).code).toBe(0)
    } finally {
      await holding[Symbol.asyncDispose]()
      await proxy.pass()
    }
  })

  it.each(['worker', 'serve'])('ends at once by a signal while it waits: %s', async (command) => {
    await using holding = await hold('sync.privacy')
    const started = line.start([command])
    await expect.poll(() => holding.held().then(({ length }) => length), patience).toBeGreaterThan(0)
    await cut(await holding.held())
    await expect.poll(() => started.text(), patience).toContain('database_awaited')
    started.process.kill('SIGTERM')
    expect((await started.ended).code).toBe(0)
  })

  it('does not wait for a database that does not exist', async () => {
    const ended = await line.run(['worker'], { DATABASE_URL: withDatabase(database.url, 'no_such_database') })
    expect(ended.code).toBe(1)
    expect(errorOf(ended)).toMatch(/no_such_database" does not exist.*\[DATABASE_REFUSED\]/s)
  })
})
