// How a list is paged: settings, exceptions per list, and what was probed once and pinned.

import { probePageBase } from '../../api/paging/paging-probe.ts'
import { styles } from '../../api/paging/styles.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { PagingSettings } from '../../config.ts'
import { contradictPin, getPin, setPin } from '../../state/detected-settings.ts'
import type { SyncContext } from '../context.ts'

export type ResolvedPaging = {
  readonly paging: PagingSettings
  readonly pageBase: number
  /** The page base was found out, not set: it may be wrong when the API lied at that moment. */
  readonly probed: boolean
}

export const pageBasePin = 'page_base'

/** Settings of one list: the general ones, `none` for lists that are not paginated, and the exceptions of the configuration. */
export function pagingOf(stream: StreamDef, api: SyncContext['settings']['api']): PagingSettings {
  const paged = stream.reads.kind === 'list' && stream.reads.paged
  const general = paged ? api.paging : { ...api.paging, style: 'none' as const }
  return { ...general, ...api.lists[stream.name] }
}

/** Resolves how a list is paged; an unset page base is probed once with pages 0 and 1, and pinned. */
export async function resolvePaging(
  context: SyncContext,
  stream: StreamDef,
  endpoint: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ResolvedPaging> {
  const paging = pagingOf(stream, context.settings.api)
  if (paging.pageBase !== null) return { paging, pageBase: paging.pageBase, probed: false }
  const { usualBase } = styles[paging.style]
  if (usualBase === null) return { paging, pageBase: 0, probed: false }
  const pin = await getPin(context.database.pool, pageBasePin)
  if (typeof pin?.value === 'number') return { paging, pageBase: pin.value, probed: true }
  const probed = await probePageBase(context.api, { endpoint, query, paging, signal })
  if (probed === null) return { paging, pageBase: usualBase, probed: false }
  await setPin(context.database.pool, pageBasePin, probed)
  context.log.info(
    { event: 'page_base_probed', pageBase: probed, stream: stream.name },
    `lists are numbered from ${probed}`,
  )
  return { paging, pageBase: probed, probed: true }
}

/** Notes that a pinned answer no longer holds; the next sweep probes again. */
export const contradictPageBase = (context: SyncContext, reason: string): Promise<void> =>
  contradictPin(context.database.pool, pageBasePin, reason)
