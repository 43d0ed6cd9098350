// Migrating: from nothing, from the migration before, twice, twenty at once, with few rights; and what a check says.

import { readdirSync } from 'node:fs'
import { type Migration, sql } from 'kysely'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { migrations } from '../../migrations/index.ts'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import { openDatabase } from '../../src/database/database.ts'
import { assertSchemaCurrent, migrate, migrationStatus } from '../../src/schema/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { quiet } from '../helpers/rows.ts'

const names = Object.keys(migrations)
const empty = (): Promise<TestDatabase> => createTestDatabase({ migrated: false })

/** A dump of what migrations make: columns, indexes, functions, comments, grants. */
const shape = async (database: TestDatabase): Promise<unknown> => {
  const { rows } = await database.pool.query(
    `select * from (select table_schema || '.' || table_name || '.' || column_name as name, data_type || coalesce(column_default, '') as what
       from information_schema.columns where table_schema in ('mirror', 'mirror_views', 'live', 'sync', 'outbox', 'report')
     union all select schemaname || '.' || indexname, indexdef from pg_indexes where schemaname in ('mirror', 'sync', 'outbox')
     union all select p.oid::regprocedure::text, md5(prosrc) from pg_proc p
       where pronamespace in ('mirror'::regnamespace, 'outbox'::regnamespace)
     union all select relname, relacl::text from pg_class where relnamespace in ('mirror'::regnamespace, 'sync'::regnamespace)
     ) parts order by 1, 2`,
  )
  return rows
}

/** Runs with one more migration, the newest. */
async function withMigration(statement: string, work: (name: string) => Promise<void>): Promise<void> {
  const name = `${String(Number(names.at(-1)?.slice(0, 4)) + 1).padStart(4, '0')}_made_up`
  const list = migrations as Record<string, Migration>
  list[name] = { up: async (db) => void (await sql.raw(statement).execute(db)) }
  try {
    await work(name)
  } finally {
    delete list[name]
  }
}

describe('migrate', () => {
  it('brings an empty database up to date, and a second time does nothing', async () => {
    await using database = await empty()
    expect(await migrationStatus(database.url)).toEqual({
      applied: [],
      pending: names,
      unknown: [],
      repeatableCurrent: false,
    })
    expect(await migrate(database.url)).toEqual({ applied: names })
    expect(await migrate(database.url)).toEqual({ applied: [] })
    expect(await migrationStatus(database.url)).toEqual({
      applied: names,
      pending: [],
      unknown: [],
      repeatableCurrent: true,
    })
  })

  it('twenty at once apply each migration once', async () => {
    await using database = await empty()
    const results = await Promise.all(Array.from({ length: 20 }, () => migrate(database.url)))
    expect(results.flatMap(({ applied }) => applied).sort()).toEqual(names)
  })

  it('applies comments, views and grants again when they are those of another version', async () => {
    await using database = await empty()
    await migrate(database.url)
    const before = await shape(database)
    await database.pool.query(`update sync.repeatable set version = 'older'; drop view mirror_views.rentals;
      create view public.mine as select id, currency from live.rental_payments;
      delete from sync.endpoints; comment on table mirror.rentals is null`)
    expect(await migrate(database.url)).toEqual({ applied: [] })
    expect(await shape(database)).toEqual(before)
    expect((await database.pool.query('select * from public.mine')).rows).toEqual([])
    const { rows } = await database.pool.query(
      `select obj_description('mirror.rentals'::regclass, 'pg_class') as comment, (select count(*)::int from sync.endpoints) as endpoints`,
    )
    expect(rows).toEqual([{ comment: expect.stringContaining('Rentals.'), endpoints: readEndpoints.length }])
  })

  it('leaves a schema alone that somebody else has by one of our names', async () => {
    await using database = await empty()
    await database.pool.query('create schema live; create table live.prices (boat text)')
    await expect(migrate(database.url)).rejects.toMatchObject({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringMatching(/live \(of \w+, with prices\)/),
    })
    await database.pool.query('drop table live.prices')
    expect((await migrate(database.url)).applied).toEqual(names)
  })

  it('does not depend on the search path', async () => {
    await using database = await empty()
    await database.pool.query(
      `do $$ begin execute format('alter database %I set search_path = nowhere', current_database()); end $$`,
    )
    expect((await migrate(database.url)).applied).toEqual(names)
  })

  it('applies a new migration once, on top of rows that are there, and the repeatable steps with it', async () => {
    await using database = await createTestDatabase()
    await database.pool.query(`insert into sync.runs (stream, trigger) values ('rentals', 'test');
      comment on table mirror.rentals is null`)
    await withMigration('create table sync.made_up (n int)', async (name) => {
      expect(await migrationStatus(database.url)).toMatchObject({ applied: names, pending: [name] })
      await expect(assertSchemaCurrent(database)).rejects.toMatchObject({ message: expect.stringContaining(name) })
      const results = await Promise.all([migrate(database.url), migrate(database.url)])
      expect(results.flatMap(({ applied }) => applied)).toEqual([name])
      expect(await migrationStatus(database.url)).toMatchObject({ applied: [...names, name], pending: [] })
      await expect(assertSchemaCurrent(database)).resolves.toBeUndefined()
    })
    const { rows } = await database.pool.query(
      `select r.stream, (select count(*)::int from sync.made_up) as made_up, obj_description('mirror.rentals'::regclass) as comment
       from sync.runs r`,
    )
    expect(rows).toEqual([{ stream: 'rentals', made_up: 0, comment: expect.stringContaining('Rentals.') }])
    // The program that does not know it refuses the database.
    await expect(migrate(database.url)).rejects.toMatchObject({ code: 'DATABASE_SCHEMA' })
  })

  it('applies nothing of a new migration that fails, and can be run again', async () => {
    await using database = await createTestDatabase()
    await withMigration('create table sync.made_up (n int); select 1 / 0', async () => {
      await expect(migrate(database.url)).rejects.toMatchObject({
        message: expect.stringContaining('division by zero'),
      })
    })
    expect(await migrationStatus(database.url)).toMatchObject({ applied: names, unknown: [] })
    await withMigration('create table sync.made_up (n int)', async (name) => {
      expect((await migrate(database.url)).applied).toEqual([name])
    })
  })

  it('has every file of the folder in its list, in the order of their numbers', () => {
    const files = readdirSync('migrations').filter((file) => /^\d/.test(file) && file.endsWith('.ts'))
    expect(names).toEqual(files.map((file) => file.replace(/\.ts$/, '')).sort())
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1))
  })

  it('says whom it waits for, and a signal ends the wait with nothing applied', async () => {
    await using database = await empty()
    const stopping = new AbortController()
    const said: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void said.push(line) })
    const holder = await database.pool.connect()
    try {
      await holder.query(`set application_name = 'another migrate'; begin; select pg_advisory_xact_lock(7030520240801)`)
      const waiting = migrate(database.url, { log, signal: stopping.signal })
      waiting.catch(() => {}) // checked below
      await expect
        .poll(() => said.join(''))
        .toMatch(/migrate waits for a lock of pid \d+, application another migrate, user .+, since \d{4}-/)
      const reason = new Error('stopped by the test')
      stopping.abort(reason)
      await expect(waiting).rejects.toBe(reason)
      expect(await migrationStatus(database.url)).toMatchObject({ applied: [] })
    } finally {
      holder.release(true)
    }
    expect((await migrate(database.url)).applied).toEqual(names)
  })

  it('leaves no lock behind on a connection that lives on', async () => {
    await using database = await empty()
    await migrate(database.url)
    const { rows } = await database.pool.query(`select from pg_locks where locktype = 'advisory' and database =
      (select oid from pg_database where datname = current_database())`)
    expect(rows).toEqual([])
  })

  it('applies nothing at all when a step fails at the end', async () => {
    await using database = await empty()
    // As an administrator's guard against changes of the schema would.
    await database.pool.query(`create function public.refuse() returns event_trigger language plpgsql as $$
      begin raise exception 'no views here'; end $$;
      create event trigger refuse on ddl_command_start when tag in ('CREATE VIEW') execute function public.refuse()`)
    await expect(migrate(database.url)).rejects.toThrow('no views here')
    expect(await migrationStatus(database.url)).toMatchObject({ applied: [] })
    const { rows } = await database.pool.query(
      `select nspname from pg_namespace where nspname in ('mirror', 'sync', 'outbox')`,
    )
    expect(rows).toEqual([])
  })

  it('refuses a database that a newer program migrated, and says so', async () => {
    await using database = await createTestDatabase()
    await database.pool.query(`insert into sync.migrations (name, timestamp) values ('9999_future', '2030-01-01')`)
    const failure = { code: 'DATABASE_SCHEMA', message: expect.stringContaining('9999_future') }
    await expect(migrate(database.url)).rejects.toMatchObject(failure)
    await expect(assertSchemaCurrent(database)).rejects.toMatchObject(failure)
  })

  it('refuses a database of before the baseline, and names the file that upgrades it', async () => {
    await using database = await createTestDatabase()
    await database.pool.query(`update sync.migrations set name = '0001_baseline' where name = '0001_schemas'`)
    const failure = { code: 'DATABASE_SCHEMA', remedy: expect.stringContaining('deploy/upgrade-to-baseline.sql') }
    await expect(migrate(database.url)).rejects.toMatchObject(failure)
    await expect(migrationStatus(database.url)).rejects.toMatchObject(failure)
    await expect(assertSchemaCurrent(database)).rejects.toMatchObject(failure)
    const { rows } = await database.pool.query<{ name: string }>('select name from sync.migrations order by name')
    expect(rows.map(({ name }) => name)).toEqual(['0001_baseline', ...names.slice(1)])
  })

  it('works for a role that may not create roles', async () => {
    await using database = await empty()
    const role = `plain_${process.pid}_${Math.trunc(Math.random() * 1e9)}`
    await database.pool.query(`create role ${role} login password 'x' nocreaterole`)
    await database.pool.query(
      `do $$ begin execute format('grant create on database %I to ${role}', current_database()); end $$`,
    )
    const url = new URL(database.url)
    url.username = role
    url.password = 'x'
    try {
      expect((await migrate(url.href)).applied).toEqual(names)
    } finally {
      await database.pool.query(`drop owned by ${role} cascade`)
      await database.pool.query(`drop role ${role}`)
    }
  })

  it('names the privilege that a role without CREATE lacks', async () => {
    await using database = await empty()
    const role = `poor_${process.pid}_${Math.trunc(Math.random() * 1e9)}`
    await database.pool.query(`create role ${role} login password 'x'`)
    const url = new URL(database.url)
    url.username = role
    url.password = 'x'
    try {
      await expect(migrate(url.href)).rejects.toMatchObject({ code: 'DATABASE_PRIVILEGE', kind: 'fatal' })
    } finally {
      await database.pool.query(`drop role ${role}`)
    }
  })
})

describe('the check before work', () => {
  const check = async (database: TestDatabase): Promise<void> => {
    const db = openDatabase({ url: database.url, applicationName: 'test', max: 1, log: quiet })
    try {
      await assertSchemaCurrent(db)
    } finally {
      await db.close()
    }
  }

  it('accepts a database that is up to date', async () => {
    await using database = await createTestDatabase()
    await expect(check(database)).resolves.toBeUndefined()
  })

  it('refuses an empty database and names the command', async () => {
    await using database = await empty()
    await expect(check(database)).rejects.toMatchObject({
      code: 'DATABASE_SCHEMA',
      remedy: expect.stringContaining('boat-mirror migrate'),
    })
  })

  it('refuses views of another version', async () => {
    await using database = await createTestDatabase()
    await database.pool.query(`update sync.repeatable set version = 'older'`)
    await expect(check(database)).rejects.toMatchObject({ code: 'DATABASE_SCHEMA' })
  })
})
