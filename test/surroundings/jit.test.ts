// A Postgres that compiles (JIT), as distributions package it: nothing that partners and the program ask of it is compiled,
// for any role; in full, it takes as long as without.

import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { readStatus } from '../../src/inspect/read-status.ts'
import { webhookConsumer } from '../../src/inspect/webhook.ts'
import { startWebhook } from '../../src/messages/webhook/webhook.ts'
import { followFeed } from '../../src/mirror/follow.ts'
import { openCommandLine } from '../cli/program.ts'
import { createTestPool } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { findJitPostgres, jitSettings } from '../helpers/jit-postgres.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { statementsOf } from '../helpers/plans.ts'
import { openInstalledPostgres } from '../helpers/postgres-versions.ts'
import { quiet } from '../helpers/rows.ts'
import { openReceiver } from '../messages/receiver.ts'

const installed = findJitPostgres()

let server: { readonly url: string; close(): Promise<void> }
let mirror: TestMirror

/** The same database, for sessions that do not compile. */
const withoutJit = (url: string): string => {
  const other = new URL(url)
  other.searchParams.set('options', '-c jit=off')
  return other.href
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** What planning, parsing and this machine add to the shortest statements. */
const graceMs = 25

/** Compares the shortest times, asked in turn, as what else the machine does disturbs both. */
async function expectAsFast(ask: (url: string) => Promise<number>): Promise<void> {
  let [compiling, plain] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < (isFull ? 7 : 3); round++) {
    compiling = Math.min(compiling, await ask(server.url))
    plain = Math.min(plain, await ask(withoutJit(server.url)))
  }
  expect(compiling).toBeLessThan(2 * plain + graceMs)
}

/** Opened as the program opens it. */
async function withDatabase(url: string, work: (database: Database) => Promise<unknown>): Promise<number> {
  const database = openDatabase({ url, applicationName: 'test', max: 4, log: quiet })
  try {
    await database.pool.query('select')
    return await timed(() => work(database))
  } finally {
    await database.close()
  }
}

const asked = [
  'select * from mirror.changes_since(null, 5)',
  'select * from mirror.changes_since(null, 500)',
  `select * from mirror.next_changes('first', 500)`,
  'select * from sync.consumers',
  'select * from mirror.changes',
  `select * from mirror.history('rentals', '{"id": 20001}')`,
  'select * from report.rentals',
  'select * from report.fleet',
  'select * from report.freshness',
]
beforeAll(async () => {
  if (installed === undefined) return
  server = await openInstalledPostgres(installed, join(inject('runFolder'), 'jit'), {
    ...jitSettings,
    fsync: 'off',
    synchronous_commit: 'off',
  })
  const pool = createTestPool(server.url, 4)
  const database = { url: server.url, pool, [Symbol.asyncDispose]: () => pool.end() }
  mirror = await openTestMirror({ size: isFull ? 200 : 20 }, {}, database)
  for (const run of await mirror.sync()) expect(run).toMatchObject({ error: null })
  await mirror.stopWorker()
  for (const name of ['first', 'second', 'third']) await pool.query('select mirror.next_changes($1, 1)', [name])
})
afterAll(async () => {
  await mirror?.[Symbol.asyncDispose]()
  await server?.close()
})

describe.skipIf(installed === undefined || !isFull)('Postgres of a distribution, with JIT', () => {
  it('compiles what it expects to be expensive', async () => {
    const pool = createTestPool(server.url, 1)
    const dear = 'select count(*) from generate_series(1, 10) a, generate_series(1, 10) b where a + b > 3'
    const statements = await statementsOf(pool, (client) => client.query(dear), 'set local jit_above_cost = 0')
    await pool.end()
    expect(statements.map(({ compiled }) => compiled)).toEqual([true])
  })

  it('compiles nothing of ours, nor what functions do inside', async () => {
    const pool = createTestPool(server.url, 1)
    const statements = await statementsOf(pool, async (client) => {
      for (const sql of asked) await client.query(sql)
    })
    await pool.end()
    expect(statements.length).toBeGreaterThan(asked.length)
    expect(statements.filter(({ compiled }) => compiled)).toEqual([])
  })
})

const howLong = (): void => {
  for (const sql of asked)
    it(`answers within twice the time without: ${sql}`, async () => {
      await expectAsFast(async (url) => {
        const client = new pg.Client(url) // a session of its own, as psql has it: nothing is planned yet
        await client.connect()
        try {
          return await timed(() => client.query(sql))
        } finally {
          await client.end()
        }
      })
    })

  it('gives the feed, the status and the webhook within twice the time without', async () => {
    const config = readConfig({ DATABASE_URL: server.url }, '/nonexistent')
    await expectAsFast((url) =>
      withDatabase(url, async ({ pool }) => {
        for await (const _ of followFeed(pool, { cursor: null }, null));
      }),
    )
    await expectAsFast((url) => withDatabase(url, (database) => readStatus(config, { database, url }, null)))
    await using receiver = await openReceiver()
    const { proxies } = config.api
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    await expectAsFast((url) =>
      withDatabase(url, async (database) => {
        await database.pool.query(`select mirror.reset_consumer($1, 'start')`, [webhookConsumer])
        await database.pool.query('truncate sync.webhook_batch, sync.senders')
        const before = receiver.received.length
        const options = { url: receiver.url, secrets: [secret], streams: null, proxies, clock: systemClock, log: quiet }
        const webhook = startWebhook({ ...options, database, listenUrl: null, timeLimitMs: 5_000 })
        // 500 changes a call.
        await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThanOrEqual(before + 3), {
          timeout: 60_000,
          interval: 5,
        })
        await webhook.stop()
      }),
    )
  })

  it('shows the status by the command within twice the time without', async () => {
    await using cli = await openCommandLine({ API_BASE_URL: mirror.sandbox.url, API_AUTH: 'none' })
    await expectAsFast((url) =>
      timed(async () => expect(await cli.run(['status'], { DATABASE_URL: url })).toMatchObject({ code: 0 })),
    )
  })
}
if (isFull && installed !== undefined) describe('How long it takes with JIT', howLong)
