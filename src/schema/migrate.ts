// Brings the database up to date: numbered migrations, then the repeatable steps, in one transaction under one lock.

import type pg from 'pg'
import { migrations } from '../../migrations/index.ts'
import { openDatabase, supportedVersion } from '../database/database.ts'
import { watchLocks } from '../database/lock-wait.ts'
import { newerProgram, newerRelease, release } from '../database/release.ts'
import { withClient } from '../database/session.ts'
import { kyselyOn, type Queryable } from '../database/sql.ts'
import { translateDatabaseError } from '../database/sql-states.ts'
import { BoatMirrorError } from '../errors.ts'
import { createLogger, type Logger } from '../log.ts'
import { makeLogMonths } from '../mirror/log-months.ts'
import { repeatableSteps, repeatableVersion } from './repeatable-steps.ts'
import { replaceViews } from './replace-views.ts'
import { roleGaps } from './roles.ts'
import { assertNamesFree, assertSuitable, probeEngine } from './suitable.ts'

/** A migrate of this database holds this advisory lock until the end of the transaction; the number is arbitrary. */
const lockKey = '7030520240801'

export type MigrationStatus = {
  readonly applied: readonly string[]
  readonly pending: readonly string[]
  /** Applied by a newer program than this one. */
  readonly unknown: readonly string[]
  /** Comments, views, functions and grants are those of this program. */
  readonly repeatableCurrent: boolean
}

/** Stores in which folder the database lies, once an embedded Postgres is started that says it: a copied folder is another one. */
const keepFolder = `do $$ begin
  if exists (select from sync.log_identity where folder is null and sync.folder() is not null) then
    update sync.log_identity set folder = sync.folder();
  end if;
end $$`

/** Asks the catalog first: an error would end the transaction, and `to_regclass` may remember what was before a lock. */
const tablesQuery = `select coalesce(array_agg(c.relname::text), '{}') as tables
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'sync'`

async function readState(db: Queryable): Promise<{ names: readonly string[]; version: string | null }> {
  const tables = (await db.query<{ tables: string[] }>(tablesQuery)).rows[0]?.tables ?? []
  const names = tables.includes('migrations')
    ? (await db.query<{ name: string }>('select name from sync.migrations order by name')).rows
    : []
  const versions = tables.includes('repeatable')
    ? (await db.query<{ version: string }>('select version from sync.repeatable')).rows
    : []
  return { names: names.map(({ name }) => name), version: versions[0]?.version ?? null }
}

/** The first of the migrations that `0001_schemas` replaced, of two ages: a database that still lists one was never converted. */
const beforeBaseline = ['0001_baseline', '0001_sync']

function refuseUnconverted(names: readonly string[]): void {
  if (!beforeBaseline.some((name) => names.includes(name))) return
  throw new BoatMirrorError('DATABASE_SCHEMA', 'A version before the first release migrated this database.', {
    remedy:
      'Stop its workers, back it up, and run deploy/upgrade-to-baseline.sql of the package (`boat-mirror db psql < FILE`), then `boat-mirror migrate`.',
  })
}

/** What sync.repeatable holds of this program. */
const versionHere = (): string => `${release.number}.${repeatableVersion}`

async function readStatus(db: Queryable): Promise<MigrationStatus> {
  await supportedVersion(db)
  const known = Object.keys(migrations)
  const state = await readState(db)
  refuseUnconverted(state.names)
  return {
    applied: state.names.filter((name) => known.includes(name)),
    pending: known.filter((name) => !state.names.includes(name)),
    unknown: [...state.names.filter((name) => !known.includes(name)), ...newerRelease(state.version)],
    repeatableCurrent: state.version === versionHere(),
  }
}

/** Is the schema that of this program, no older and no newer? */
export const isCurrent = (status: MigrationStatus): boolean =>
  status.pending.length === 0 && status.unknown.length === 0 && status.repeatableCurrent

/** What an older schema lacks, in words. */
export const missingOf = ({ pending }: MigrationStatus): string =>
  pending.length > 0 ? pending.join(', ') : 'views and functions of this version'

function refuseNewer({ unknown }: Pick<MigrationStatus, 'unknown'>): void {
  if (unknown.length > 0) throw newerProgram(unknown)
}

type MigrateOptions = {
  readonly log?: Logger
  /** Ends a wait for another migrate, or for a session that uses a table to change; nothing is applied then. */
  readonly signal?: AbortSignal
}

/**
 * Applies what is missing in one transaction: all of it or nothing. Safe for any number of processes at once. A database
 * that is up to date costs a few queries.
 * @param url address of the database; the role needs CREATE on it.
 * @returns the names of the migrations applied by this call.
 * @throws BoatMirrorError DATABASE_*; the signal's reason.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<{ applied: string[] }> {
  const { log = createLogger('silent'), signal } = options
  const database = openDatabase({
    url,
    applicationName: 'boat-mirror migrate',
    max: 2, // one migrates, one looks what it waits for
    log,
    statementTimeoutMs: 0,
  })
  database.pool.on('connect', (client) => {
    client.on('notice', (notice) => {
      if (notice.message?.startsWith('role ')) log.info({ event: 'migration_notice' }, notice.message)
    })
  })
  try {
    const before = await readStatus(database.pool)
    refuseNewer(before)
    await assertSuitable(database.pool, 'migrate')
    const untried = await probeEngine(database.pool)
    if (untried !== null) log.warn({ event: 'engine_not_tried' }, untried)
    const isDone = isCurrent(before) && !(await roleGaps(database.pool)).open
    const applied = isDone
      ? []
      : await database.transaction((client) =>
          watchLocks({ pool: database.pool, client, what: 'migrate', log, signal }, async () => {
            await client.query(`select pg_advisory_xact_lock(${lockKey})`)
            return await upgrade(client, signal)
          }),
        )
    await makeLogMonths(database.pool)
    await database.pool.query(keepFolder)
    await database.pool.query('select company_access.notice_roles()') // also after a restore, when nothing else is missing
    if (applied.length > 0) log.info({ event: 'migrated', applied }, 'the database was brought up to date')
    return { applied }
  } catch (error) {
    throw translateDatabaseError(error, url)
  } finally {
    await database.close()
  }
}

/** All of a migrate, in the caller's transaction, under the lock. @returns the names of the migrations applied. */
async function upgrade(client: pg.PoolClient, signal: AbortSignal | undefined): Promise<string[]> {
  const status = await readStatus(client)
  const { pending } = status
  refuseNewer(status)
  if (isCurrent(status) && !(await roleGaps(client)).open) return [] // another migrate was here
  // Older programs that still run find this before they write again (src/privacy). First of all: they hold no lock yet when they
  // ask for it. The whole table: one that waited for the row would hold the table, which is altered below.
  await client.query(`do $$ begin if exists (select from pg_tables where schemaname = 'sync' and tablename = 'privacy')
    then lock table sync.privacy in access exclusive mode; update sync.privacy set generation = generation + 1; end if; end $$`)
  if (status.applied.length === 0) await assertNamesFree(client)
  // The same table as Kysely's own Migrator. That one takes a lock of the session, which a pooler passes on to the
  // next client.
  await client.query(`create schema if not exists sync;
    create table if not exists sync.migrations (name varchar(255) primary key, timestamp varchar(255) not null)`)
  const db = kyselyOn<unknown>(client)
  for (const [name, migration] of Object.entries(migrations)) {
    if (!pending.includes(name)) continue
    signal?.throwIfAborted()
    await migration.up(db)
    await client.query('insert into sync.migrations (name, timestamp) values ($1, $2)', [
      name,
      new Date().toISOString(),
    ])
  }
  signal?.throwIfAborted()
  // Also for roles that an administrator made since: the grants are repeatable steps.
  await applyRepeatable(client)
  return [...pending]
}

async function applyRepeatable(client: pg.PoolClient): Promise<void> {
  for (const step of repeatableSteps) {
    await replaceViews(client, step.views ?? [])
    if (step.values === undefined) await client.query(step.sql)
    else await client.query(step.sql, [...step.values])
  }
  await client.query(
    `insert into sync.repeatable (version) values ($1)
     on conflict (only_row) do update set version = excluded.version, applied_at = clock_timestamp()`,
    [versionHere()],
  )
}

/** Computes what `migrate` would do. @throws BoatMirrorError DATABASE_*. */
export async function migrationStatus(url: string): Promise<MigrationStatus> {
  try {
    return await withClient({ url, applicationName: 'boat-mirror migrate --status' }, readStatus)
  } catch (error) {
    throw translateDatabaseError(error, url)
  }
}

/**
 * Checks, changes nothing: for processes that may not migrate (AUTO_MIGRATE=off).
 * @param remedy what to do about a schema that is missing or older.
 * @throws BoatMirrorError DATABASE_SCHEMA when the schema is missing, older or newer than this program.
 */
export async function assertSchemaCurrent(
  db: { readonly pool: pg.Pool },
  remedy = 'Run `boat-mirror migrate` with a role that may create tables.',
): Promise<void> {
  const status = await readStatus(db.pool).catch((error: unknown) => {
    throw translateDatabaseError(error)
  })
  refuseNewer(status)
  if (isCurrent(status)) return
  throw new BoatMirrorError('DATABASE_SCHEMA', `The database is not up to date: ${missingOf(status)} missing.`, {
    remedy,
  })
}
