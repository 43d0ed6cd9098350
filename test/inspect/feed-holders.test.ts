// An open transaction anywhere in the cluster holds the change feed back: who does it is named.

import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, it, vi } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import type { Queryable } from '../../src/database/sql.ts'
import { describeHolder, type FeedHolder, feedHolders } from '../../src/inspect/feed-holders.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { openCommandLine } from '../cli/program.ts'
import { withDatabase } from '../helpers/addresses.ts'
import { createTestPool } from '../helpers/database.ts'
import { openOwnPostgres } from '../helpers/postgres-server.ts'
import { quiet } from '../helpers/rows.ts'
import { openAlerts } from '../messages/alerts-rig.ts'
import { openBarePages, readMetrics } from '../web/pages-rig.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

// Each waits out the minute after which a holder is named: together.
it.concurrent('a transaction that writes is named and told after a minute, not before, and no longer when it has ended', async () => {
  // On a server of its own: on the common one it would hold the feeds of all other tests back.
  const server = await openOwnPostgres(join(inject('runFolder'), 'long-transaction'))
  await migrate(server.url)
  const database = openDatabase({ url: server.url, applicationName: 'test', max: 4, log: quiet })
  const pool = createTestPool(server.url, 4)
  const writer = await pool.connect()
  try {
    await writer.query(`set application_name = 'nightly load'`)
    await writer.query('begin')
    const { rows } = await writer.query<{ pid: number }>('select pg_backend_pid() as pid, pg_current_xact_id()')
    const pid = rows[0]?.pid
    const own = async (db: Queryable = pool): Promise<readonly FeedHolder[]> =>
      (await feedHolders(db)).filter((holder) => holder.pid === pid)
    expect(await own()).toEqual([])
    await vi.waitFor(
      async () => {
        expect(await own()).toHaveLength(1)
      },
      { timeout: 100_000, interval: 5_000 },
    )
    const [holder] = await own()
    expect(holder).toMatchObject({ pid, gid: null, application: 'nightly load', since: expect.any(Date) })
    const apiUrl = 'http://127.0.0.1:9'
    await using alerts = await openAlerts({ database, databaseUrl: server.url, apiUrl })
    alerts.start()
    await alerts.twoMinutes()
    expect(alerts.messages()).toMatchObject([{ kind: 'feed', state: 'begun', stream: null }])
    expect(alerts.messages()[0]?.details.commands).toEqual(['boat-mirror check'])
    await writer.query('rollback')
    expect(await own()).toEqual([])
    await alerts.looked(2)
    await alerts.twoMinutes()
    expect(alerts.messages().slice(1)).toMatchObject([{ kind: 'feed', state: 'over' }])
  } finally {
    writer.release(true)
    await pool.end()
    await database.close()
    await server.close()
  }
})

it.concurrent('a session and a prepared transaction of another database are named wherever an operator looks, and to a role that sees no statistics of others', async () => {
  // Prepared transactions need a server that allows them.
  const own = await openOwnPostgres(join(inject('runFolder'), 'held-feed'), { max_prepared_transactions: '5' })
  const opened: pg.Client[] = []
  const connect = async (address: string, application = 'test'): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: address, application_name: application })
    opened.push(client)
    await client.connect()
    return client
  }
  const pages = await openBarePages({ DATABASE_URL: own.url })
  try {
    const admin = await connect(own.url)
    for (const statement of [
      'create database billing',
      `create role plain login password 'plain'`,
      'grant usage on schema mirror to plain',
      'grant select on mirror.change_log to plain',
      'grant execute on function mirror.feed_epoch() to plain',
    ])
      await admin.query(statement)
    const address = new URL(own.url)
    ;[address.username, address.password] = ['plain', 'plain']
    const plain = await connect(address.href)

    const session = await connect(withDatabase(own.url, 'billing'), 'nightly load')
    await session.query('begin')
    const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid, pg_current_xact_id()')
    const prepared = await connect(withDatabase(own.url, 'billing'))
    await prepared.query('begin')
    await prepared.query('select pg_current_xact_id()')
    await prepared.query(`prepare transaction 'job 7'`)
    await admin.query(
      `insert into mirror.change_log (stream, key, operation, diff) values ('x', '{"id": 1}', 'insert', '{}')`,
    )
    expect((await admin.query('select from mirror.changes_since()')).rowCount).toBe(0)

    const named = [
      { pid: rows[0]?.pid, gid: null, application: 'nightly load', database: 'billing' },
      { pid: null, gid: 'job 7', database: 'billing' },
    ]
    const look = { timeout: 150_000, interval: 3_000 }
    await vi.waitFor(async () => expect(await feedHolders(admin)).toMatchObject(named), look)
    await vi.waitFor(async () => expect(await feedHolders(plain)).toMatchObject(named), look)

    const page = await (await pages.get('/')).text()
    const heldSeconds = async (): Promise<number | undefined> =>
      readMetrics(await (await pages.get('/metrics')).text()).get('boat_mirror_feed_held_seconds')
    expect(await heldSeconds()).toBeGreaterThan(60)
    await using cli = await openCommandLine({
      DATABASE_URL: own.url,
      API_BASE_URL: 'http://127.0.0.1:9',
      API_AUTH: 'none',
    })
    const [status, check] = await Promise.all([cli.run(['status']), cli.run(['check'])])
    for (const text of [page, status.stdout, check.stdout])
      for (const who of [`process ${rows[0]?.pid}`, 'nightly load', 'prepared transaction job 7', 'database billing'])
        expect(text).toContain(who)

    await session.query('rollback')
    await prepared.query(`rollback prepared 'job 7'`)
    expect(await feedHolders(admin)).toEqual([])
    await vi.waitFor(async () => expect(await heldSeconds()).toBe(0), { timeout: 10_000, interval: 200 }) // facts of a second ago are taken
    expect((await admin.query('select from mirror.changes_since()')).rowCount).toBe(1)
  } finally {
    for (const client of opened) await client.end()
    await pages[Symbol.asyncDispose]()
    await own.close()
  }
})

it('is described with what ends it, and without control sequences of its name', () => {
  const holder: FeedHolder = {
    pid: 4711,
    gid: null,
    application: 'psql\u001b[2J',
    user: 'etl',
    database: 'billing',
    since: new Date('2026-07-01T09:00:00Z'),
  }
  expect(describeHolder(holder)).toBe(
    'mirror.changes_since stands still: an open transaction of process 4711 (psql [2J, user etl, database billing) holds it back since 2026-07-01T09:00:00.000Z. End it there, or with: select pg_terminate_backend(4711)',
  )
  expect(describeHolder({ ...holder, pid: null, gid: 'job 7' })).toContain(`rollback prepared 'job 7' in that database`)
})
