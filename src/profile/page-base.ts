// Whether lists count their pages (or records) from 0 or from 1: as it is set, as it was detected, or probed now by
// reading pages 0 and 1. The caller stores what was probed.

import { readEnvelope } from '../api/paging/envelope.ts'
import { keysOf } from '../api/paging/page-memory.ts'
import { styles } from '../api/paging/styles.ts'
import type { Api, ListCall } from '../api/types.ts'
import type { Json } from '../api/wire/json.ts'
import type { PagingSettings } from '../config.ts'
import { ApiError } from '../errors.ts'
import { entries, type Profile } from './profile.ts'

/** The number of a list's first page. `none`: its pages have no numbers; `assumed`: too few records to detect it. */
export type PageBase = {
  readonly number: number
  readonly how: 'set' | 'none' | 'detected' | 'probed' | 'assumed'
}

/**
 * The number of a list's first page.
 * @param profile null: there is no database yet
 * @param probe requests pages 0 and 1; its answer is not stored
 */
export async function pageBaseOf(
  { style, pageBase }: PagingSettings,
  profile: Profile | null,
  probe: () => Promise<0 | 1 | null>,
): Promise<PageBase> {
  if (pageBase !== null) return { number: pageBase, how: 'set' }
  const { count } = styles[style]
  if (count === null) return { number: 0, how: 'none' }
  const detected = profile?.value(entries.pageBase)
  if (detected !== undefined) return { number: detected, how: 'detected' }
  const probed = await probe()
  return probed === null ? { number: count.usualBase, how: 'assumed' } : { number: probed, how: 'probed' }
}

/** The answer to one of the two pages. */
export type ProbedPage = readonly Json[] | 'refused'

/**
 * The number of the first page, from the answers to page 0 and page 1; null when they do not show it. Page 0 refused
 * or empty: 1. Most of their records the same: 1, because the API treated 0 as 1, whatever was added in between; unless the first
 * of page 0 is missing, as where offset 1 skips it. Others: 0.
 */
export function decidePageBase(pageZero: ProbedPage, pageOne: ProbedPage): 0 | 1 | null {
  if (pageZero === 'refused') return pageOne === 'refused' ? null : 1
  if (pageZero.length === 0) return pageOne === 'refused' || pageOne.length === 0 ? null : 1
  if (pageOne === 'refused') return 0
  const [zero, one] = [keysOf(pageZero), keysOf(pageOne)]
  const shared = one.filter((key) => zero.includes(key)).length
  return shared * 2 > Math.max(zero.length, one.length) && one.includes(zero[0] ?? '') ? 1 : 0
}

/** Reads pages 0 and 1 of a numbered list, at once. @throws ApiError for everything but a refusal of one of them */
export async function probePageBase(api: Pick<Api, 'read'>, call: Omit<ListCall, 'pageBase'>): Promise<0 | 1 | null> {
  // A server that has no page 0 may fail rather than refuse; page 1 then shows that it is alive.
  const [pageZero, pageOne] = await Promise.all([
    probe(api, call, 0, ['API_REJECTED', 'API_NOT_FOUND', 'API_SERVER_ERROR']),
    probe(api, call, 1, ['API_REJECTED', 'API_NOT_FOUND']),
  ])
  return decidePageBase(pageZero, pageOne)
}

async function probe(
  api: Pick<Api, 'read'>,
  call: Omit<ListCall, 'pageBase'>,
  number: 0 | 1,
  refusals: readonly string[],
): Promise<ProbedPage> {
  const address = styles[call.paging.style].request({ paging: call.paging, pageBase: number }, String(number), '')
  const query = address.kind === 'query' ? { ...call.query, ...address.query } : { ...call.query }
  try {
    const answer = await api.read({ ...call, query, mayBeRefused: true })
    return answer.status === 204 ? [] : readEnvelope(answer.body, answer.headers, call.paging).items
  } catch (error) {
    if (error instanceof ApiError && refusals.includes(error.code)) return 'refused'
    throw error
  }
}
