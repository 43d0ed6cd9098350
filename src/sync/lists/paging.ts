// How a list is paged: settings, exceptions per list, and what was probed once and is remembered.

import { probePageBase } from '../../api/paging/paging-probe.ts'
import { styles } from '../../api/paging/styles.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { PagingSettings } from '../../config.ts'
import { contradictDetected, pageBaseSetting, readDetected, saveDetected } from '../../profile/detected-settings.ts'
import type { Reading, SyncContext } from '../context.ts'

type ResolvedPaging = {
  readonly paging: PagingSettings
  readonly pageBase: number
  /** The page base was found out, not set: it may be wrong when the API lied at that moment. */
  readonly probed: boolean
}

/** Settings of one list: the general ones, `none` for lists that are not paginated, and the exceptions of the configuration. */
export function pagingOf(
  stream: StreamDef,
  api: Pick<SyncContext['settings']['api'], 'paging' | 'lists'>,
): PagingSettings {
  const paged = stream.reads.kind === 'list' && stream.reads.paged
  const general = paged ? api.paging : { ...api.paging, style: 'none' as const }
  return { ...general, ...api.lists[stream.name] }
}

/** Resolves how a list is paged; an unset page base is probed once with pages 0 and 1, and remembered. */
export async function resolvePaging(
  { context, stream, reads, signal }: Reading<'list'>,
  query: Readonly<Record<string, string>>,
): Promise<ResolvedPaging> {
  const { pool } = context.database
  const paging = pagingOf(stream, context.settings.api)
  if (paging.pageBase !== null) return { paging, pageBase: paging.pageBase, probed: false }
  const { usualBase } = styles[paging.style]
  if (usualBase === null) return { paging, pageBase: 0, probed: false }
  const detected = await readDetected(pool, pageBaseSetting)
  if (typeof detected?.value === 'number') return { paging, pageBase: detected.value, probed: true }
  const probed = await probePageBase(context.api, { endpoint: reads.list, query, paging, signal })
  if (probed === null) return { paging, pageBase: usualBase, probed: false }
  await saveDetected(pool, pageBaseSetting, probed)
  context.log.info(
    { event: 'page_base_probed', pageBase: probed, stream: stream.name },
    `pages are numbered from ${probed}`,
  )
  return { paging, pageBase: probed, probed: true }
}

/** Notes that the detected page base no longer holds; the next sweep probes again. */
export const doubtPageBase = (context: SyncContext, reason: string): Promise<void> =>
  contradictDetected(context.database.pool, pageBaseSetting, reason)
