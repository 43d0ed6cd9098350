// Brings the database up to date: numbered migrations, then the repeatable steps, under one advisory lock.
// Loud: whatever goes wrong is thrown (Kysely's Migrator only returns it).

import { Kysely, Migrator, PostgresDialect } from 'kysely'
import pg from 'pg'
import { migrations } from '../../migrations/index.ts'
import { BoatMirrorError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { clientConfig } from './database.ts'
import { repeatableSteps, repeatableVersion } from './repeatable/index.ts'
import type { Queryable } from './sql.ts'
import { sqlStateOf, translateDatabaseError } from './sql-states.ts'

/** Where Kysely keeps what it applied. */
const bookkeeping = {
  migrationTableSchema: 'sync',
  migrationTableName: 'migrations',
  migrationLockTableName: 'migrations_lock',
} as const

/** Whoever migrates this database holds this advisory lock; the number is our own. */
const lockKey = '7030520240801'

export type MigrationStatus = {
  readonly applied: readonly string[]
  readonly pending: readonly string[]
  /** Applied by a newer program than this one. */
  readonly unknown: readonly string[]
  /** Comments, views, functions and grants are those of this program. */
  readonly repeatableCurrent: boolean
}

const stateQuery = `select
  (select coalesce(array_agg(name::text order by name), '{}') from sync.migrations) as names,
  (select version from sync.repeatable) as version`

/** SQLSTATEs of a database that was never migrated, or only in part: no schema, no table. */
const neverMigrated: ReadonlySet<string> = new Set(['3F000', '42P01'])

type State = { readonly names: readonly string[]; readonly version: string | null }

const untouched: State = { names: [], version: null }

async function readState(db: Queryable): Promise<State> {
  try {
    const { rows } = await db.query<State>(stateQuery)
    return rows[0] ?? untouched
  } catch (error) {
    if (neverMigrated.has(sqlStateOf(error) ?? '')) return untouched
    throw error
  }
}

async function readStatus(db: Queryable): Promise<MigrationStatus> {
  const known = Object.keys(migrations)
  const state = await readState(db)
  return {
    applied: state.names.filter((name) => known.includes(name)),
    pending: known.filter((name) => !state.names.includes(name)),
    unknown: state.names.filter((name) => !known.includes(name)),
    repeatableCurrent: state.version === repeatableVersion,
  }
}

const isCurrent = (status: MigrationStatus): boolean =>
  status.pending.length === 0 && status.unknown.length === 0 && status.repeatableCurrent

function refuseNewer(status: MigrationStatus): void {
  if (status.unknown.length === 0) return
  throw new BoatMirrorError(
    'DATABASE_SCHEMA',
    `The database was migrated by a newer program (${status.unknown.join(', ')}).`,
    { remedy: 'Use the newer version of boat-mirror with this database.' },
  )
}

/**
 * Applies what is missing; safe for any number of processes at once. A database that is up to date costs one query.
 * @param url address of the database; the role needs CREATE on it.
 * @returns the names of the migrations applied by this call.
 * @throws BoatMirrorError DATABASE_*.
 */
export async function migrate(url: string, options: { readonly log?: Logger } = {}): Promise<{ applied: string[] }> {
  // One connection: the lock belongs to its session, and so does everything done under it. No statement timeout.
  const pool = new pg.Pool({ ...clientConfig(url, 'boat-mirror migrate'), max: 1 })
  const { log } = options
  pool.on('error', (error) => log?.warn({ event: 'database_connection_lost', reason: error.message }))
  pool.on('connect', (client) => {
    client.on('error', (error) => log?.debug({ event: 'database_connection_lost', reason: error.message }))
    client.on('notice', (notice) => {
      if (notice.message?.startsWith('role ')) log?.info({ event: 'migration_notice' }, notice.message)
    })
  })
  try {
    const before = await readStatus(pool)
    refuseNewer(before)
    if (isCurrent(before)) return { applied: [] }
    const applied = await migrateLocked(pool)
    if (applied.length > 0) log?.info({ event: 'migrated', applied }, 'the database was brought up to date')
    return { applied }
  } catch (error) {
    throw translateDatabaseError(error, url)
  } finally {
    await pool.end()
  }
}

async function migrateLocked(pool: pg.Pool): Promise<string[]> {
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  await pool.query(`select pg_advisory_lock(${lockKey})`) // released when the pool, and with it the session, ends
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
    ...bookkeeping,
  })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
  const status = await readStatus(pool)
  if (!status.repeatableCurrent) await applyRepeatable(pool)
  return results.filter((result) => result.status === 'Success').map((result) => result.migrationName)
}

async function applyRepeatable(pool: pg.Pool): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    for (const step of repeatableSteps) {
      if (step.values === undefined) await client.query(step.sql)
      else await client.query(step.sql, [...step.values])
    }
    await client.query(
      `insert into sync.repeatable (version) values ($1)
       on conflict (only_row) do update set version = excluded.version, applied_at = clock_timestamp()`,
      [repeatableVersion],
    )
    await client.query('commit')
  } finally {
    client.release(true) // ends the session: an open transaction is rolled back, and the lock goes with it
  }
}

/** What `migrate` would do. @throws BoatMirrorError DATABASE_*. */
export async function migrationStatus(url: string): Promise<MigrationStatus> {
  const client = new pg.Client(clientConfig(url, 'boat-mirror migrate --status'))
  // A connection that dies while it is asked fails the query itself; without a listener it would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await readStatus(client)
  } catch (error) {
    throw translateDatabaseError(error, url)
  } finally {
    await client.end()
  }
}

/**
 * Checks, changes nothing: for processes that may not migrate (AUTO_MIGRATE=off).
 * @throws BoatMirrorError DATABASE_SCHEMA when the schema is missing, older or newer than this program.
 */
export async function assertSchemaCurrent(db: { readonly pool: pg.Pool }): Promise<void> {
  const status = await readStatus(db.pool).catch((error: unknown) => {
    throw translateDatabaseError(error)
  })
  refuseNewer(status)
  if (isCurrent(status)) return
  const missing = status.pending.length > 0 ? status.pending.join(', ') : 'views and functions of this version'
  throw new BoatMirrorError('DATABASE_SCHEMA', `The database is not up to date: ${missing} missing.`, {
    remedy: 'Run `boat-mirror migrate` with a role that may create tables.',
  })
}
