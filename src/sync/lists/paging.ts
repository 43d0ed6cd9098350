// How a list is paged: settings, exceptions per list, and what was probed once and is remembered.

import { probePageBase } from '../../api/paging/paging-probe.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { PagingSettings } from '../../config.ts'
import { contradictDetected, pageBaseSetting, saveDetected } from '../../profile/detected-settings.ts'
import { pageBaseOf } from '../../profile/page-base.ts'
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
  const call = { endpoint: reads.list, query, paging, signal }
  const { number: pageBase, how } = await pageBaseOf(paging, pool, () => probePageBase(context.api, call))
  if (how === 'probed') {
    await saveDetected(pool, pageBaseSetting, pageBase)
    context.log.info(
      { event: 'page_base_probed', pageBase, stream: stream.name },
      `pages are numbered from ${pageBase}`,
    )
  }
  return { paging, pageBase, probed: how === 'probed' || how === 'detected' }
}

/** Notes that the detected page base no longer holds; the next sweep probes again. */
export const doubtPageBase = (context: SyncContext, reason: string): Promise<void> =>
  contradictDetected(context.database.pool, pageBaseSetting, reason)
