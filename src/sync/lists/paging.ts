// How a list is asked: settings, exceptions per list, and what was probed once. A list that refuses its extra parameters
// (order, deactivated records) is read without them: after the first refusal the same request is sent without, and only
// its answer proves that the parameters were refused.

import type { StreamDef } from '../../catalog/types.ts'
import type { PagingSettings } from '../../config.ts'
import { ApiError } from '../../errors.ts'
import { pageBaseOf, probePageBase } from '../../profile/page-base.ts'
import { entries, mayConcernParameters, type Profile, withoutParameters } from '../../profile/profile.ts'
import type { Reading, SyncContext, TaskRun } from '../context.ts'
import type { Pass } from './windows.ts'

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
  profile: Profile,
): Promise<ResolvedPaging> {
  const paging = pagingOf(stream, context.settings.api)
  const call = { endpoint: reads.list, query, paging, signal }
  const { number: pageBase, how } = await pageBaseOf(paging, profile, () => probePageBase(context.api, call))
  if (how === 'probed') {
    await profile.found(entries.pageBase, '', pageBase)
    context.log.info(
      { event: 'page_base_probed', pageBase, stream: stream.name },
      `pages are numbered from ${pageBase}`,
    )
  }
  return { paging, pageBase, probed: how === 'probed' || how === 'detected' }
}

/** The parameters that make a pass differ from the whole list, or, if there are none, those the list always gets. */
function partedBy({ query: asked }: Pass, always: Readonly<Record<string, string>> = {}): ReadonlySet<string> {
  const own = Object.keys(asked).filter((name) => always[name] !== asked[name])
  return new Set(own.length > 0 ? own : Object.keys(asked))
}

/**
 * Examines the refusal of a pass's first page: is the list answered without the pass's own parameters?
 * @returns true: it is, and they are stored as refused
 */
export async function leaveOut(run: TaskRun<'list'>, pass: Pass, error: unknown): Promise<boolean> {
  const { context, stream, reads } = run
  const names = partedBy(pass, reads.query)
  if (pass.part !== undefined || names.size === 0 || !mayConcernParameters(error)) return false
  if (!(await isAnswered(run, withoutParameters(pass.query, names), pass.profile))) return false
  const reason = error.message
  await pass.profile.noteRefused(stream.name, names, reason)
  context.log.warn(
    { event: 'parameters_refused', stream: stream.name, parameters: [...names], reason },
    `${stream.name}: the API refuses ${[...names].join(', ')}. For seven days, the list is requested without ${names.size === 1 ? 'it' : 'them'}. ${reason}`,
  )
  return true
}

async function isAnswered(
  run: TaskRun<'list'>,
  query: Readonly<Record<string, string>>,
  profile: Profile,
): Promise<boolean> {
  const { context, reads, signal } = run
  const { paging, pageBase } = await resolvePaging(run, query, profile)
  const call = { endpoint: reads.list, query, paging, pageBase, maxPages: 1, mayBeRefused: true, signal }
  try {
    for await (const _ of context.api.list(call)) return true
    return true
  } catch (error) {
    if (error instanceof ApiError && error.kind !== 'abort') return false
    throw error
  }
}
