// A partner who has built on every table and view upgrades from each earlier schema: nothing of theirs is lost, and all works.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { migrations } from '../../migrations/index.ts'
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
      continue when t.relpersistence = 'u'; -- Postgres publishes no unlogged table
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
         and (select relkind from pg_class where oid = a.attrelid) = 'r'
     union all select 'trigger', tgrelid::regclass::text from pg_trigger where tgname = 'partner_count' and tgenabled = 'O'
     union all select 'index', indexdef from pg_indexes where indexdef like '%(partner_note)'
     union all select 'publication', schemaname || '.' || tablename from pg_publication_tables where pubname = 'partner'
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

  it('two at once from the oldest schema apply each migration once', async () => {
    await using database = await openEarlier('0003_outbox')
    const known = Object.keys(migrations)
    const results = await Promise.all([migrate(database.url), migrate(database.url)])
    expect(results.flatMap(({ applied }) => applied)).toEqual(known.slice(known.indexOf('0003_outbox') + 1))
    expect(await migrationStatus(database.url)).toMatchObject({ pending: [], unknown: [], repeatableCurrent: true })
  })
})
