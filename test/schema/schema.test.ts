// The migrated tables are those of the catalog, everything is explained, and each role sees what it may.

import { describe, expect, it } from 'vitest'
import { readEndpoints, streamNamed, streams } from '../../src/catalog/catalog.ts'
import { columnComment, tableComment } from '../../src/schema/comments.ts'
import { opened } from '../helpers/opened.ts'
import { at, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)

const bookkeeping = {
  _payload: 'jsonb not null',
  _source: 'text not null',
  _read_at: 'timestamp with time zone not null',
  _changed_at: 'timestamp with time zone not null',
  _deleted_at: 'timestamp with time zone',
}

const typeNames: Readonly<Record<string, string>> = {
  timestamptz: 'timestamp with time zone',
  timestamp: 'timestamp without time zone',
}

type ColumnRow = { table: string; column: string; type: string; comment: string | null }

const columnsOf = (schema: string): Promise<ColumnRow[]> =>
  mirror.all<ColumnRow>(
    `select c.relname as table, a.attname as column,
       format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end as type,
       col_description(c.oid, a.attnum) as comment
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'v') order by c.relname, a.attnum`,
    [schema],
  )

describe('schema mirror', () => {
  it('has one table for each record type of the catalog, with its columns in their types', async () => {
    const found = await columnsOf('mirror')
    for (const stream of streams) {
      const expected = Object.fromEntries(
        stream.columns.map(({ name, type }) => [
          name,
          `${typeNames[type] ?? type}${stream.key.includes(name) ? ' not null' : ''}`,
        ]),
      )
      const columns = found.filter(({ table }) => table === stream.name)
      expect(Object.fromEntries(columns.map(({ column, type }) => [column, type]))).toEqual({
        ...expected,
        ...bookkeeping,
      })
    }
    const tables = await mirror.all<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'mirror' and tablename <> 'change_log' order by 1`,
    )
    expect(tables.map(({ name }) => name)).toEqual(streams.map(({ name }) => name).sort())
  })

  it('has the catalog’s keys as primary keys, and an index on every reference', async () => {
    const indexes = await mirror.all<{ table: string; columns: string[]; primary: boolean }>(
      `select c.relname as table, i.indisprimary as primary,
         array(select a.attname::text from unnest(i.indkey) with ordinality k(attnum, place)
           join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum order by place) as columns
       from pg_index i join pg_class c on c.oid = i.indrelid where c.relnamespace = 'mirror'::regnamespace`,
    )
    for (const stream of streams) {
      const own = indexes.filter(({ table }) => table === stream.name)
      expect(own.filter(({ primary }) => primary).map(({ columns }) => columns)).toEqual([stream.key])
      const leading = own.map(({ columns }) => columns[0])
      const wanted = [...stream.columns.filter(({ reference }) => reference === true).map(({ name }) => name)]
      if (stream.parentKey?.[0] !== undefined) wanted.push(stream.parentKey[0])
      for (const column of wanted) expect(leading, `${stream.name}.${column}`).toContain(column)
    }
  })

  it('has no foreign keys and refuses nothing but a second row of one key', async () => {
    const constraints = await mirror.all(
      `select conrelid::regclass::text as table, contype from pg_constraint
       where connamespace = 'mirror'::regnamespace and contype not in ('p', 'n') and conrelid <> 'mirror.change_log'::regclass`,
    )
    expect(constraints).toEqual([])
  })
})

describe('schema live', () => {
  it('has every table with its columns, currencies as codes, and only what is not gone', async () => {
    const found = await columnsOf('live')
    for (const stream of streams) {
      const own = found.filter(({ table }) => table === stream.name)
      expect(Object.fromEntries(own.map(({ column, type }) => [column, type]))).toEqual(
        Object.fromEntries([
          ...stream.columns.map(({ name, type, currency }) => [
            name,
            currency === true ? 'text' : (typeNames[type] ?? type),
          ]),
          ...Object.entries(bookkeeping)
            .filter(([name]) => name !== '_deleted_at')
            .map(([name, type]) => [name, type.replace(' not null', '')]),
        ]),
      )
      for (const { column, comment } of own) expect(comment, `${stream.name}.${column}`).not.toBeNull()
    }
    // Whatever a catalog calls a currency is one.
    const json = streams.flatMap(({ columns }) =>
      columns.filter(({ type, name }) => type === 'jsonb' && /currency$/.test(name)),
    )
    expect(json.filter(({ currency }) => currency !== true)).toEqual([])

    const pound = { rental_id: 9, id: 1, currency: JSON.stringify({ code: 'GBP' }) }
    const euro = { rental_id: 9, id: 2, currency: JSON.stringify('EUR') }
    const payments = [
      rowOf('rental_payments', pound),
      rowOf('rental_payments', euro),
      rowOf('rental_payments', { rental_id: 9, id: 3 }),
    ]
    await mirror.write({ tables: [tableOf('rental_payments', 1, payments)] })
    await mirror.write({
      tombstones: [
        {
          stream: streamNamed('rental_payments'),
          keys: [['9', '2']],
          source: 'GET /v3/rentals/9/payments/2',
          readAt: at(2),
        },
      ],
    })
    expect(await mirror.all('select id, currency from live.rental_payments where rental_id = 9 order by id')).toEqual([
      { id: '1', currency: 'GBP' },
      { id: '3', currency: null },
    ])
  })
})

describe('comments', () => {
  it('say on every table and column of the mirror what the catalog says', async () => {
    const columns = await columnsOf('mirror')
    const tables = await mirror.all<{ name: string; comment: string }>(
      `select relname as name, obj_description(oid, 'pg_class') as comment from pg_class
       where relnamespace = 'mirror'::regnamespace and relkind = 'r'`,
    )
    for (const stream of streams) {
      expect(tables.find(({ name }) => name === stream.name)?.comment).toBe(tableComment(stream))
      for (const column of stream.columns) {
        const found = columns.find((each) => each.table === stream.name && each.column === column.name)
        expect(found?.comment).toBe(columnComment(column))
      }
    }
  })

  it('are on every table, view and column of mirror, mirror_views, live and sync', async () => {
    // Kysely's own two tables keep what was migrated.
    const bare = await mirror.all(
      `select c.oid::regclass::text as object from pg_class c
         where c.relnamespace in ('mirror'::regnamespace, 'mirror_views'::regnamespace, 'live'::regnamespace, 'sync'::regnamespace)
           and c.relkind in ('r', 'v') and c.relname not like 'migrations%' and obj_description(c.oid, 'pg_class') is null
       union all
       select c.oid::regclass::text || '.' || a.attname from pg_class c
         join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         where c.relnamespace in ('mirror'::regnamespace, 'mirror_views'::regnamespace, 'live'::regnamespace, 'sync'::regnamespace)
           and c.relkind = 'r' and c.relname not like 'migrations%' and col_description(c.oid, a.attnum) is null`,
    )
    expect(bare).toEqual([])
  })
})

describe('schema sync', () => {
  it('lists the streams and the read endpoints from the start', async () => {
    const names = await mirror.all<{ stream: string }>('select stream from sync.streams order by stream')
    expect(names.map(({ stream }) => stream)).toEqual(streams.map(({ name }) => name).sort())
    const endpoints = await mirror.all<{ endpoint: string }>('select endpoint from sync.endpoints')
    expect(endpoints.map(({ endpoint }) => endpoint).sort()).toEqual([...readEndpoints].sort())
  })
})

describe('roles', () => {
  /** Runs a statement as a role; what it answers, or the SQLSTATE of its refusal. */
  async function as(role: string, sql: string): Promise<unknown> {
    const client = await mirror.db.pool.connect()
    try {
      await client.query('begin')
      await client.query(`set local role ${role}`)
      return (await client.query(sql)).rowCount
    } catch (error) {
      return (error as { code?: string }).code
    } finally {
      await client.query('rollback')
      client.release()
    }
  }
  const denied = '42501'

  it('the reader has views without documents, personal columns and payloads of persons', async () => {
    const columns = await columnsOf('mirror_views')
    expect(new Set(columns.map(({ table }) => table))).toEqual(
      new Set(streams.filter(({ document }) => document !== true).map(({ name }) => name)),
    )
    for (const stream of streams)
      for (const { name, personal } of stream.columns.filter((column) => column.personal === true)) {
        expect(personal).toBe(true)
        expect(columns.find(({ table, column }) => table === stream.name && column === name)).toBeUndefined()
      }
    const withPayload = columns.filter(({ column }) => column === '_payload').map(({ table }) => table)
    expect(withPayload).toContain('resources')
    for (const name of ['users', 'rentals', 'rental_crew_members']) expect(withPayload).not.toContain(name)
  })

  const statements = [
    { sql: 'select * from mirror_views.rentals limit 0', reader: 0, partner: 0, enqueue: denied },
    { sql: 'select * from live.rentals limit 0', reader: denied, partner: 0, enqueue: denied },
    { sql: 'select id, total_paid from live.rentals limit 0', reader: 0, partner: 0, enqueue: denied },
    { sql: 'select email from live.users limit 0', reader: denied, partner: 0, enqueue: denied },
    { sql: 'select user_id from live.user_licenses limit 0', reader: denied, partner: 0, enqueue: denied },
    { sql: 'select * from live.resources limit 0', reader: 0, partner: 0, enqueue: denied },
    { sql: 'select * from mirror.rentals limit 0', reader: denied, partner: 0, enqueue: denied },
    { sql: 'select * from mirror.user_licenses limit 0', reader: denied, partner: 0, enqueue: denied },
    { sql: 'select * from mirror.change_log limit 0', reader: denied, partner: 0, enqueue: denied },
    { sql: 'select * from mirror.changes_since(null, 1) limit 0', reader: denied, partner: 0, enqueue: denied },
    { sql: 'select * from sync.streams', reader: streams.length, partner: streams.length, enqueue: denied },
    { sql: 'select * from sync.quarantine', reader: 0, partner: 1, enqueue: denied },
    { sql: `delete from mirror.rentals`, reader: denied, partner: denied, enqueue: denied },
    { sql: `update sync.streams set rows = 1`, reader: denied, partner: denied, enqueue: denied },
    {
      sql: `insert into mirror.change_log (stream, key, operation, diff) values ('x', '{}', 'insert', '{}')`,
      reader: denied,
      partner: denied,
      enqueue: denied,
    },
    { sql: 'create table mirror.x ()', reader: denied, partner: denied, enqueue: denied },
  ]
  for (const { sql, ...expected } of statements)
    it(`${sql}`, async () => {
      await mirror.db.pool.query(
        `insert into sync.quarantine (stream, key, endpoint, payload, reason)
         values ('users', '1', 'GET /v3/users', '{"firstName": "Ada"}', 'no') on conflict do nothing`,
      )
      for (const [role, answer] of Object.entries(expected))
        expect(await as(`boat_mirror_${role}`, sql), role).toBe(answer)
    })

  it('what the reader sees of a rental says nothing of its user but the id', async () => {
    const rental = rowOf(
      'rentals',
      { id: 1, user_id: 7, message: 'call Ada' },
      { id: 1, user: { id: 7, firstName: 'Ada' } },
    )
    await mirror.write({ tables: [tableOf('rentals', 1, [rental])] })
    const [row] = await mirror.all('select v::text as row from mirror_views.rentals v where id = 1')
    expect(String(row?.row)).not.toContain('Ada')
    expect(String(row?.row)).toContain('7')
  })
})
