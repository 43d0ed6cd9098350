// `check` of the API: whether it answers, whether it accepts the credentials, and how its lists are read.

import { limitsIn, quotaLines, quotaWindows, settingsFor } from '../api/admission/quota.ts'
import { noEncodings } from '../api/wire/body.ts'
import { proxyFor } from '../api/wire/proxy.ts'
import { defaultRate } from '../app.ts'
import { streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Database } from '../database/database.ts'
import { listDetected } from '../profile/profile.ts'
import { isEnabled } from '../sync/plan.ts'
import { openProbeApi, type ProbeOptions, preflight } from '../sync/preflight.ts'
import { shownAddress } from '../text.ts'
import { detectedFindings } from './check-detected.ts'
import { type CheckedStream, checkList } from './check-list.ts'
import { checkTotals } from './check-totals.ts'
import { type Finding, failed, ok, warn } from './findings.ts'

/** @param database where detected settings are stored; null: there is none yet */
export async function checkApi(options: ProbeOptions, database: Database | null): Promise<readonly Finding[]> {
  const { config, apiUrl, signal } = options
  const lists = streams.filter((stream) => stream.reads.kind === 'list' && isEnabled(stream, config))
  const name = 'API'
  let headers: Readonly<Record<string, string>> = {}
  try {
    // Paged lists first: an API may lack the reference lists.
    const [paged, rest] = [lists.filter(isPaged), lists.filter((stream) => !isPaged(stream))]
    headers = await preflight(
      options,
      [...paged, ...rest].map((stream) => stream.name),
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
  const none = noEncodings(headers['content-encoding'])
  if (none.length > 0)
    findings.push(
      ok(
        'encoding',
        `answers name the Content-Encoding ${none.join(', ').slice(0, 60)}, which does not exist: it is ignored`,
      ),
    )
  const told = limitsFinding(headers, config)
  if (told !== null) findings.push(told)
  const probe = openProbeApi(options)
  try {
    const looked: CheckedStream[] = []
    for (const stream of lists) looked.push(await checkList(probe, options, stream, database))
    findings.push(...looked.map(({ finding }) => finding), ...(await checkTotals(probe, looked, signal)))
  } finally {
    await probe.close()
  }
  return [...findings, ...(database === null ? [] : detectedFindings(await listDetected(database.pool), config))]
}

const isPaged = ({ reads }: StreamDef): boolean => reads.kind === 'list' && reads.paged

/** The limits that the API reports in headers, compared with the configured ones; null: it reports none. */
export function limitsFinding(
  headers: Readonly<Record<string, string>>,
  { api }: Pick<ProbeOptions['config'], 'api'>,
): Finding | null {
  const limits = limitsIn(headers)
  const lines = quotaLines(limits)
  if (lines.length === 0) return null
  const { rate, quota } = settingsFor(limits)
  const isWithin = (set: number | null | undefined, told: number | null): boolean =>
    told === null || (set != null && set > 0 && set <= told)
  const isKept =
    isWithin(api.rateLimit ?? defaultRate, rate) &&
    quotaWindows.every((window) => isWithin(api.quota?.[window], quota[window]))
  const detail = `the API sends its limits in headers: ${limits.map(({ requests, seconds }) => `${requests} requests in ${seconds} s`).join(', ')}`
  return isKept
    ? ok('limits', `${detail}; the settings respect them`)
    : warn('limits', detail, `Set: ${lines.join(' ')}`)
}

/** The proxy through which the API is reached, or why the configured one is not used. */
function wayTo(apiUrl: string, { api: { proxies } }: ProbeOptions['config']): string {
  const { origin, protocol } = new URL(apiUrl)
  const proxy = proxyFor(origin, proxies)
  if (proxy !== null) return `, through the proxy ${proxy.origin} (${proxy.variable})`
  const isSet = (protocol === 'https:' ? proxies.https : proxies.http) !== null
  return isSet ? ', without the proxy, because NO_PROXY names the host or it is a loopback address' : ''
}
