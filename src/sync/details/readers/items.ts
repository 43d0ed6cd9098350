// The items of a list below a record: envelopes and next links are the api's business.

import type { Json } from '../../../api/wire/json.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import type { SyncContext } from '../../context.ts'
import { pagingOf } from '../../lists/paging.ts'
import { countAnswer, type Work } from '../../work.ts'
import { failedOutcome, type Outcome } from '../single.ts'

export type Listed = { readonly items: readonly Json[]; readonly startedAt: Date }

/** Reads all items of a list below a record, whatever envelope it comes in. `absent`: it answered nothing at all. */
export async function readItems(
  context: SyncContext,
  work: Work,
  call: {
    readonly stream: StreamDef
    readonly endpoint: string
    readonly params: Record<string, string>
    readonly query: Record<string, string>
    readonly signal: AbortSignal
  },
): Promise<Outcome<Listed>> {
  const items: Json[] = []
  let startedAt: Date | undefined
  const paging = pagingOf(call.stream, context.settings.api)
  try {
    const { endpoint, params, query, signal } = call
    for await (const page of context.api.list({
      endpoint,
      params,
      query,
      signal,
      paging,
      pageBase: paging.pageBase ?? 1,
    })) {
      countAnswer(work, page)
      startedAt ??= page.startedAt
      for (const item of page.items) items.push(item)
    }
  } catch (error) {
    return failedOutcome(work, error)
  }
  return startedAt === undefined ? { kind: 'absent' } : { kind: 'there', value: { items, startedAt } }
}
