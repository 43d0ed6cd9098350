// `check` of the API: detects missing settings, then reads the API as a sync would.

import { createSandbox } from '../../sandbox/index.ts'
import { type Limiter, unlimited } from '../api/admission/rate-limit.ts'
import { streams } from '../catalog/catalog.ts'
import { type Config, givenNames } from '../config.ts'
import type { Database } from '../database/database.ts'
import { ApiError } from '../errors.ts'
import type { Discovery } from '../profile/search/discover.ts'
import { type DiscoveryOptions, discover } from '../profile/search/discover.ts'
import type { ListToRead } from '../profile/search/inquiry.ts'
import { createAllowance } from '../profile/search/inquiry.ts'
import { isEnabled } from '../sync/plan.ts'
import { checkApi } from './check-api.ts'
import { settingsFinding } from './check-settings.ts'
import type { CommandContext } from './context.ts'
import { type Finding, failed } from './findings.ts'
import { knownSandbox } from './sandbox/file.ts'
import { attachSandbox } from './sandbox/host.ts'

/** The paged lists, rentals first: they are the longest, and the most likely to need permission. */
const pagedLists = (config: Config): readonly ListToRead[] =>
  streams
    .filter((stream) => isEnabled(stream, config))
    .flatMap(({ name, reads }) =>
      reads.kind === 'list' && reads.paged ? [{ name, endpoint: reads.list, query: reads.query ?? {} }] : [],
    )
    .reverse()

type SearchOptions = Pick<DiscoveryOptions, 'allowance' | 'signal' | 'tryQuery' | 'pause'> & {
  /** Names of the settings that environment, `.env` or the file set. */
  readonly given: ReadonlySet<string>
}

/** Looks for the settings of the API at `API_BASE_URL`. */
export function searchSettings(config: Config, { given, ...how }: SearchOptions): Promise<Discovery> {
  const { paging, baseUrl } = config.api
  return discover({
    ...how,
    api: { ...config.api, baseUrl: baseUrl ?? '' },
    lists: pagedLists(config),
    set: { paging, style: given.has('API_PAGING') ? paging.style : null },
  })
}

const withFound = (config: Config, { auth, paging }: Pick<Discovery, 'auth' | 'paging'>): Config => ({
  ...config,
  api: { ...config.api, auth: auth ?? config.api.auth, paging: { ...config.api.paging, ...paging } },
})

export type CheckHow = {
  /** Searches for settings, also for those that are set. */
  readonly isToWrite: boolean
  /** The secret is also tried in the address. */
  readonly tryQuery: boolean
}

export type Checked = {
  readonly findings: readonly Finding[]
  /** Null: nothing was searched for. */
  readonly found: Discovery | null
}

/**
 * Checks the API. Detects settings that are not set or do not work, or on request; stores them in the database, if there is one.
 * @param how `limiter`: what each request passes where a quota counts them
 */
export async function searchAndCheckApi(
  context: CommandContext,
  database: Database | null,
  { isToWrite, tryQuery, limiter = unlimited }: CheckHow & { readonly limiter?: Limiter },
): Promise<Checked> {
  const { config, environment, signal } = context
  if (config.api.baseUrl === null) return { findings: await lookAtSandbox(context, { database, limiter }), found: null }
  const given = givenNames(environment)
  const isKnown = given.has('API_AUTH') && given.has('API_PAGING') && hasCredentials(config)
  const asSet = isKnown && !isToWrite && !tryQuery ? await look(context, { config, database, limiter }) : null
  if (asSet !== null && !asSet.some(isListMisread)) return { findings: asSet, found: null }
  const allowance = createAllowance(limiter)
  const found = await searchSettings(config, { given, tryQuery, allowance, signal })
  if (asSet !== null)
    return { findings: found.auth === null ? asSet : [settingsFinding(config, found, false), ...asSet], found }
  const how = { database, limiter: allowance }
  if (found.auth === null) {
    // The usual check describes other problems of the address better.
    const isFinal = isToWrite || isRefusal(found.problem)
    return { findings: isFinal ? [failed('API', found.problem)] : await look(context, { config, ...how }), found }
  }
  const settings = settingsFinding(config, found, isToWrite)
  // Settings that work are checked unchanged.
  const seen = withFound(config, isToWrite || settings.status === 'fail' ? found : { auth: found.auth, paging: null })
  return { findings: [settings, ...(await look(context, { config: seen, ...how }))], found }
}

/** A list that cannot be read as it is set. */
const isListMisread = ({ name, status }: Finding): boolean => status === 'fail' && name.startsWith('list ')

/** Whether the configured credentials are complete. */
const hasCredentials = ({ api: { auth, token } }: Config): boolean => token !== null || auth.kind === 'none'

/** Refusals that end the check. */
const isRefusal = (problem: unknown): boolean =>
  problem instanceof ApiError && [401, 403, 423, 429].includes(problem.status ?? 0)

type How = { readonly database: Database | null; readonly limiter: Limiter }

/** The findings of a check of the API; where it fails, that is the finding. */
async function tried(signal: AbortSignal, check: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await check()
  } catch (error) {
    signal.throwIfAborted()
    return [failed('API', error)]
  }
}

const look = (
  { log, signal }: CommandContext,
  { config, database, apiUrl = config.api.baseUrl ?? '', limiter }: How & { config: Config; apiUrl?: string },
): Promise<readonly Finding[]> => tried(signal, () => checkApi({ config, apiUrl, log, signal, limiter }, database))

const lookAtSandbox = (context: CommandContext, how: How): Promise<readonly Finding[]> =>
  tried(context.signal, async () => {
    const { config, log } = context
    // A sandbox that no worker has started leaves no trace.
    const isKnown = (await knownSandbox(config.dataDir)) !== null
    const sandbox = await (isKnown ? attachSandbox(config.dataDir, log) : createSandbox())
    try {
      return await look(context, { config, apiUrl: sandbox.url, ...how })
    } finally {
      await sandbox.close()
    }
  })
