// Databases as administrators set them up: what does not suit is refused by name, everything else makes no difference.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, it, vi } from 'vitest'
import { migrateQueue } from '../../src/jobs/backend.ts'
import { createLogger } from '../../src/log.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { createTestDatabase, createTestPool, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { openOwnPostgres } from '../helpers/postgres-server.ts'
import { ranges } from './ranges.ts'

const set = (database: TestDatabase, setting: string): Promise<unknown> =>
  database.pool.query(
    `do $do$ begin execute format('alter database %I set ${setting.replaceAll("'", "''")}', current_database()); end $do$`,
  )

describe('Databases with settings that make no difference', () => {
  afterEach(() => vi.unstubAllEnvs())

  const settings = [
    `DateStyle = 'German, DMY'`,
    `DateStyle = 'SQL, MDY'`,
    `IntervalStyle = 'sql_standard'`,
    `TimeZone = 'Pacific/Kiritimati'`,
    'extra_float_digits = -15',
    'standard_conforming_strings = off',
    'array_nulls = off',
    `bytea_output = 'escape'`,
    `default_transaction_isolation = 'serializable'`,
    `search_path = 'nowhere'`,
    'statement_timeout = 2000',
    'idle_in_transaction_session_timeout = 1000',
    'row_security = off',
    'lock_timeout = 2000',
    'check_function_bodies = off',
    'default_transaction_deferrable = on',
    `default_toast_compression = 'pglz'`,
    `xmloption = 'document'`,
    'quote_all_identifiers = on',
    'transform_null_equals = on',
    'backslash_quote = off',
    `client_encoding = 'LATIN1'`,
    `client_min_messages = 'debug1'`,
    'plan_cache_mode = force_generic_plan',
    'from_collapse_limit = 1',
    'join_collapse_limit = 1',
    'idle_session_timeout = 3000',
    'jit = on',
    'jit_above_cost = 0',
  ]
  it.runIf(isFull)(
    `${settings.length} of them at once, DateStyle German among them: a first sync equals the truth`,
    async () => {
      const database = await createTestDatabase({ migrated: false })
      for (const setting of settings.filter((each) => !each.includes('SQL, MDY'))) await set(database, setting)
      await using mirror = await openTestMirror({ size: 3 }, ranges, database)
      for (const run of await mirror.sync()) expect(run).toMatchObject({ error: null })
      expect(await mirror.differences()).toEqual([])
    },
  )

  it.runIf(isFull)('DateStyle SQL: a first sync equals the truth', async () => {
    const database = await createTestDatabase()
    await set(database, `DateStyle = 'SQL, MDY'`)
    await using mirror = await openTestMirror({ size: 3 }, ranges, database)
    await mirror.sync()
    expect(await mirror.differences()).toEqual([])
  })

  it.runIf(isFull)(
    'PGOPTIONS, PGTZ, PGDATESTYLE and PGCLIENTENCODING of the process: a first sync equals the truth',
    async () => {
      vi.stubEnv('PGOPTIONS', '-c DateStyle=German -c search_path=nowhere -c lock_timeout=2000 -c TimeZone=Asia/Tokyo')
      vi.stubEnv('PGTZ', 'America/New_York')
      vi.stubEnv('PGDATESTYLE', 'SQL, DMY')
      vi.stubEnv('PGCLIENTENCODING', 'LATIN1')
      await using mirror = await openTestMirror({ size: 3 }, ranges)
      for (const run of await mirror.sync()) expect(run).toMatchObject({ error: null })
      expect(await mirror.differences()).toEqual([])
    },
  )
})

describe('Databases that are refused by name', () => {
  const cases = [
    {
      name: 'encoding LATIN1',
      said: /encoding LATIN1/,
      prepare: async (database: TestDatabase) => {
        const name = `${inject('databasePrefix')}${randomBytes(6).toString('hex')}`
        const { rows } = await database.pool.query<{ libc: string }>(
          `select case when current_setting('server_version_num')::int >= 150000 then 'locale_provider libc' else '' end as libc`,
        )
        await database.pool.query(
          `create database ${name} encoding 'LATIN1' ${rows[0]?.libc} lc_collate 'C' lc_ctype 'C' template template0`,
        )
        return name
      },
    },
    {
      name: 'read-only by default',
      said: /read-only \(default_transaction_read_only\)/,
      prepare: async (database: TestDatabase) => {
        await set(database, 'default_transaction_read_only = on')
        return null
      },
    },
    {
      name: 'a schema of our name that somebody else uses',
      said: /report \(of .*, with takings\)/,
      prepare: async (database: TestDatabase) => {
        await database.pool.query('create schema report; create table report.takings (id int)')
        return null
      },
    },
  ]
  for (const { name, said, prepare } of isFull ? cases : cases.slice(0, 1))
    it(`${name}: check, migrate and sync say so, and nothing is written`, async () => {
      await using database = await createTestDatabase({ migrated: false })
      const other = await prepare(database)
      const url = new URL(database.url)
      if (other !== null) url.pathname = `/${other}`
      try {
        await using cli = await openCommandLine({ DATABASE_URL: url.href })
        for (const command of ['migrate', 'sync', 'check']) {
          const ended = await cli.run([command])
          expect(ended.stdout + errorOf(ended), command).toMatch(said)
          expect(ended.code, command).toBe(1)
        }
        const { rows } = await database.pool.query(`select from pg_namespace where nspname in ('sync', 'mirror')`)
        expect(rows).toEqual([])
      } finally {
        if (other !== null) await database.pool.query(`drop database ${other}`)
      }
    })

  it.runIf(isFull)('a standby: check and every start name it, status reads it', async () => {
    const own = await openOwnPostgres(join(inject('runFolder'), 'standby'))
    try {
      await migrate(own.url)
      await migrateQueue(own.url, createLogger('silent'))
      await own.becomeStandby()
      await using cli = await openCommandLine({ DATABASE_URL: own.url })
      for (const command of ['check', 'migrate', 'sync', 'push', 'worker']) {
        const ended = await cli.run([command])
        expect(ended.stdout + errorOf(ended), command).toMatch(
          /server of database \w+ is a standby, which takes no writes/,
        )
        expect(ended.stdout + errorOf(ended), command).toMatch(/Set DATABASE_URL to the primary/)
        expect(ended.code, command).toBe(1)
      }
      expect((await cli.run(['status'])).stdout).toMatch(/rentals/)
    } finally {
      await own.close()
    }
  })

  it.runIf(isFull)('no free connection (max_connections): check and sync say what to raise, in one line', async () => {
    const own = await openOwnPostgres(join(inject('runFolder'), 'few-connections'), {
      max_connections: '4',
      superuser_reserved_connections: '1',
      max_wal_senders: '0',
    })
    const pool = createTestPool(own.url, 5)
    try {
      // A role that may not use the reserved one, as an application's should be.
      await pool.query(`create role plain login password 'x'`)
      await using cli = await openCommandLine({ DATABASE_URL: own.url.replace(/\/\/[^@]+@/, '//plain:x@') })
      const held = await Promise.all([1, 2, 3].map(() => pool.connect()))
      for (const command of ['check', 'sync', 'worker']) {
        const ended = await cli.run([command])
        expect(ended.stdout + errorOf(ended), command).toMatch(
          /Raise max_connections of Postgres, or run fewer processes/,
        )
        expect(ended.stdout + ended.stderr, command).not.toMatch(/(^|\\n) +at /m)
        expect(ended.code, command).toBe(1)
      }
      for (const client of held) client.release()
    } finally {
      await pool.end()
      await own.close()
    }
  })

  it('a role that may make no temporary table: check and sync name the grant', async () => {
    await using database = await createTestDatabase()
    const role = `notemp_${randomBytes(6).toString('hex')}`
    await database.pool.query(`create role ${role} login password 'x';
      do $$ begin execute format('revoke temporary on database %I from public', current_database()); end $$;
      grant usage on schema sync, mirror, outbox, report, mirror_views to ${role};
      grant all on all tables in schema sync, mirror, outbox to ${role}`)
    const url = new URL(database.url)
    url.username = role
    url.password = 'x'
    try {
      await using cli = await openCommandLine({ DATABASE_URL: url.href, AUTO_MIGRATE: 'off' })
      for (const command of ['sync', 'check']) {
        const ended = await cli.run([command])
        expect(ended.stdout + errorOf(ended), command).toMatch(/grant temporary on database \w+ to notemp_/)
        expect(ended.code, command).toBe(1)
      }
    } finally {
      await database.pool.query(`drop owned by ${role}; drop role ${role}`)
    }
  })
})

describe('Roles that come after migrate', () => {
  it('get their grants from the next migrate or start, and check says what is missing', async () => {
    await using database = await createTestDatabase()
    // As after a restore into a cluster without the roles: the role is there again, its grants are not.
    await database.pool.query(`drop owned by boat_mirror_reader`)
    await using cli = await openCommandLine({ DATABASE_URL: database.url })
    expect((await cli.run(['check'])).stdout).toMatch(/boat_mirror_reader has no grants/)
    expect(await migrate(database.url)).toEqual({ applied: [] })
    expect((await cli.run(['check'])).stdout).toMatch(/the roles for readers and partners exist/)
    const { rows } = await database.pool.query(
      `select has_table_privilege('boat_mirror_reader', 'mirror_views.rentals', 'select') as reads,
         (select count(*)::int from pg_policies where policyname = 'no_persons') as guards`,
    )
    expect(rows).toEqual([{ reads: true, guards: 3 }])
  })
})
