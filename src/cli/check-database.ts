// `check` of the database: whether it can be used, and whether pooler, schema, roles and clocks are right.

import type { Config } from '../config.ts'
import { type Database, openDatabase, supportedVersion } from '../database/database.ts'
import { maxSkewMs, measureSkew } from '../database/database-clock.ts'
import { assertSameDatabase, type Pooling, poolingOf } from '../database/pooler.ts'
import { newerProgram } from '../database/release.ts'
import { translateDatabaseError } from '../database/sql-states.ts'
import { withTls } from '../database/tls.ts'
import { type DatabaseServer, openDatabaseServer } from '../embedded/embedded-postgres.ts'
import { BoatMirrorError } from '../errors.ts'
import { readsSummary } from '../inspect/calls.ts'
import { mayCreate } from '../inspect/database.ts'
import { describeHolder, feedHolders } from '../inspect/feed.ts'
import type { Logger } from '../log.ts'
import { assertColumnsOptional } from '../mirror/partner-objects.ts'
import { assertTimeZone, followZone } from '../reports/time-zone.ts'
import { isCurrent, type MigrationStatus, migrationStatus, missingOf } from '../schema/migrate.ts'
import { roleGaps } from '../schema/roles.ts'
import { assertNamesFree, assertSuitable, probeEngine } from '../schema/suitable.ts'
import { repeatingReads } from '../sync/due/reads.ts'
import { shownAddress } from '../text.ts'
import { type Finding, failed, ok, warn } from './findings.ts'
import { missingDatabase } from './worker-mark.ts'

/** The address of the queue on Postgres, and the pooler in front of it. */
export type Direct = { readonly databaseUrl: string; readonly pooling: Pooling }

type Looked = {
  readonly direct: Direct | null
  readonly database: Database | null
  /** The schema is that of this program. */
  readonly current: boolean
  [Symbol.asyncDispose](): Promise<void>
}

/** Adds its findings, and opens the database for the later checks. */
export async function checkDatabase(config: Config, log: Logger, findings: Finding[]): Promise<Looked> {
  const closers: (() => Promise<void>)[] = []
  const dispose = async (): Promise<void> => {
    for (const close of closers.reverse()) await close()
  }
  const nothing = { direct: null, database: null, current: false, [Symbol.asyncDispose]: dispose }
  let url: string | null = null
  try {
    const missing = await missingDatabase(config)
    if (missing !== null) {
      findings.push(warn('database', missing.message, missing.remedy ?? ''))
      return nothing
    }
    const server = await withTls(await openDatabaseServer(config, log), log)
    closers.push(() => server.close())
    url = server.url
    const database = openDatabase({ url, applicationName: 'boat-mirror check', max: 2, log })
    closers.push(() => database.close())
    findings.push(ok('database', `${shownAddress(url)}, Postgres ${await supportedVersion(database.pool)}`))
    await assertSuitable(database.pool, 'sync')
    const untried = await probeEngine(database.pool)
    if (untried !== null) findings.push(warn('engine', untried, 'Allow one more connection, and run check again.'))
    const pooler = await checkPooler(server)
    if (pooler.finding !== null) findings.push(pooler.finding)
    findings.push(...(await durabilityFindings(database)))
    const direct: Direct = { databaseUrl: server.directUrl, pooling: pooler.direct }
    const schema = await migrationStatus(direct.databaseUrl)
    if (schema.applied.length === 0) await assertNamesFree(database.pool)
    findings.push(await schemaFinding(config, database, schema))
    if (isCurrent(schema)) findings.push(await rolesFinding(database), await columnsFinding(database))
    findings.push(await clockFinding(database, config))
    findings.push(...(await zoneFindings(database, config)))
    if (isCurrent(schema)) findings.push(...(await feedFindings(database)), await readsFinding(config, database))
    return { direct, database, current: isCurrent(schema), [Symbol.asyncDispose]: dispose }
  } catch (error) {
    findings.push(failed('database', translateDatabaseError(error, url ?? undefined)))
    return nothing
  }
}

/** Settings that are off for every session, and the effect of a crash. */
async function durabilityFindings({ pool }: Database): Promise<readonly Finding[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select name from pg_settings
     where name in ('fsync', 'full_page_writes', 'synchronous_commit') and reset_val = 'off' order by name`,
  )
  return rows.map(({ name }) => {
    const [effect, remedy] =
      name === 'synchronous_commit'
        ? [
            'of Postgres loses the last commits',
            'Boat Mirror switches it on for itself. Do the same where you enqueue changes.',
          ]
        : ['of the host can destroy the database', 'Switch it on in postgresql.conf.']
    return warn('durability', `${name} is off: a crash ${effect}`, remedy)
  })
}

const feedFindings = async ({ pool }: Database): Promise<readonly Finding[]> =>
  (await feedHolders(pool)).map((holder) =>
    warn('change feed', describeHolder(holder), 'Readers of the feed wait. The mirror itself continues.'),
  )

async function readsFinding({ readEconomy }: Config, { pool }: Database): Promise<Finding> {
  const reads = await repeatingReads(pool)
  const leftOut = reads.filter(({ state }) => state === 'redundant').map(({ endpoint }) => endpoint)
  const names = leftOut.length === 0 ? '' : ` (${leftOut.join(', ')})`
  return ok('reads', readEconomy ? `${readsSummary(reads)}${names}` : 'no read is skipped, because READ_ECONOMY is off')
}

async function schemaFinding(config: Config, database: Database, schema: MigrationStatus): Promise<Finding> {
  if (isCurrent(schema)) return ok('schema', `up to date: ${schema.applied.at(-1) ?? 'nothing applied'}`)
  if (schema.unknown.length > 0) return failed('schema', newerProgram(schema.unknown))
  const missing = missingOf(schema)
  const allowed = await mayCreate(database.pool)
  if (config.autoMigrate && allowed)
    return warn(
      'schema',
      `missing: ${missing}`,
      'Nothing to do: worker, sync and push migrate when they start. Or run: boat-mirror migrate',
    )
  return failed(
    'schema',
    new BoatMirrorError(
      'DATABASE_SCHEMA',
      `missing: ${missing}${allowed ? '' : '; this role may not create schemas in this database'}`,
      { remedy: 'Run `boat-mirror migrate` with a role that may create schemas.' },
    ),
  )
}

/** Roles for readers and partners may be created after the schema. */
async function rolesFinding(database: Database): Promise<Finding> {
  const { missing, ungranted } = await roleGaps(database.pool)
  if (missing.length + ungranted.length === 0) return ok('roles', 'the roles for readers and partners exist')
  const detail = [...missing.map((role) => `${role} is missing`), ...ungranted.map((role) => `${role} has no grants`)]
  const create = missing.map((role) => `create role ${role} nologin; `).join('')
  return warn('roles', detail.join(', '), `To give others access, run: ${create}then boat-mirror migrate as the owner.`)
}

/** A column that a partner added must accept rows that do not name it. */
async function columnsFinding({ pool }: Database): Promise<Finding> {
  try {
    await assertColumnsOptional(pool)
    return ok('columns', 'no column added by others rejects rows of the mirror')
  } catch (error) {
    return failed('columns', translateDatabaseError(error))
  }
}

/** Node and Postgres should have the same rules for TIME_ZONE. */
async function zoneFindings({ pool }: Database, { timeZone }: Config): Promise<readonly Finding[]> {
  await assertTimeZone(pool, timeZone)
  const difference = await followZone(pool, timeZone)
  return difference === null ? [] : [warn('time zone', difference, 'Update the one with older rules.')]
}

async function clockFinding(database: Database, config: Config): Promise<Finding> {
  const skewMs = Math.round((await measureSkew(database.pool)).ms)
  const detail = `the clocks of this host and Postgres differ by ${Math.abs(skewMs)} ms`
  if (Math.abs(skewMs) <= maxSkewMs) return ok('clocks', detail)
  const remedy = 'Synchronize the clocks (NTP), or run the queue on Redis with REDIS_URL.'
  return config.redisUrl === null
    ? failed('clocks', new BoatMirrorError('CLOCK_SKEW', detail, { remedy }))
    : warn('clocks', detail, 'Synchronize the clocks (NTP).')
}

const withoutNotifications =
  'notifications do not pass through it, so queue and outbox are polled every second; everything else works'

/**
 * Checks both addresses of the database.
 * @returns the finding, null where there is nothing to report; and the pooling in front of migrations, LISTEN and the
 * queue.
 * @throws BoatMirrorError CONFIG_INVALID when they lead to two databases, DATABASE_*.
 */
async function checkPooler(server: DatabaseServer): Promise<{ finding: Finding | null; direct: Pooling }> {
  const { url, directUrl } = server
  const pooling = await poolingOf(url, 'DATABASE_URL')
  if (directUrl === url) return { finding: findingOf(pooling), direct: pooling }
  await assertSameDatabase(url, directUrl)
  const direct = await poolingOf(directUrl, 'DATABASE_DIRECT_URL')
  if (direct === 'transaction')
    return {
      finding: warn(
        'pooler',
        `DATABASE_DIRECT_URL points to a transaction pooler: ${withoutNotifications}`,
        'Set DATABASE_DIRECT_URL to the address of Postgres itself.',
      ),
      direct,
    }
  const before = pooling === 'none' ? 'DATABASE_URL uses no pooler' : `DATABASE_URL points to a ${pooling} pooler`
  const detail = `${before}; migrations, LISTEN and the queue on Postgres use DATABASE_DIRECT_URL`
  return { finding: ok('pooler', detail), direct }
}

function findingOf(pooling: Pooling): Finding | null {
  if (pooling === 'none') return null
  if (pooling === 'session')
    return ok(
      'pooler',
      'a session pooler: everything works through it; a worker holds up to 29 of its server connections',
    )
  return warn(
    'pooler',
    `a transaction pooler: ${withoutNotifications}`,
    'Nothing to do. DATABASE_DIRECT_URL with the address of Postgres itself restores notifications.',
  )
}
