// Everything that `check` tests: configuration, pages, database, queue and API. `init` tests the same before it writes `.env`.

import { openLimiter, queuePrefix, rateOf } from '../app.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { openBackend } from '../jobs/backend.ts'
import { apiRefusal, mirroredApi } from '../profile/mirrored-api.ts'
import { shownAddress } from '../text.ts'
import { unguarded } from '../web/guard.ts'
import { checkDatabase, type Direct } from './check-database.ts'
import { type Checked, type CheckHow, searchAndCheckApi } from './check-search.ts'
import type { CommandContext } from './context.ts'
import { type Finding, failed, ok, warn } from './findings.ts'
import { otherDatabase } from './worker-mark.ts'

/** Tests everything in order; the database is closed afterwards. */
export async function checkEverything(context: CommandContext, how: CheckHow): Promise<Checked> {
  const { config, log, signal } = context
  const findings: Finding[] = [await configuration(config), pages(config)]
  await using database = await checkDatabase(config, log, findings)
  signal.throwIfAborted()
  const current = database.current ? database.database : null
  if (database.direct !== null) findings.push(await checkQueue(context, database.direct, current))
  const { found, ...api } = await lookAtApi(context, current, how)
  return { findings: [...findings, ...api.findings], found }
}

/** Tests the API, unless the mirror is of another one. With a quota, requests must be counted: without a database, none is made. */
async function lookAtApi(context: CommandContext, current: Database | null, how: CheckHow): Promise<Checked> {
  const { config, log } = context
  const refusal = current === null ? null : apiRefusal(await mirroredApi(current.pool), config)
  if (refusal !== null) return { findings: [failed('API', refusal)], found: null }
  if (config.api.quota === null) return await searchAndCheckApi(context, current, how)
  if (current === null) return { findings: [uncounted], found: null }
  const ratePerSecond = rateOf(config, config.api.baseUrl === null)
  const limiter = openLimiter(current.pool, { config, ratePerSecond, patienceMs: queuePatienceMs, log })
  try {
    return await searchAndCheckApi(context, current, { ...how, limiter })
  } finally {
    await limiter.close()
  }
}

const uncounted = warn(
  'API',
  'not checked: API_QUOTA is set, and the database cannot count requests before it is migrated',
  'Run: boat-mirror migrate. Or unset API_QUOTA for this one check.',
)

async function configuration(config: Config): Promise<Finding> {
  const parts = [
    `the API is ${config.api.baseUrl === null ? 'the built-in sandbox' : 'your own'}`,
    `the database is ${config.databaseUrl === null ? `embedded in ${config.dataDir}` : 'your own'}`,
    `the queue is on ${config.redisUrl === null ? 'Postgres' : 'Redis'}`,
  ]
  const detail = `all settings are valid: ${parts.join(', ')}`
  const other = await otherDatabase(config)
  return other === null ? ok('configuration', detail) : warn('configuration', detail, other)
}

/** What `worker` will report about its pages. */
function pages(config: Config): Finding {
  const open = unguarded(config)
  if (open !== null) return warn('pages', open.message, `worker will not start. ${open.remedy}`)
  const token = config.adminToken === null ? '' : ', with a token'
  return ok('pages', `served by worker at ${config.host}, port ${config.port}${token}`)
}

const queuePatienceMs = 5_000

async function checkQueue(context: CommandContext, direct: Direct, current: Database | null): Promise<Finding> {
  const { config, log, signal } = context
  const where =
    config.redisUrl === null ? 'Postgres, in the same database' : `Redis at ${shownAddress(config.redisUrl)}`
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
      return warn('queue', `${where}: not set up yet`, 'Nothing to do: it is created with the schema.')
    return failed('queue', error)
  } finally {
    await backend.close()
  }
}
