// `check`: tries configuration, database, queue and API, and says what is right, what is wrong and what to set.

import { openLimiter, queuePrefix, rateOf } from '../../app.ts'
import type { Config } from '../../config.ts'
import { type Database, openDatabase, supportedVersion } from '../../database/database.ts'
import { maxSkewMs, measureSkew } from '../../database/database-clock.ts'
import type { Pooling } from '../../database/pooler.ts'
import { translateDatabaseError } from '../../database/sql-states.ts'
import { withTls } from '../../database/tls.ts'
import type { FoundSetting } from '../../discovery/types.ts'
import { openDatabaseServer } from '../../embedded/embedded-postgres.ts'
import { BoatMirrorError } from '../../errors.ts'
import { describeHolder, feedHolders } from '../../inspect/feed-holders.ts'
import { mayCreate } from '../../inspect/queries.ts'
import { readsSummary } from '../../inspect/reads.ts'
import { openBackend } from '../../jobs/backend.ts'
import type { Logger } from '../../log.ts'
import { assertColumnsOptional } from '../../mirror/partner-objects.ts'
import { isCurrent, type MigrationStatus, migrationStatus, missingOf } from '../../schema/migrate.ts'
import { roleGaps } from '../../schema/roles.ts'
import { assertNamesFree, assertSuitable } from '../../schema/suitable.ts'
import { repeatingReads } from '../../state/due/reads.ts'
import { shownAddress } from '../../text.ts'
import { unguarded } from '../../web/guard.ts'
import { checkPooler } from '../check-pooler.ts'
import { searchAndCheckApi } from '../check-search.ts'
import { linesText, placesOf, type SettingToWrite, writeSettings, writtenText } from '../check-settings.ts'
import type { CommandContext, ExitCode, Json } from '../context.ts'
import { type Finding, failed, findingsText, ok, warn } from '../findings.ts'
import { printJson, printText } from '../terminal/output.ts'
import { otherDatabase } from '../worker-mark.ts'

type Flags = Json & { readonly write?: string | true; readonly withSecrets: boolean; readonly tryQuery: boolean }

export async function runCheck(
  context: CommandContext,
  { json, write, withSecrets, tryQuery }: Flags,
): Promise<ExitCode> {
  const { config, log, signal } = context
  if (write !== undefined && config.api.baseUrl === null)
    throw new BoatMirrorError('USAGE', 'There is nothing to find: API_BASE_URL is not set.', {
      remedy: 'Set API_BASE_URL and API_TOKEN.',
    })
  if (withSecrets && write === undefined)
    throw new BoatMirrorError('USAGE', '--with-secrets belongs to --write: nothing is written without it.')
  const findings: Finding[] = [await configuration(config), pages(config)]
  await using database = await checkDatabase(config, log, findings)
  signal.throwIfAborted()
  const current = database.current ? database.database : null
  if (database.direct !== null) findings.push(await checkQueue(context, database.direct, current))
  const isToWrite = write !== undefined
  const { found, ...api } = await lookAtApi(context, current, { isToWrite, tryQuery })
  findings.push(...api.findings)
  const path = isToWrite && found?.problem === null ? (write === true ? '.env' : write) : null
  const toWrite = [...placesOf(context.environment, withSecrets), ...(found?.settings ?? [])]
  const written = path === null ? null : await writeOrTell(path, toWrite, findings)
  const bad = findings.some((finding) => finding.status === 'fail')
  const contradicted = written?.some(({ contradictedBy }) => contradictedBy !== null) ?? false
  const settings = written ?? found?.settings ?? []
  if (json) printJson({ ok: !bad && !contradicted, findings, settings, written: written === null ? null : path })
  else {
    const lines =
      written !== null && path !== null
        ? writtenText(path, written)
        : settings.length > 0 && findings.some(({ name, status }) => name.startsWith('settings') && status !== 'ok')
          ? linesText(settings)
          : null
    const verdict = bad ? 'Something is wrong.' : 'All that is needed works.'
    printText([findingsText(findings), ...(lines === null ? [] : [lines]), verdict].join('\n\n'))
  }
  return bad ? 1 : contradicted ? 3 : 0
}

/** Looks at the API; with a quota each request is counted, and where nobody counts none is made. */
async function lookAtApi(
  context: CommandContext,
  current: Database | null,
  how: { readonly isToWrite: boolean; readonly tryQuery: boolean },
): Promise<Awaited<ReturnType<typeof searchAndCheckApi>>> {
  const { config, log } = context
  if (config.api.quota === null) return await searchAndCheckApi(context, current, how)
  if (current === null)
    return {
      findings: [
        warn(
          'API',
          'not asked: API_QUOTA is set, and without its schema the database counts no requests',
          remedyUncounted,
        ),
      ],
      found: null,
    }
  const ratePerSecond = rateOf(config, config.api.baseUrl === null)
  const limiter = openLimiter(current.pool, { config, ratePerSecond, patienceMs: queuePatienceMs, log })
  try {
    return await searchAndCheckApi(context, current, { ...how, limiter })
  } finally {
    await limiter.close()
  }
}

const remedyUncounted = 'Run: boat-mirror migrate. Or unset API_QUOTA for this one check.'

/** Writes the settings; null where that fails, which is one more finding: what was found is shown all the same. */
async function writeOrTell(
  path: string,
  settings: readonly FoundSetting[],
  findings: Finding[],
): Promise<readonly SettingToWrite[] | null> {
  try {
    return await writeSettings(path, settings, process.env)
  } catch (error) {
    if (!(error instanceof BoatMirrorError)) throw error
    findings.push(failed('settings file', error))
    return null
  }
}

async function configuration(config: Config): Promise<Finding> {
  const parts = [
    `API ${config.api.baseUrl === null ? 'the built-in sandbox' : 'of your own'}`,
    `database ${config.databaseUrl === null ? `embedded in ${config.dataDir}` : 'of your own'}`,
    `queue on ${config.redisUrl === null ? 'Postgres' : 'Redis'}`,
  ]
  const detail = `every setting can be read: ${parts.join(', ')}`
  const other = await otherDatabase(config)
  return other === null ? ok('configuration', detail) : warn('configuration', detail, other)
}

/** Where the queue on Postgres works, and through what. */
type Direct = { readonly databaseUrl: string; readonly pooling: Pooling }

/** What `worker` will say of the pages; the other commands serve none. */
function pages(config: Config): Finding {
  const open = unguarded(config)
  if (open !== null) return warn('pages', open.message, `worker will not start: ${open.remedy}`)
  const token = config.adminToken === null ? '' : ', with a token'
  return ok('pages', `served by worker at ${config.host}, port ${config.port}${token}`)
}

type Looked = {
  readonly direct: Direct | null
  readonly database: Database | null
  /** The schema is that of this program. */
  readonly current: boolean
  [Symbol.asyncDispose](): Promise<void>
}

/** Adds what it finds; opens the database for those that come after. */
async function checkDatabase(config: Config, log: Logger, findings: Finding[]): Promise<Looked> {
  const closers: (() => Promise<void>)[] = []
  const dispose = async (): Promise<void> => {
    for (const close of closers.reverse()) await close()
  }
  let url: string | null = null
  try {
    const server = await withTls(await openDatabaseServer(config, log), log)
    closers.push(() => server.close())
    url = server.url
    const database = openDatabase({ url, applicationName: 'boat-mirror check', max: 2, log })
    closers.push(() => database.close())
    findings.push(ok('database', `${shownAddress(url)}, Postgres ${await supportedVersion(database.pool)}`))
    await assertSuitable(database.pool, 'sync')
    const pooler = await checkPooler(server)
    if (pooler.finding !== null) findings.push(pooler.finding)
    const direct: Direct = { databaseUrl: server.directUrl, pooling: pooler.direct }
    const schema = await migrationStatus(direct.databaseUrl)
    if (schema.applied.length === 0) await assertNamesFree(database.pool)
    findings.push(await schemaFinding(config, database, schema))
    if (isCurrent(schema)) findings.push(await rolesFinding(database), await columnsFinding(database))
    findings.push(await clockFinding(database, config))
    if (isCurrent(schema)) findings.push(...(await feedFindings(database)), await readsFinding(config, database))
    return { direct, database, current: isCurrent(schema), [Symbol.asyncDispose]: dispose }
  } catch (error) {
    findings.push(failed('database', translateDatabaseError(error, url ?? undefined)))
    return { direct: null, database: null, current: false, [Symbol.asyncDispose]: dispose }
  }
}

const feedFindings = async ({ pool }: Database): Promise<readonly Finding[]> =>
  (await feedHolders(pool)).map((holder) =>
    warn('change feed', describeHolder(holder), 'Readers of the feed wait; the mirror itself goes on.'),
  )

/** Which reads are left out because they repeat others. */
async function readsFinding({ readEconomy }: Config, { pool }: Database): Promise<Finding> {
  const reads = await repeatingReads(pool)
  const leftOut = reads.filter(({ state }) => state === 'redundant').map(({ endpoint }) => endpoint)
  const names = leftOut.length === 0 ? '' : ` (${leftOut.join(', ')})`
  return ok('reads', readEconomy ? `${readsSummary(reads)}${names}` : 'all are made: READ_ECONOMY is off')
}

async function schemaFinding(config: Config, database: Database, schema: MigrationStatus): Promise<Finding> {
  if (isCurrent(schema)) return ok('schema', `up to date: ${schema.applied.at(-1) ?? 'nothing applied'}`)
  if (schema.unknown.length > 0)
    return failed(
      'schema',
      new BoatMirrorError('DATABASE_SCHEMA', `A newer program has migrated it: ${schema.unknown.join(', ')}.`, {
        remedy: 'Use the newer version of boat-mirror with this database.',
      }),
    )
  const missing = missingOf(schema)
  const allowed = await mayCreate(database.pool)
  if (config.autoMigrate && allowed)
    return warn(
      'schema',
      `missing: ${missing}`,
      'Nothing to do: worker, sync and push migrate first. Or run: boat-mirror migrate',
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

/** Roles for readers and partners may come later than the schema, from whoever may create them. */
async function rolesFinding(database: Database): Promise<Finding> {
  const { missing, ungranted } = await roleGaps(database.pool)
  if (missing.length + ungranted.length === 0) return ok('roles', 'readers and partners have their roles')
  const detail = [...missing.map((role) => `${role} is missing`), ...ungranted.map((role) => `${role} has no grants`)]
  const create = missing.map((role) => `create role ${role} nologin; `).join('')
  return warn('roles', detail.join(', '), `To give others access run: ${create}then boat-mirror migrate as the owner.`)
}

/** What a partner added to our tables must let in what knows nothing of it. */
async function columnsFinding({ pool }: Database): Promise<Finding> {
  try {
    await assertColumnsOptional(pool)
    return ok('columns', 'no column of others is in the way')
  } catch (error) {
    return failed('columns', translateDatabaseError(error))
  }
}

async function clockFinding(database: Database, config: Config): Promise<Finding> {
  const skewMs = Math.round((await measureSkew(database.pool)).ms)
  const detail = `this host and Postgres differ by ${Math.abs(skewMs)} ms`
  if (Math.abs(skewMs) <= maxSkewMs) return ok('clocks', detail)
  const remedy = 'Set the clocks (NTP), or run the queue on Redis with REDIS_URL.'
  return config.redisUrl === null
    ? failed('clocks', new BoatMirrorError('CLOCK_SKEW', detail, { remedy }))
    : warn('clocks', detail, 'Set the clocks (NTP).')
}

const queuePatienceMs = 5_000

async function checkQueue(context: CommandContext, direct: Direct, current: Database | null): Promise<Finding> {
  const { config, log, signal } = context
  const where = config.redisUrl === null ? 'Postgres, beside the mirror' : `Redis at ${shownAddress(config.redisUrl)}`
  const backend = openBackend({
    ...direct,
    redisUrl: config.redisUrl,
    prefix: current === null ? 'boat-mirror-check' : await queuePrefix(current),
    log,
    patienceMs: queuePatienceMs,
    signal,
  })
  try {
    await backend.ping()
    const risk = await backend.risk()
    return risk === null ? ok('queue', where) : warn('queue', `${where}: ${risk.detail}`, risk.remedy)
  } catch (error) {
    if (config.redisUrl === null && current === null)
      return warn('queue', `${where}: not set up yet`, 'Nothing to do: it is made with the schema.')
    return failed('queue', error)
  } finally {
    await backend.close()
  }
}
