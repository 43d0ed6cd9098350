// A page of a list costs what its own records cost, however long the list is and whatever Postgres knows of the tables:
// a first sync fills tables that were never analysed, and their plans once read all of them for every page.

import { beforeAll, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { Queryable } from '../../src/database/sql.ts'
import { tombstonedUsers } from '../../src/mirror/redact.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { listedRecords } from '../../src/sync/remembered/detail-states.ts'
import { knownRecords, knownSources } from '../../src/sync/remembered/known-records.ts'
import { readPayloads } from '../../src/sync/remembered/payloads.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const rentals = streamNamed('rentals')
const users = streamNamed('users')
const asked = Array.from({ length: 200 }, (_, index) => String(1 + index * 20))

const mirror = opened(openMirror)
beforeAll(async () => {
  const tables = ['mirror.rentals', 'mirror.users', 'sync.records']
  for (const table of tables) await mirror.all(`alter table ${table} set (autovacuum_enabled = off)`)
  for (const table of ['rentals', 'users'])
    await mirror.all(
      `insert into mirror.${table} (id, _payload, _source, _read_at, _deleted_at)
       select id, '{}', 'GET /v3/${table}', now(), case when id % 40 = 1 then now() end from generate_series(1, 5000) id`,
    )
  await mirror.all(
    `insert into sync.records (stream, key, list_hash) select 'rentals', id::text, 'h' || id from generate_series(1, 5000) id`,
  )
})

const lookups: readonly (readonly [string, number, (db: Queryable) => Promise<{ readonly size: number }>])[] = [
  ['what is known of records', 200, (db) => knownRecords(db, rentals, asked)],
  ['payloads of living records', 100, (db) => readPayloads(db, rentals, asked)],
  ['what the list said of records', 100, (db) => listedRecords(db, rentals, 'GET /v3/rentals', asked)],
  ['users who are gone', 100, (db) => tombstonedUsers(db, asked)],
  [
    'records that were read themselves',
    200,
    async (db) => (await knownSources(db, [{ stream: users, keys: asked }])).get('users') ?? new Map(),
  ],
]

/** Rows of the three tables that this connection has read, by scans and by indexes. */
async function rowsRead(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ read: number }>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables
     where relid in ('mirror.rentals'::regclass, 'mirror.users'::regclass, 'sync.records'::regclass)`,
  )
  return rows[0]?.read ?? Number.NaN
}

describe('of 5,000 records in tables that were never analysed, 200 are looked up', () => {
  for (const [what, found, look] of lookups)
    it(`${what}: no other row is read`, async () => {
      const read = await mirror.db.transaction(async (client) => {
        const before = await rowsRead(client)
        expect((await look(client)).size).toBe(found)
        return (await rowsRead(client)) - before
      })
      expect(read).toBeGreaterThanOrEqual(asked.length)
      expect(read).toBeLessThanOrEqual(2 * asked.length) // each in its table and among what is remembered
    })
})

describe('a few rows are merged by a plan that was made when the table was nearly empty', () => {
  it('and read no others when it has grown', async () => {
    const client = await mirror.db.pool.connect()
    const merge = async (round: number): Promise<number> => {
      await client.query('begin')
      const before = await harboursRead(client)
      const rows = [1, 2, 3].map((id) => rowOf('harbours', { id, name: `round ${round}` }))
      await applyWrites(client, { tables: [tableOf('harbours', round, rows)] })
      const read = (await harboursRead(client)) - before
      await client.query('commit')
      return read
    }
    try {
      await client.query('alter table mirror.harbours set (autovacuum_enabled = off)')
      for (let round = 1; round <= 10; round++) await merge(round)
      await client.query(
        `insert into mirror.harbours (id, _payload, _source, _read_at)
         select id, '{}', 'GET /v3/harbours', now() from generate_series(100, 20000) id`,
      )
      expect(await merge(11)).toBeLessThanOrEqual(30) // some versions of three rows, each read by two steps
    } finally {
      client.release()
    }
  })
})

// Any transaction of the server holds the feed back, also one of another database.
const isHeldBack = [false, true]

describe.each(isHeldBack)('a consumer that connected when the log was nearly empty, held back: %s', (isHeld) => {
  const functions = [
    ['mirror.next_changes', `select * from mirror.next_changes('early', 50)`],
    ['mirror.changes_since', 'select * from mirror.changes_since(mirror.last_cursor(), 50)'],
    ['mirror.history', `select * from mirror.history('harbours', '{"id": 20}')`],
    ['mirror.record_at', `select mirror.record_at('harbours', '{"id": 20}', now())`],
  ] as const

  it.each(functions)('%s reads no more of the log and of its table when they have grown', async (_name, sql) => {
    await using own = await openMirror()
    const { pool } = own.db
    const [consumer, other] = [await pool.connect(), await pool.connect()]
    if (isHeld) await other.query('begin; select pg_current_xact_id()')
    const write = async (ids: readonly number[]): Promise<void> => {
      const rows = ids.map((id) => rowOf('harbours', { id, name: `Harbour ${id}` }))
      await own.db.transaction((client) => applyWrites(client, { tables: [tableOf('harbours', 1, rows)] }))
    }
    const ask = async (): Promise<number> => {
      await consumer.query('begin')
      const before = await logAndHarboursRead(consumer)
      await consumer.query(sql)
      const read = (await logAndHarboursRead(consumer)) - before
      await consumer.query('commit')
      return read
    }
    try {
      for (const table of ['mirror.harbours', ...(await own.all(partitions)).map(({ name }) => String(name))])
        await own.all(`alter table ${table} set (autovacuum_enabled = off)`)
      for (let id = 1; id <= 10; id++) {
        await write([id])
        await ask()
      }
      await own.all('analyze')
      for (let round = 0; round < 8; round++) await ask() // by then the plan is kept
      await write(Array.from({ length: 5_000 }, (_, index) => 11 + index))
      expect(await ask()).toBeLessThanOrEqual(500) // 50 entries, found in their order, each with its row and its later ones
    } finally {
      consumer.release()
      other.release(true)
    }
  })
})

const partitions = `select c.oid::regclass::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'mirror.change_log'::regclass`

async function logAndHarboursRead(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ read: number }>(
    `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as read from pg_stat_xact_all_tables
     where schemaname = 'mirror_log' or relid = 'mirror.harbours'::regclass`,
  )
  return rows[0]?.read ?? Number.NaN
}

async function harboursRead(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ read: number }>(
    `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables
     where relid = 'mirror.harbours'::regclass`,
  )
  return rows[0]?.read ?? Number.NaN
}
