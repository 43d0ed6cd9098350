// A Postgres as it is rented: its first user is no superuser but may create roles and owns the database, its roles have timeouts,
// and Supabase's roles of anonymous and signed-in users are there.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { migrateQueue } from '../../src/jobs/backend.ts'
import { type Mirror, openMirror } from '../../src/library.ts'
import { createLogger } from '../../src/log.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { ourSchemas } from '../../src/schema/suitable.ts'
import { isFull } from '../helpers/extent.ts'
import { type OwnPostgres, openOwnPostgres } from '../helpers/postgres-server.ts'
import { differencesFromTruth } from '../helpers/truth.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const ranges = { priceDays: 3, slotDays: 1, calendarYears: 0 } as const
const truthRanges = { days: ranges.slotDays, priceDays: ranges.priceDays, calendarYears: ranges.calendarYears }

describe.runIf(isFull)('a rented Postgres', () => {
  let server: OwnPostgres
  let pool: Pool
  let url: string
  let sandbox: Sandbox
  let mirror: Mirror

  beforeAll(async () => {
    server = await openOwnPostgres(join(inject('runFolder'), `rented-${randomBytes(4).toString('hex')}`))
    const admin = new Pool({ connectionString: server.url, max: 1 })
    await admin.query(`
      create role rds_superuser nologin createrole createdb;
      create role renter login nosuperuser inherit createrole createdb noreplication password 'x' in role rds_superuser;
      alter role renter set statement_timeout = '8s';
      alter role renter set idle_in_transaction_session_timeout = '5s';
      alter role renter set idle_session_timeout = '3s';
      create role anon nologin; create role authenticated nologin`)
    await admin.query('create database rented owner renter')
    await admin.end()
    url = Object.assign(new URL(server.url), { username: 'renter', password: 'x', pathname: '/rented' }).href
    pool = new Pool({ connectionString: url, max: 1 })
    pool.on('error', () => {}) // closed by the server after the three seconds above
    await migrate(url)
    await migrateQueue(url, createLogger('silent'))
    sandbox = await createSandbox({ size: 20 })
  })
  afterAll(async () => {
    await mirror?.close()
    await sandbox?.close()
    await pool?.end()
    await server?.close()
  })

  it('a first sync equals the truth', async () => {
    mirror = await openMirror({ databaseUrl: url, apiBaseUrl: sandbox.url, apiAuth: 'none', ...ranges })
    const { runs } = await mirror.sync()
    expect(runs.filter(({ status }) => status !== 'done')).toEqual([])
    expect(await differencesFromTruth(pool, sandbox.truthText(truthRanges))).toEqual([])
  })

  it('has the roles of the program, and its views belong to theirs', async () => {
    const { rows } = await pool.query(
      `select pg_has_role('boat_mirror_views', 'usage') as member, count(*) filter (where pg_get_userbyid(relowner) = 'boat_mirror_views') > 0 as owns
         from pg_class where relkind = 'v' and relnamespace::regnamespace::text = any($1)`,
      [ourSchemas],
    )
    expect(rows).toEqual([{ member: true, owns: true }])
  })

  it('lets the roles that the API of Supabase uses into no schema, so that they can read nothing', async () => {
    const { rows } = await pool.query(
      `select role, nspname from unnest(array['anon', 'authenticated']) as role, pg_namespace n
        where (nspname = any($1) or nspname = 'bullmq') and has_schema_privilege(role, n.oid, 'usage')`,
      [ourSchemas],
    )
    expect(rows).toEqual([])
  })

  it('grants to everybody only the keys that policies ask for, in a schema that nobody may use', async () => {
    const { rows } = await pool.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c
        where relnamespace::regnamespace::text = any($1) and relkind in ('r', 'p', 'v', 'm')
          and has_table_privilege('anon', c.oid, 'select') order by 1`,
      [ourSchemas],
    )
    expect(rows.map(({ name }) => name)).toEqual([
      'company_access.visible_companies',
      'company_access.visible_rentals',
      'company_access.visible_resources',
    ])
  })
})
