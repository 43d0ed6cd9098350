// The upgrade of a database of before the baseline, with psql alone: nothing is lost, and changes are settled as they would
// have been. Whatever it does not fit is refused, and left as it was.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { migrations } from '../../migrations/index.ts'
import { isObject, type Json, type JsonObject, stringifyJson } from '../../src/api/wire/json.ts'
import { writeNamed } from '../../src/catalog/writes.ts'
import { updateBody } from '../../src/outbox/kinds/update.ts'
import { readValue } from '../../src/outbox/values.ts'
import { migrate, migrationStatus } from '../../src/schema/migrate.ts'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { findPsql, runPsql } from '../helpers/psql.ts'
import { feedSettled } from '../helpers/rows.ts'
import { createRig, type Rig } from '../outbox/rig.ts'

const psql = findPsql()
const script = fileURLToPath(new URL('../../deploy/upgrade-to-baseline.sql', import.meta.url))
const dump = new URL('./earlier-schemas/before-baseline.sql.gz', import.meta.url)
const upgrade = (database: TestDatabase) => runPsql(psql ?? '', database.url, script)

/** A database as the last version before the baseline left it. */
async function openEarlier(): Promise<TestDatabase> {
  const database = await createTestDatabase({ migrated: false })
  await (await createTestDatabase())[Symbol.asyncDispose]() // the roles that the dump grants to
  const client = await database.pool.connect()
  await client.query(gunzipSync(await readFile(dump)).toString('utf8'))
  client.release(true) // a dump leaves settings behind
  return database
}

const ours = `('mirror', 'mirror_views', 'live', 'sync', 'outbox', 'report', 'company_access')`

/** On every table a view, a column, a trigger that counts, an index and a publication; on every view a view with a grant. */
const partner = `create schema partner;
  create table partner.seen (relation text primary key, times bigint not null);
  create function partner.count() returns trigger language plpgsql security definer as $$ begin
    insert into partner.seen values (tg_relid::regclass::text, 1) on conflict (relation) do update set times = seen.times + 1;
    return null;
  end $$;
  create publication partner with (publish_via_partition_root);
  do $$ declare t record; n int := 0; begin
    for t in select c.oid::regclass as name, c.relkind as kind, c.relpersistence from pg_class c
      where c.relnamespace::regnamespace::text in ${ours} and c.relkind in ('r', 'p', 'v') order by c.oid
    loop
      n := n + 1;
      execute format('create view partner.v%s as select * from %s', n, t.name);
      execute format('comment on view partner.v%s is %L', n, t.name);
      execute format('grant select on partner.v%s to boat_mirror_reader', n);
      continue when t.kind = 'v';
      execute format('alter table %s add column partner_note text default ''mine''', t.name);
      execute format('create index on %s (partner_note)', t.name);
      execute format('create trigger partner_count after insert or update or delete on %s for each statement execute function partner.count()', t.name);
      execute format('grant select, update on %s to boat_mirror_enqueue with grant option', t.name);
      continue when t.relpersistence = 'u'; -- Postgres publishes no unlogged table
      execute format('alter publication partner add table %s', t.name);
    end loop;
  end $$`

/** All that the partner made, as Postgres describes it. */
async function partnersThings({ pool }: TestDatabase): Promise<readonly { kind: string; what: string }[]> {
  const { rows } = await pool.query(
    `select 'view' as kind, concat_ws(' ', c.relname, obj_description(c.oid), c.relacl::text, pg_get_viewdef(c.oid)) as what
       from pg_class c where c.relnamespace = 'partner'::regnamespace and c.relkind = 'v'
     union all select 'column', a.attrelid::regclass::text from pg_attribute a join pg_class c on c.oid = a.attrelid
       where a.attname = 'partner_note' and a.attnum > 0 and c.relkind in ('r', 'p') and not c.relispartition
     union all select 'trigger', tgrelid::regclass::text from pg_trigger where tgname = 'partner_count' and tgenabled = 'O'
     union all select 'index', indexdef from pg_indexes where indexdef like '%(partner_note)' and schemaname <> 'mirror_log'
     union all select 'publication', schemaname || '.' || tablename from pg_publication_tables where pubname = 'partner'
     union all select 'grant', c.oid::regclass || ' ' || g.privilege_type || ' ' || g.is_grantable
       from pg_class c cross join aclexplode(c.relacl) g where g.grantee = 'boat_mirror_enqueue'::regrole
     order by 1, 2`,
  )
  return rows
}

/** What may not be lost: changes, consumers and their places, entries of the log, restricted roles, installation. */
async function kept({ pool }: TestDatabase): Promise<readonly unknown[]> {
  const tables = [
    'outbox.queue',
    'outbox.dependencies',
    'outbox.installation',
    'sync.consumer_positions',
    'mirror.changes',
    'mirror.rentals',
    'company_access.grants',
  ]
  const all = tables.map((name) => pool.query(`select to_jsonb(t) as row from ${name} t order by 1`))
  return (await Promise.all(all)).map(({ rows }, index) => [tables[index], rows])
}

type Rental = { readonly id: string; readonly record: Readonly<JsonObject> }

/** Rentals of the sandbox, in the mirror with their order link. */
async function mirrorRentals({ sandbox, database }: Rig, count: number): Promise<readonly Rental[]> {
  const records = (sandbox.truth({ only: ['rentals'] }).rentals ?? []).slice(0, count)
  const rentals = records.map(({ key, record }) => ({ id: String(key.id), record: record as Readonly<JsonObject> }))
  for (const { id, record } of rentals)
    await database.pool.query(
      `insert into mirror.rentals (id, order_link, _payload, _source, _read_at) values ($1, $2, $3, 'GET /v3/rentals', now() - interval '1 day')`,
      [id, record.orderLink ?? null, JSON.stringify(record)],
    )
  return rentals
}

const write = writeNamed('rental.update')

/** A change as a pusher that was killed left it: its request may have reached the API. */
async function markSending({ database }: Rig, change: string, { id, record }: Rental, value: string): Promise<Json> {
  const before = Object.fromEntries(write.body.map((field) => [field.name, readValue(field, record)]))
  const sent = updateBody(write, { orderLink: value }, record)
  await database.pool.query(
    `update outbox.queue set status = 'sending', departed = true, attempts = 1, fence = 1, owner = 'host:1:gone',
       lease_until = now() - interval '5 min', sent_at = now() - interval '6 min', proof = $2, request = $3, record_key = $4
     where id = $1`,
    [change, { exact: stringifyJson({ before, sent }) }, { method: 'PUT', path: `/v3/rentals/${id}`, body: sent }, id],
  )
  return sent
}

const linksSent = (rig: Rig): readonly Json[] =>
  rig.writes().map(({ body }) => (isObject(body as Json) ? ((body as JsonObject).orderLink ?? null) : null))

describe.skipIf(psql === undefined)('deploy/upgrade-to-baseline.sql', () => {
  it('loses nothing of changes, consumers, log, grants and what a partner built; changes are settled as they would have been', async () => {
    await using database = await openEarlier()
    const { pool } = database
    await using rig = await createRig({ databaseUrl: database.url, sandbox: { size: 20 } })
    const [one, two, three, four] = await mirrorRentals(rig, 4)
    if (!one || !two || !three || !four) throw new Error('The sandbox has too few rentals.')
    await pool.query(partner)
    await pool.query(`insert into company_access.grants (role, companies) values ('somebody', '{1, 2}');
      insert into sync.workers (id, host, pid, version, seen_at) values ('a', 'host', 1, '0.1.0', now() - interval '61 s');
      insert into mirror.change_log (stream, key, operation, diff)
        select 'x', jsonb_build_object('id', n), 'insert', '{}' from generate_series(1, 4) n`)
    await feedSettled({ all: async (sql, values) => (await pool.query(sql, values)).rows })
    const next = async (): Promise<{ cursor: string; stream: string; key: { id: number } }[]> =>
      (await pool.query(`select * from mirror.next_changes('crm', 100)`)).rows
    await pool.query(`select mirror.ack_changes('crm', $1)`, [(await next())[1]?.cursor])

    const update = ({ id }: Rental, value: string) =>
      rig.queue('rental.update', { rentalId: Number(id) }, { orderLink: value })
    const queued = await update(one, 'queued')
    const taken = await update(two, 'taken')
    const lost = await update(three, 'lost')
    const undecided = await update(four, 'nobody knows')
    const behind = await update(four, 'behind it')
    const request = await markSending(rig, taken, two, 'taken')
    await markSending(rig, lost, three, 'lost')
    await markSending(rig, undecided, four, 'nobody knows')
    await pool.query(
      `update outbox.queue set status = 'unknown', error = 'no proof', settled_at = now() where id = $1`,
      [undecided],
    )
    await fetch(`${rig.sandbox.url}/v3/rentals/${two.id}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    })
    expect(linksSent(rig)).toEqual(['taken'])

    const before = { things: await partnersThings(database), rows: await kept(database) }
    expect(new Set(before.things.map(({ kind }) => kind)).size).toBe(6)
    const upgraded = await upgrade(database)
    expect(upgraded).toMatchObject({ code: 0, text: expect.stringContaining('is upgraded. Now run') })
    expect({ things: await partnersThings(database), rows: await kept(database) }).toEqual(before)
    const names = Object.keys(migrations)
    expect(await migrate(database.url)).toEqual({ applied: names.slice(1) })
    // Migrations add columns.
    expect({ things: await partnersThings(database), rows: await kept(database) }).toMatchObject(before)
    const current = { applied: names, pending: [], unknown: [], repeatableCurrent: true }
    expect(await migrationStatus(database.url)).toEqual(current)
    expect(await upgrade(database)).toMatchObject({ code: 0, text: expect.stringContaining('upgraded already') })
    expect(await migrationStatus(database.url)).toEqual(current)

    const statuses = async (): Promise<unknown> =>
      Promise.all([queued, taken, lost, undecided, behind].map(async (id) => (await rig.change(id)).status))
    await rig.push()
    expect(await statuses()).toEqual(['done', 'done', 'done', 'unknown', 'queued'])
    expect([...linksSent(rig)].sort()).toEqual(['lost', 'queued', 'taken'])
    await rig.decide('took_effect', undecided)
    await rig.push()
    expect(await statuses()).toEqual(['done', 'done', 'done', 'done', 'done'])
    expect([...linksSent(rig)].sort()).toEqual(['behind it', 'lost', 'queued', 'taken'])

    await feedSettled({ all: async (sql, values) => (await pool.query(sql, values)).rows })
    const rest = await next()
    expect(rest.slice(0, 2).map(({ stream, key }) => [stream, key.id])).toEqual([
      ['x', 3],
      ['x', 4],
    ])
    expect(new Set(rest.slice(2).map(({ key }) => String(key.id)))).toEqual(
      new Set([one, two, three, four].map(({ id }) => id)),
    )
    const { rows: views } = await pool.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'partner'::regnamespace and c.relkind = 'v'`,
    )
    for (const view of views) await pool.query(`select * from ${view.name}`)
    const { rows: seen } = await pool.query(
      `select times > 0 as fired from partner.seen where relation = 'mirror.rentals'`,
    )
    expect(seen).toEqual([{ fired: true }])
  })

  it('makes of it the schemas that a new database has', async () => {
    await using earlier = await openEarlier()
    await using fresh = await createTestDatabase()
    expect((await upgrade(earlier)).code).toBe(0)
    await migrate(earlier.url)
    const [had, has] = await Promise.all([schemasOf(earlier), schemasOf(fresh)])
    expect(had.filter((line) => !has.includes(line))).toEqual([])
    expect(has.filter((line) => !had.includes(line))).toEqual([])
  })

  it('keeps what waiting refreshes and links are about', async () => {
    await using database = await openEarlier()
    await database.pool.query(`with r as (insert into sync.runs (stream, trigger) values ('rentals', 'refresh') returning id)
      insert into sync.tasks (run_id, stream, kind, payload, priority)
      select id, 'rentals', kind, payload::jsonb, 1 from r,
        (values ('refresh', '{"key": "42"}'), ('links', '{"keys": ["7"]}'), ('details', '{"keys": ["9"]}')) t (kind, payload)`)
    await upgrade(database)
    await migrate(database.url)
    const { rows } = await database.pool.query('select kind, payload from sync.tasks order by kind')
    expect(rows).toEqual([
      { kind: 'details', payload: { keys: ['9'] } },
      { kind: 'links', payload: { asked: ['7'] } },
      { kind: 'refresh', payload: { keys: ['42'] } },
    ])
  })

  const refusals: readonly { name: string; as: string; text: RegExp }[] = [
    {
      name: 'a worker that was seen in the last minute',
      as: `insert into sync.workers (id, host, pid, version, seen_at) values ('a', 'bridge', 77, '0.1.0', now() - interval '50 s')`,
      text: /A worker runs \(process 77 on bridge, seen .*HINT: +Stop all workers/s,
    },
    {
      name: 'an older schema',
      as: `delete from sync.migrations where name > '0017'`,
      text: /0017_replica_identity, 0018_fields missing.*HINT: +Run `boat-mirror migrate` of the last version before/s,
    },
    {
      name: 'migrations that it does not know',
      as: `insert into sync.migrations (name, timestamp) values ('0019_more', '')`,
      text: /does not know: 0019_more.*HINT: +Use the version/s,
    },
    {
      name: 'a schema of before the last baseline',
      as: `update sync.migrations set name = '0001_sync' where name = '0001_baseline'`,
      text: /0001_baseline missing.*HINT: +Run `boat-mirror migrate` of the last version before/s,
    },
  ]
  for (const { name, as, text } of refusals)
    it(`refuses ${name}, and changes nothing`, async () => {
      await using database = await openEarlier()
      await database.pool.query(as)
      const before = await schemasOf(database)
      expect(await upgrade(database)).toMatchObject({ code: 3, text: expect.stringMatching(text) })
      expect(await schemasOf(database)).toEqual(before)
      await expect(migrate(database.url)).rejects.toMatchObject({ code: 'DATABASE_SCHEMA' })
    })

  it('refuses a database that is not ours', async () => {
    await using database = await createTestDatabase({ migrated: false })
    expect(await upgrade(database)).toMatchObject({ code: 3, text: expect.stringContaining('was not migrated') })
  })
})

describe('a database that was not upgraded', () => {
  it('is refused by commands, with the file that upgrades it', async () => {
    await using database = await openEarlier()
    await using cli = await openCommandLine({ DATABASE_URL: database.url })
    // Each way in which commands open the database.
    const commands = [['migrate', '--status'], ['worker'], ['status']]
    const [checked, ...all] = await Promise.all([['check'], ...commands].map((args) => cli.run(args)))
    for (const [index, ended] of all.entries()) {
      expect(ended.code, commands[index]?.join(' ')).toBe(1)
      expect(errorOf(ended)).toMatch(
        /before the first release .*\[DATABASE_SCHEMA\].*deploy\/upgrade-to-baseline\.sql/s,
      )
    }
    expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining('deploy/upgrade-to-baseline.sql') })
    const { rows } = await database.pool.query('select count(*)::int from sync.migrations')
    expect(rows).toEqual([{ count: 18 }])
  })
})

/**
 * All that makes up our schemas, a line each: columns in their order, constraints, indexes, functions, triggers, views, policies,
 * comments, grants. Of the partitions of the change log only what they inherit: their names contain months.
 */
async function schemasOf({ pool }: TestDatabase): Promise<readonly string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `with c as (select * from pg_class where relnamespace::regnamespace::text in ${ours} and relkind in ('r', 'p', 'v', 'S', 'i', 'I'))
     select concat_ws(' ', 'relation', c.oid::regclass, relkind, relpersistence, reloptions, relrowsecurity, (select string_agg(a::text, ',' order by a::text) from unnest(relacl) a),
         pg_get_userbyid(relowner), obj_description(c.oid, 'pg_class'), case when relkind = 'v' then pg_get_viewdef(c.oid) end) as line from c
       where relkind <> 'i' or relname not in ('migrations_pkey')
     union all select concat_ws(' ', 'column', c.oid::regclass, row_number() over (partition by c.oid order by attnum), attname,
         format_type(atttypid, atttypmod), attnotnull, attidentity, (select string_agg(a::text, ',' order by a::text) from unnest(attacl) a), pg_get_expr(adbin, adrelid), col_description(c.oid, attnum))
       from c join pg_attribute a on attrelid = c.oid and attnum > 0 and not attisdropped
       left join pg_attrdef on adrelid = c.oid and adnum = attnum where relkind in ('r', 'p', 'v')
     union all select concat_ws(' ', 'constraint', c.oid::regclass, conname, pg_get_constraintdef(k.oid))
       from c join pg_constraint k on conrelid = c.oid where contype <> 'n'
     union all select concat_ws(' ', 'index', pg_get_indexdef(c.oid)) from c where relkind in ('i', 'I')
     union all select concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid)) from c join pg_trigger t on tgrelid = c.oid and not tgisinternal
     union all select concat_ws(' ', 'policy', c.oid::regclass, polname, polpermissive, polcmd, pg_get_expr(polqual, polrelid)) from c join pg_policy on polrelid = c.oid
     union all select concat_ws(' ', 'function', p.oid::regprocedure, pg_get_userbyid(proowner), (select string_agg(a::text, ',' order by a::text) from unnest(proacl) a), obj_description(p.oid, 'pg_proc'), case prokind when 'f' then pg_get_functiondef(p.oid) end)
       from pg_proc p where pronamespace::regnamespace::text in ${ours}
     union all select concat_ws(' ', 'schema', nspname, (select string_agg(a::text, ',' order by a::text) from unnest(nspacl) a), obj_description(n.oid, 'pg_namespace')) from pg_namespace n where nspname in ${ours}
     order by 1`,
  )
  return rows.map(({ line }) => line)
}
