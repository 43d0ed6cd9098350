// A partner who has built on every table and view upgrades from each earlier schema: nothing of theirs is lost, and all works.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { migrations } from '../../migrations/index.ts'
import { isRepeatable } from '../../src/database/sql-states.ts'
import type { BoatMirrorError } from '../../src/errors.ts'
import { migrate, migrationStatus } from '../../src/schema/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

// A database of each earlier version is filled, migrated and synced.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

const earlier = ['0003_outbox', '0004_reports', '0005_traffic', '0006_outbox_seen', '0007_outbox_visibility']
/** Those whose mirror is synced afterwards: in the suite the oldest and the newest, through which the others lead. */
const synced = process.env.SURROUNDINGS === 'full' ? earlier : [earlier[0], earlier.at(-1)]
const ours = `('mirror', 'mirror_views', 'live', 'sync', 'outbox', 'report')`
const file = (name: string): string => fileURLToPath(new URL(`./earlier-schemas/${name}.sql.gz`, import.meta.url))

/** A database as an earlier version left it, with a rental in it. */
async function openEarlier(name: string): Promise<TestDatabase> {
  const database = await createTestDatabase({ migrated: false })
  await (await createTestDatabase())[Symbol.asyncDispose]() // the roles that the dump grants to
  const client = await database.pool.connect()
  await client.query(gunzipSync(await readFile(file(name))).toString('utf8'))
  client.release(true) // a dump leaves settings behind
  await database.pool.query(`insert into sync.runs (stream, trigger, status) values ('rentals', 'test', 'done')`)
  await database.pool.query(
    `insert into mirror.harbours (id, _payload, _source, _read_at) values (4711, '{"id": 4711}', 'GET /v3/harbours', now() - interval '1 day')`,
  )
  return database
}

/** On every table a view, a column, a trigger that counts, an index and a publication; on every view a view with a grant. */
const partner = `create schema partner;
  create table partner.seen (relation text primary key, times bigint not null);
  create function partner.count() returns trigger language plpgsql security definer as $$ begin
    insert into partner.seen values (tg_relid::regclass::text, 1) on conflict (relation) do update set times = seen.times + 1;
    return null;
  end $$;
  create publication partner;
  do $$ declare t record; n int := 0; begin
    for t in select c.oid::regclass as name, c.relkind as kind, c.relpersistence from pg_class c
      where c.relnamespace::regnamespace::text in ${ours} and c.relkind in ('r', 'v') order by c.oid
    loop
      n := n + 1;
      execute format('create view partner.v%s as select * from %s', n, t.name);
      execute format('comment on view partner.v%s is %L', n, t.name);
      execute format('grant select on partner.v%s to boat_mirror_reader', n);
      continue when t.kind = 'v';
      execute format('alter table %s add column partner_note text default ''mine''', t.name);
      execute format('create index on %s (partner_note)', t.name);
      execute format('create trigger partner_count after insert or update or delete on %s for each statement execute function partner.count()', t.name);
      -- Postgres publishes no unlogged table, and the change log is refused: see below
      continue when t.relpersistence = 'u' or t.name = 'mirror.change_log'::regclass;
      execute format('alter publication partner add table %s', t.name);
    end loop;
  end $$`

/** All that the partner made, as Postgres describes it. */
async function partnersThings({ pool }: TestDatabase): Promise<readonly { kind: string; what: string }[]> {
  const { rows } = await pool.query(
    `select 'view' as kind, concat_ws(' ', c.relname, obj_description(c.oid), c.relacl::text, pg_get_viewdef(c.oid)) as what
       from pg_class c where c.relnamespace = 'partner'::regnamespace and c.relkind = 'v'
     union all select 'column', a.attrelid::regclass::text from pg_attribute a
       where a.attname = 'partner_note' and a.attrelid::regclass::text not like 'partner.%' and a.attnum > 0
         and (select relkind in ('r', 'p') and not relispartition from pg_class where oid = a.attrelid)
     union all select 'trigger', tgrelid::regclass::text from pg_trigger where tgname = 'partner_count' and tgenabled = 'O'
     union all select 'index', replace(indexdef, ' ON ONLY ', ' ON ') from pg_indexes
       where indexdef like '%(partner_note)' and schemaname <> 'mirror_log'
     union all select 'publication', schemaname || '.' || tablename from pg_publication_tables where pubname = 'partner'
     order by 1, 2`,
  )
  return rows
}

/** What stands on the change log and cannot be made again on partitions, with the statement that takes it away. */
const inTheWay: Readonly<Record<string, string>> = {
  'create publication changes for table mirror.change_log': 'alter publication changes drop table mirror.change_log',
  'create materialized view partner.latest as select max(seq) from mirror.change_log':
    'drop materialized view partner.latest',
  'create table partner.done (seq bigint constraint of_log references mirror.change_log (seq))':
    'alter table partner.done drop constraint of_log',
  'create rule quiet as on delete to mirror.change_log do instead nothing': 'drop rule quiet on mirror.change_log',
  'create policy mine on mirror.change_log using (true)': 'drop policy mine on mirror.change_log',
  'create unique index once on mirror.change_log (stream, seq)': 'drop index mirror.once',
  'create function partner.entries() returns setof mirror.change_log language sql as $$ select * from mirror.change_log $$':
    'drop function partner.entries()',
  'create table partner.kept (entry mirror.change_log)': 'alter table partner.kept drop column entry',
  'create trigger each_row after insert on mirror.change_log referencing new table as fresh for each row execute function partner.count()':
    'drop trigger each_row on mirror.change_log',
}

/** Who may do what with the change log, and what of the partner's happens there. */
const rights = `grant insert on mirror.change_log to boat_mirror_enqueue with grant option;
  grant select (seq) on mirror.change_log to boat_mirror_reader;
  grant usage on sequence mirror.change_log_seq_seq to boat_mirror_enqueue;
  alter table mirror.change_log disable trigger partner_count;
  create view partner.guarded with (security_barrier = true, check_option = local) as select seq from mirror.change_log where seq > 0`

async function rightsOnLog({ pool }: TestDatabase): Promise<readonly unknown[]> {
  const { rows } = await pool.query(
    `select relname as name, g.grantee::regrole || ' ' || g.privilege_type || ' ' || g.is_grantable as what
       from pg_class cross join aclexplode(relacl) g
       where oid in ('mirror.change_log'::regclass, 'mirror.change_log_seq_seq'::regclass) and g.grantee > 0
     union all select attname, attacl::text from pg_attribute where attrelid = 'mirror.change_log'::regclass and attacl is not null
     union all select tgname, tgenabled::text from pg_trigger where tgrelid = 'mirror.change_log'::regclass and tgname = 'partner_count'
     union all select relname, reloptions::text from pg_class where oid = 'partner.guarded'::regclass
     order by 1, 2`,
  )
  return rows
}

/** A mirror in the database that was synced to the truth; twice, as what is gone upstream is confirmed by a second look. */
async function openSynced(database: TestDatabase): Promise<TestMirror> {
  const mirror = await openTestMirror({ size: 3 }, {}, database)
  for (const run of await mirror.sync()) expect(run).toMatchObject({ error: null })
  await mirror.sync()
  expect((await mirror.differences()).filter((line) => !line.includes('4711'))).toEqual([])
  return mirror
}

describe('an upgrade, with a view, a column, a trigger, an index and a publication of a partner on every table', () => {
  for (const name of earlier)
    it(`from ${name}: all of it stays and works${synced.includes(name) ? ', and a sync equals the truth' : ''}`, async () => {
      const database = await openEarlier(name)
      const known = Object.keys(migrations)
      await database.pool.query(partner)
      const before = await partnersThings(database)
      expect(new Set(before.map(({ kind }) => kind)).size).toBe(5)
      expect((await migrate(database.url)).applied).toEqual(known.slice(known.indexOf(name) + 1))
      expect(await partnersThings(database)).toEqual(before)

      await using _ = synced.includes(name) ? await openSynced(database) : database
      await database.pool.query('update mirror.rentals set _source = _source')
      const { rows: views } = await database.pool.query<{ name: string }>(
        `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'partner'::regnamespace and c.relkind = 'v'`,
      )
      for (const view of views) await database.pool.query(`select * from ${view.name}`)
      const { rows } = await database.pool.query(
        `select (select times > 0 from partner.seen where relation = 'mirror.rentals') as fired,
                (select partner_note from mirror.harbours where id = 4711) as note`,
      )
      expect(rows).toEqual([{ fired: true, note: 'mine' }])
    }, 300_000)

  it('is refused where something on the change log cannot be made again: each is named with what takes it away', async () => {
    await using database = await openEarlier('0007_outbox_visibility')
    await database.pool.query(`${partner}; ${Object.keys(inTheWay).join(';')}`)
    const refusal = await migrate(database.url).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'DATABASE_SCHEMA' })
    const { remedy = '' } = refusal as BoatMirrorError
    for (const statement of Object.values(inTheWay)) expect(remedy).toContain(statement)
    expect(await migrationStatus(database.url)).toMatchObject({
      pending: expect.arrayContaining(['0008_change_log_whole']),
    })
    const statements = /run: (.*); then/s.exec(remedy)?.[1] ?? ''
    expect(statements.split('; ').sort()).toEqual(Object.values(inTheWay).sort())
    await database.pool.query(`${statements}; ${rights}`)
    const before = await rightsOnLog(database)
    await migrate(database.url)
    expect(await rightsOnLog(database)).toEqual(before)
  })

  it('while entries are written and read: none is lost or given twice, and cursors of before go on', async () => {
    await using database = await openEarlier('0007_outbox_visibility')
    const { pool } = database
    await pool.query(`insert into mirror.change_log (stream, key, operation, diff, changed_at)
      select 'x', jsonb_build_object('id', n), 'insert', '{}', now() - n * interval '1 hour' from generate_series(1, 20000) n`)
    const written: string[] = []
    let migrated = false
    const write = async (number: number): Promise<void> => {
      for (let more = 20; more > 0; more -= migrated ? 1 : 0) {
        const client = await pool.connect()
        try {
          await client.query('begin')
          const { rows } = await client.query<{ seq: string }>(
            `insert into mirror.change_log (stream, key, operation, diff) values ('x', $1, 'update', '{}') returning seq`,
            [{ id: number }],
          )
          await client.query('commit')
          written.push(rows[0]?.seq ?? '')
        } catch (error) {
          if (!isRepeatable(error)) throw error // as the program's own transactions, which run again
          await client.query('rollback')
        } finally {
          client.release()
        }
      }
    }
    const given: string[] = []
    let cursor: string | null = null
    const read = async (): Promise<number> => {
      const { rows }: { rows: { cursor: string; seq: string }[] } = await pool
        .query('select cursor, seq from mirror.changes_since($1, 500)', [cursor])
        .catch((error: unknown) => {
          if (isRepeatable(error)) return { rows: [] }
          throw error
        })
      given.push(...rows.map(({ seq }) => seq))
      cursor = rows.at(-1)?.cursor ?? cursor
      return rows.length
    }
    const follow = async (): Promise<void> => {
      while (!migrated) await read()
    }
    const others = [write(1), write(2), follow()]
    try {
      await vi.waitFor(() => expect(cursor !== null && written.length > 20).toBe(true), 60_000)
      await migrate(database.url)
    } finally {
      migrated = true
      await Promise.all(others)
    }
    await vi.waitFor(
      async () => {
        while ((await read()) > 0);
        expect(given).toHaveLength(20_000 + written.length)
      },
      { timeout: 60_000 },
    )
    const { rows } = await pool.query<{ seq: string }>('select seq from mirror.change_log order by seq')
    expect(given.map(Number).sort((a, b) => a - b)).toEqual(rows.map(({ seq }) => Number(seq)))
    expect(rows.map(({ seq }) => seq)).toEqual(expect.arrayContaining(written))
  })

  it('two at once from the oldest schema apply each migration once', async () => {
    await using database = await openEarlier('0003_outbox')
    const known = Object.keys(migrations)
    const results = await Promise.all([migrate(database.url), migrate(database.url)])
    expect(results.flatMap(({ applied }) => applied)).toEqual(known.slice(known.indexOf('0003_outbox') + 1))
    expect(await migrationStatus(database.url)).toMatchObject({ pending: [], unknown: [], repeatableCurrent: true })
  })
})
