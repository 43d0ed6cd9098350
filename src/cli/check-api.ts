// `check`, the API's half: is it there, does it let us in, and how are its lists read?

import { probePageBase } from '../api/paging/paging-probe.ts'
import { styles } from '../api/paging/styles.ts'
import type { Page } from '../api/types.ts'
import { proxyFor } from '../api/wire/proxy.ts'
import { streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Database } from '../database/database.ts'
import { BoatMirrorError } from '../errors.ts'
import { listDetected, pageBaseSetting, readDetected } from '../state/detected-settings.ts'
import { mayConcernParameters } from '../state/refused-parameters.ts'
import { pagingOf } from '../sync/lists/paging.ts'
import { isEnabled } from '../sync/plan.ts'
import { openProbeApi, type ProbeApi, type ProbeOptions, preflight } from '../sync/preflight.ts'
import { shownAddress } from '../text.ts'
import { detectedFindings } from './check-detected.ts'
import { type Finding, failed, ok, warn } from './findings.ts'

/** @param database where detected settings are kept; null: none is there yet. */
export async function checkApi(options: ProbeOptions, database: Database | null): Promise<readonly Finding[]> {
  const { config, apiUrl, signal } = options
  const lists = streams.filter((stream) => stream.reads.kind === 'list' && isEnabled(stream, config))
  const name = 'API'
  try {
    await preflight(
      options,
      lists.map((stream) => stream.name),
    )
  } catch (error) {
    signal.throwIfAborted()
    return [failed(name, error)]
  }
  const auth =
    config.api.auth.kind === 'none' || config.api.token === null
      ? 'without credentials'
      : `credentials sent as ${config.api.auth.kind}`
  const findings: Finding[] = [ok(name, `${shownAddress(apiUrl)} answers, ${auth}${wayTo(apiUrl, config)}`)]
  const probe = openProbeApi(options)
  try {
    for (const stream of lists) findings.push(await checkList(probe, options, stream, database))
  } finally {
    await probe.close()
  }
  return [...findings, ...(database === null ? [] : detectedFindings(await listDetected(database.pool), config))]
}

/** Through which proxy the API is reached, or why not through the one that is set. */
function wayTo(apiUrl: string, { api: { proxies } }: ProbeOptions['config']): string {
  const { origin, protocol } = new URL(apiUrl)
  const proxy = proxyFor(origin, proxies)
  if (proxy !== null) return `, through the proxy ${proxy.origin} (${proxy.variable})`
  const isSet = (protocol === 'https:' ? proxies.https : proxies.http) !== null
  return isSet ? ', without the proxy: NO_PROXY names it, or it is loopback' : ''
}

async function checkList(
  probe: ProbeApi,
  { config, signal }: ProbeOptions,
  stream: StreamDef,
  database: Database | null,
): Promise<Finding> {
  const { reads } = stream
  const name = `list ${stream.name}`
  if (reads.kind !== 'list') return ok(name, 'has no list')
  const paging = pagingOf(stream, config.api)
  const call = { endpoint: reads.list, query: { ...reads.query }, paging }
  const look = async (query: ListCall['query']): Promise<Finding> => {
    const base = await pageBaseOf(probe, { ...call, query }, database)
    return describeList(name, paging.style, base.how, await firstPages(probe, { ...call, query }, base))
  }
  try {
    return await look(call.query).catch(async (error: unknown) => {
      if (!mayConcernParameters(error) || Object.keys(call.query).length === 0) throw error
      return withRefused(await look({}), Object.keys(call.query))
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BoatMirrorError && error.code === 'ABORTED')
      return warn(
        name,
        'not looked at: one check makes no more requests',
        'Run boat-mirror check again, with the settings.',
      )
    return failed(name, error)
  }
}

/** What a list says that is read without some of its parameters. */
const withRefused = (finding: Finding, names: readonly string[]): Finding => ({
  ...finding,
  detail: `${finding.detail}; ${names.join(', ')} is refused, and left out`,
})

/** Two pages, which show whether the paging parameter is understood; one where there is no second. */
async function firstPages(probe: ProbeApi, call: ListCall, { number: pageBase }: PageBase): Promise<readonly Page[]> {
  const pages: Page[] = []
  await probe.attempt(async (api, attempt) => {
    for await (const page of api.list({ ...call, pageBase, maxPages: 2, signal: attempt })) pages.push(page)
  })
  return pages
}

type ListCall = {
  readonly endpoint: string
  readonly query: Readonly<Record<string, string>>
  readonly paging: ReturnType<typeof pagingOf>
}

type PageBase = { readonly number: number; readonly how: string }

/** The number of the first page, and in words where it comes from. */
async function pageBaseOf(probe: ProbeApi, call: ListCall, database: Database | null): Promise<PageBase> {
  const { style, pageBase } = call.paging
  if (pageBase !== null) return { number: pageBase, how: `from ${pageBase} (API_PAGE_BASE)` }
  const { usualBase } = styles[style]
  if (usualBase === null) return { number: 0, how: '' }
  const pin = database === null ? null : await readDetected(database.pool, pageBaseSetting)
  if (typeof pin?.value === 'number') return { number: pin.value, how: `from ${pin.value} (probed before)` }
  const probed = await probe.attempt((api, signal) => probePageBase(api, { ...call, signal }))
  if (probed !== null) return { number: probed, how: `from ${probed} (probed now)` }
  return { number: usualBase, how: `from ${usualBase} (assumed: too few records to tell)` }
}

/** How a list was read, in words. */
function describeList(name: string, style: string, base: string, pages: readonly Page[]): Finding {
  const [first, second] = pages
  if (first === undefined) return warn(name, 'no page was answered', 'See whether the list holds anything upstream.')
  const envelope = first.envelope === 'array' ? 'a bare array' : `records at ${first.envelope}`
  const paging = style === 'none' ? 'one call' : `paging by ${style} ${base}`.trim()
  const total = first.total === null ? 'no total' : `a total of ${first.total}`
  const more = second === undefined || second.items.length === 0 ? '' : `, ${second.items.length} on the second page`
  return ok(name, `${envelope}, ${paging}, ${total}; ${first.items.length} records on the first page${more}`)
}
