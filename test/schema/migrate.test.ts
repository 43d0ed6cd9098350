// Migrating: from nothing, from each older version, twice, twenty at once, with few rights; and what a check says.

import { Kysely, Migrator, PostgresDialect } from 'kysely'
import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import { migrations } from '../../migrations/index.ts'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import { openDatabase } from '../../src/database/database.ts'
import { assertSchemaCurrent, migrate, migrationStatus } from '../../src/schema/migrate.ts'
import { createTestDatabase, createTestPool, type TestDatabase } from '../helpers/database.ts'
import { quiet } from '../helpers/rows.ts'

// Databases are migrated from nothing, several at once, and wait for each other.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const names = Object.keys(migrations)
const empty = (): Promise<TestDatabase> => createTestDatabase({ migrated: false })

/** A dump of what migrations make: columns, indexes, functions, comments, grants; not the table that only earlier versions had. */
const shape = async (database: TestDatabase): Promise<unknown> => {
  const { rows } = await database.pool.query(
    `select * from (select table_schema || '.' || table_name || '.' || column_name as name, data_type || coalesce(column_default, '') as what
       from information_schema.columns where table_schema in ('mirror', 'mirror_views', 'live', 'sync', 'outbox', 'report')
     union all select schemaname || '.' || indexname, indexdef from pg_indexes where schemaname in ('mirror', 'sync', 'outbox')
     union all select p.oid::regprocedure::text, md5(prosrc) from pg_proc p
       where pronamespace in ('mirror'::regnamespace, 'outbox'::regnamespace)
     union all select relname, relacl::text from pg_class where relnamespace in ('mirror'::regnamespace, 'sync'::regnamespace)
     ) parts where name not like '%migrations_lock%' order by 1, 2`,
  )
  return rows
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

  it('leaves a schema alone that somebody else has by a name that is new', async () => {
    await using database = await empty()
    await migrate(database.url)
    await database.pool.query(`delete from sync.migrations where name = '0017_live';
      drop schema live cascade; create schema live; create table live.prices (boat text)`)
    await expect(migrate(database.url)).rejects.toMatchObject({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringMatching(/live \(of \w+, with prices\)/),
    })
    await database.pool.query('drop table live.prices')
    expect((await migrate(database.url)).applied).toEqual(['0017_live'])
  })

  it('does not depend on the search path', async () => {
    await using database = await empty()
    await database.pool.query(
      `do $$ begin execute format('alter database %I set search_path = nowhere', current_database()); end $$`,
    )
    expect((await migrate(database.url)).applied).toEqual(names)
  })

  for (const [index, name] of names.entries())
    it(`goes on from ${name} with rows in it`, async () => {
      await using older = await empty()
      await using fresh = await createTestDatabase()
      const db = new Kysely<unknown>({
        dialect: new PostgresDialect({ pool: createTestPool(older.url, 1) }),
      })
      const migrator = new Migrator({
        db,
        provider: { getMigrations: async () => Object.fromEntries(Object.entries(migrations).slice(0, index + 1)) },
        migrationTableSchema: 'sync',
        migrationTableName: 'migrations',
        migrationLockTableName: 'migrations_lock',
      })
      expect((await migrator.migrateToLatest()).error).toBeUndefined()
      await db.destroy()
      await older.pool.query(`insert into sync.runs (stream, trigger) values ('rentals', 'test')`)
      if (index > 0)
        await older.pool.query(
          `insert into mirror.rentals (id, _payload, _source, _read_at) values (1, '{}', 'GET /v3/rentals', now())`,
        )
      expect((await migrate(older.url)).applied).toEqual(names.slice(index + 1))
      expect(await shape(older)).toEqual(await shape(fresh))
      expect((await older.pool.query('select stream from sync.runs')).rows).toEqual([{ stream: 'rentals' }])
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
      waiting.catch(() => {}) // looked at below
      await expect
        .poll(() => said.join(''), { timeout: 60_000 })
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
