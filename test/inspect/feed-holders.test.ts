// An open transaction anywhere in the cluster holds the change feed back: who does it is named.

import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, it, vi } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import type { Queryable } from '../../src/database/sql.ts'
import { describeHolder, type FeedHolder, feedHolders } from '../../src/inspect/feed.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { openCommandLine } from '../cli/program.ts'
import { withDatabase } from '../helpers/addresses.ts'
import { isQuick } from '../helpers/extent.ts'
import { openOwnPostgres } from '../helpers/postgres-server.ts'
import { quiet } from '../helpers/rows.ts'
import { openAlerts } from '../messages/alerts-rig.ts'
import { openBarePages, readMetrics } from '../web/pages-rig.ts'

const apiUrl = 'http://127.0.0.1:9'

/**
 * Shows every open transaction as this old, to everybody who may see when it began: connections of the program find nothing but
 * what is in `pg_catalog`. So no test has to wait out the minute after which a holder is named.
 */
async function agedTransactions(db: Queryable): Promise<(age: string) => Promise<void>> {
  for (const statement of [
    'set allow_system_table_mods = on',
    'create schema aged',
    'create table aged.by (age interval)',
    `insert into aged.by values ('0')`,
    'alter view pg_catalog.pg_stat_activity rename to pg_real_activity',
    'alter view pg_catalog.pg_prepared_xacts rename to pg_real_prepared',
    `do $$ declare shown text; began text := 'clock_timestamp() - (select age from aged.by)'; begin
       select string_agg(case attname when 'xact_start' then format('case when xact_start is not null then %s end as xact_start', began)
           else quote_ident(attname) end, ', ' order by attnum) into shown
         from pg_attribute where attrelid = 'pg_catalog.pg_real_activity'::regclass and attnum > 0;
       execute 'create view pg_catalog.pg_stat_activity as select ' || shown || ' from pg_catalog.pg_real_activity';
       execute 'create view pg_catalog.pg_prepared_xacts as select transaction, gid, ' || began
         || ' as prepared, owner, database from pg_catalog.pg_real_prepared';
     end $$`,
    'grant select on pg_catalog.pg_stat_activity, pg_catalog.pg_prepared_xacts to public',
  ])
    await db.query(statement)
  return async (age) => {
    await db.query('update aged.by set age = $1', [age])
    await db.query('update mirror.change_log set changed_at = clock_timestamp() - $1::interval', [age])
  }
}

// Not with `npm test`: it waits for the minute after which a holder is one.
it.skipIf(isQuick)(
  'a session and a prepared transaction of another database are named and told after a minute, not before, wherever an operator looks, and to a role that sees no statistics of others; and no longer when they have ended',
  async () => {
    // For prepared transactions: on the common one they would hold the feeds of all other tests back.
    const own = await openOwnPostgres(join(inject('runFolder'), 'held-feed'), { max_prepared_transactions: '5' })
    await migrate(own.url)
    const opened: pg.Client[] = []
    const connect = async (address: string, application = 'test'): Promise<pg.Client> => {
      const client = new pg.Client({ connectionString: address, application_name: application })
      opened.push(client)
      await client.connect()
      return client
    }
    const showAged = await agedTransactions(await connect(own.url))
    const admin = await connect(own.url)
    const pages = await openBarePages({ DATABASE_URL: own.url })
    const database = openDatabase({ url: own.url, applicationName: 'test', max: 4, log: quiet })
    try {
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
      const pid = rows[0]?.pid
      const prepared = await connect(withDatabase(own.url, 'billing'))
      await prepared.query('begin')
      await prepared.query('select pg_current_xact_id()')
      await prepared.query(`prepare transaction 'job 7'`)
      await admin.query(
        `insert into mirror.change_log (stream, key, operation, diff) values ('x', '{"id": 1}', 'insert', '{}')`,
      )
      expect((await admin.query('select from mirror.changes_since()')).rowCount).toBe(0)

      await showAged('55 s')
      expect(await feedHolders(admin)).toEqual([])
      expect(await feedHolders(plain)).toEqual([])
      await showAged('61 s')
      const named = [
        { pid, gid: null, application: 'nightly load', database: 'billing', since: expect.any(Date) },
        { pid: null, gid: 'job 7', database: 'billing' },
      ]
      expect(await feedHolders(admin)).toMatchObject(named)
      expect(await feedHolders(plain)).toMatchObject(named)

      await using alerts = await openAlerts({ database, databaseUrl: own.url, apiUrl })
      alerts.start()
      // A message may still be on its way.
      await vi.waitFor(
        async () => {
          await alerts.twoMinutes()
          expect(alerts.messages()).toMatchObject([{ kind: 'feed', state: 'begun', stream: null }])
        },
        { timeout: 60_000 },
      )
      expect(alerts.messages()[0]?.details.commands).toEqual(['boat-mirror check'])

      // The age is shown at each look, so the metric's clock may be read seconds before the age on a busy machine.
      await showAged('1 h')
      const page = await (await pages.get('/')).text()
      const heldSeconds = async (): Promise<number | undefined> =>
        readMetrics(await (await pages.get('/metrics')).text()).get('boat_mirror_feed_held_seconds')
      expect(await heldSeconds()).toBeGreaterThan(60)
      await using cli = await openCommandLine({ DATABASE_URL: own.url, API_BASE_URL: apiUrl, API_AUTH: 'none' })
      const [status, check] = [await cli.run(['status']), await cli.run(['check'])]
      for (const text of [page, status.stdout, check.stdout])
        for (const who of [`process ${pid}`, 'nightly load', 'prepared transaction job 7', 'database billing'])
          expect(text).toContain(who)

      await session.query('rollback')
      await prepared.query(`rollback prepared 'job 7'`)
      expect(await feedHolders(admin)).toEqual([])
      await vi.waitFor(async () => expect(await heldSeconds()).toBe(0), { timeout: 60_000, interval: 200 }) // facts of a second ago are taken
      expect((await admin.query('select from mirror.changes_since()')).rowCount).toBe(1)
      // A look may still take facts of a second ago, and then misses these two minutes.
      await vi.waitFor(
        async () => {
          await alerts.twoMinutes()
          expect(alerts.messages().slice(1)).toMatchObject([{ kind: 'feed', state: 'over' }])
        },
        { timeout: 60_000 },
      )
    } finally {
      for (const client of opened) await client.end()
      await database.close()
      await pages[Symbol.asyncDispose]()
      await own.close()
    }
  },
)

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
    'mirror.changes_since returns nothing new: an open transaction of process 4711 (psql [2J, user etl, database billing) has held it back since 2026-07-01T09:00:00.000Z. End the transaction there, or run: select pg_terminate_backend(4711)',
  )
  expect(describeHolder({ ...holder, pid: null, gid: 'job 7' })).toContain(`rollback prepared 'job 7' in that database`)
})
