// A Postgres as it is rented: it takes TLS only; its first user is no superuser but may create roles and owns the database, its
// roles have timeouts that a sync cannot keep, and Supabase's roles of anonymous and signed-in users are there. Then the same
// behind a pooler in transaction mode that takes TLS only, too.

import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { sleep } from '../../src/clock.ts'
import { migrateQueue } from '../../src/jobs/backend.ts'
import { type Mirror, openMirror, type SyncResult } from '../../src/library.ts'
import { createLogger } from '../../src/log.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { ourSchemas } from '../../src/schema/suitable.ts'
import { openCommandLine } from '../cli/program.ts'
import { makeCertificate } from '../helpers/certificates.ts'
import { isFull } from '../helpers/extent.ts'
import { findPgBouncer, startPgBouncer } from '../helpers/pgbouncer.ts'
import { type OwnPostgres, openOwnPostgres } from '../helpers/postgres-server.ts'
import { askedVersion } from '../helpers/postgres-versions.ts'
import { differencesFromTruth } from '../helpers/truth.ts'

const ranges = { priceDays: 3, slotDays: 1, calendarYears: 0 } as const
const bouncer = findPgBouncer()
const truthRanges = { days: ranges.slotDays, priceDays: ranges.priceDays, calendarYears: ranges.calendarYears }

describe.runIf(isFull)('a rented Postgres', () => {
  let server: OwnPostgres
  let pool: Pool
  let url: string
  let tls: Awaited<ReturnType<typeof makeCertificate>>['files']
  let sandbox: Sandbox
  let mirror: Mirror
  let first: SyncResult

  beforeAll(async () => {
    server = await openOwnPostgres(join(inject('runFolder'), `rented-${randomBytes(4).toString('hex')}`))
    const certificates = join(server.folder, 'certificates')
    await mkdir(certificates)
    tls = (await makeCertificate(certificates, '127.0.0.1')).files
    await writeFile(join(server.folder, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n')
    await server.adopt()
    const admin = new Pool({ connectionString: server.url, max: 1 })
    await admin.query(`
      create role rds_superuser nologin createrole createdb;
      create role renter login nosuperuser inherit createrole createdb noreplication password 'x' in role rds_superuser;
      alter role renter set statement_timeout = '1s';
      alter role renter set lock_timeout = '200ms';
      alter role renter set idle_in_transaction_session_timeout = '1s';
      alter role renter set idle_session_timeout = '3s';
      create role anon nologin; create role authenticated nologin`)
    await admin.query('create database rented owner renter')
    await admin.query(`alter system set ssl_cert_file = '${tls.certificate}'`)
    await admin.query(`alter system set ssl_key_file = '${tls.key}'`)
    await admin.query('alter system set ssl = on')
    await admin.query('select pg_reload_conf()')
    await admin.end()
    const rented = Object.assign(new URL(server.url), { pathname: '/rented' })
    rented.search = new URLSearchParams({ sslmode: 'verify-full', sslrootcert: tls.authority }).toString()
    pool = new Pool({ connectionString: rented.href, max: 2 })
    url = Object.assign(rented, { username: 'renter', password: 'x' }).href
    await vi.waitFor(() => pool.query('select'), 60_000)
    await migrate(url)
    await migrateQueue(url, createLogger('silent'))
    sandbox = await createSandbox({ size: 20 })
    mirror = await openMirror({ databaseUrl: url, apiBaseUrl: sandbox.url, apiAuth: 'none', ...ranges })
    first = await mirror.sync()
  })
  const runWith = async (settings: Readonly<Record<string, string>>, command: readonly string[]) => {
    const api = { API_BASE_URL: sandbox.url, API_AUTH: 'none', PRICE_DAYS: '3', SLOT_DAYS: '1', CALENDAR_YEARS: '0' }
    await using cli = await openCommandLine({ ...api, ...settings })
    return await cli.run(command)
  }

  afterAll(async () => {
    await mirror?.close()
    await sandbox?.close()
    await pool?.end()
    await server?.close()
  })

  it('a first sync equals the truth', async () => {
    expect(first.runs.filter(({ status }) => status !== 'done')).toEqual([])
    expect(await differencesFromTruth(pool, sandbox.truthText(truthRanges))).toEqual([])
  })

  it('waits for a lock for longer than the timeouts of the role', async () => {
    const holder = await pool.connect()
    await holder.query('begin; lock table mirror.rentals in exclusive mode')
    const synced = mirror.sync({ streams: ['rentals'], full: true })
    const waiting = `select from pg_locks where not granted and relation = 'mirror.rentals'::regclass`
    await expect.poll(async () => (await pool.query(waiting)).rowCount).toBeGreaterThan(0)
    await sleep(2_000)
    await holder.query('commit')
    holder.release()
    expect((await synced).runs.filter(({ status }) => status !== 'done')).toEqual([])
  })

  it('says what to do about an address without TLS', async () => {
    const databaseUrl = url.replace('verify-full', 'disable')
    const { code, stderr } = await runWith({ DATABASE_URL: databaseUrl }, ['status'])
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/DATABASE_REFUSED.*sslmode/s)
  })

  it.skipIf(bouncer === undefined)('works behind a pooler in transaction mode', async () => {
    // What `migrate` asks for: up to 14, everybody may create objects in `public`.
    if (askedVersion() === '14') await pool.query('alter role renter set search_path = pg_catalog, pg_temp')
    await using pooler = await startPgBouncer(bouncer ?? '', inject('runFolder'), url, {
      ...{ pool_mode: 'transaction', default_pool_size: '3', server_tls_sslmode: 'verify-full' },
      ...{ server_tls_ca_file: tls.authority, client_tls_sslmode: 'require' },
      ...{ client_tls_key_file: tls.key, client_tls_cert_file: tls.certificate },
    })
    const [, rental] = sandbox.truth({ only: ['rentals'] }).rentals ?? []
    const set = { orderLink: 'https://example.com/pooled' }
    sandbox.mutate([{ record: 'rentals', op: 'update', id: String(rental?.key.id), set }])
    for (const command of [['migrate'], ['sync'], ['push'], ['status'], ['check']]) {
      const { code, stderr } = await runWith({ DATABASE_URL: pooler.through(url) }, command)
      expect({ command, code, stderr }).toMatchObject({ code: 0 })
    }
    expect(await differencesFromTruth(pool, sandbox.truthText(truthRanges))).toEqual([])
  })

  it('has the roles of the program, and its views belong to theirs', async () => {
    const { rows } = await pool.query(
      `select pg_has_role('renter', 'boat_mirror_views', 'usage') as member,
         pg_has_role('renter', 'pg_read_server_files', 'member') or (select rolsuper from pg_roles where rolname = 'renter') as mighty, count(*) filter (where pg_get_userbyid(relowner) = 'boat_mirror_views') > 0 as owns
         from pg_class where relkind = 'v' and relnamespace::regnamespace::text = any($1)`,
      [ourSchemas],
    )
    expect(rows).toEqual([{ member: true, mighty: false, owns: true }])
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
