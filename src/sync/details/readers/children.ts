// What the readers of children share: what they answer, the parent's place in path and key, and the items of a list,
// whose envelopes and next links are the api's business.

import type { KeptPage, Page } from '../../../api/client.ts'
import { styles } from '../../../api/paging/styles.ts'
import type { Json } from '../../../api/wire/json.ts'
import { keyParts } from '../../../catalog/keys.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import type { Scope, TableWrite } from '../../../mirror/rows.ts'
import { answerFound, changeSet, type Found } from '../../change-set.ts'
import type { Reading } from '../../context.ts'
import { pagingOf } from '../../lists/paging.ts'
import { otherParentIn } from '../comparison.ts'
import { type Answered, failedRead, notTaken, type Outcome } from '../single.ts'
import type { Tagged, TaggedAnswers } from '../tagged-answers.ts'

/** What the reader of one record's details answers. */
export type DetailRead = Answered<{ readonly startedAt: Date }> & {
  /** Also what was received before a further read failed: it is kept, and replaces nothing that it cannot vouch for. */
  readonly writes: readonly TableWrite[]
}

/** What a reader answers when everything was read. */
export const detailRead = (startedAt: Date, writes: readonly TableWrite[], found: readonly Found[]): DetailRead => ({
  outcome: { kind: 'there', value: { startedAt } },
  writes,
  found: changeSet(found),
})

/** What a reader answers when a read brought nothing; `writes`: what was received before. */
export const notRead = (
  outcome: Exclude<Outcome<never>, { readonly kind: 'there' }>,
  found: readonly Found[],
  writes: readonly TableWrite[] = [],
): DetailRead => ({ outcome, writes, found: changeSet(found) })

/** Path parameters and key columns that name the parent, and the scope of its children. */
export function parentValues(
  stream: StreamDef,
  parentKey: string,
): { readonly params: Record<string, string>; readonly request: Record<string, string>; readonly scope: Scope } {
  const columns = stream.parentKey ?? []
  const parts = columns.length === 1 ? [parentKey] : keyParts(stream, parentKey)
  return {
    params: Object.fromEntries((stream.parentParams ?? []).map((name, index) => [name, parts[index] ?? ''])),
    request: Object.fromEntries(columns.map((name, index) => [name, parts[index] ?? ''])),
    scope: { columns: [...columns], values: parts.slice(0, columns.length) },
  }
}

/**
 * Fewer elements are not a full page, after which a header may begin to name another page while the body stays the
 * same.
 */
const fewestOfFullPage = 10

/** The items of a list of children; `name` and `tag` where one short page held all of them. */
type Items = Tagged & {
  readonly items: readonly Json[]
  readonly startedAt: Date
  /** Unchanged since the tag sent with the request: `items` are empty. */
  readonly isSame?: boolean
}

/** Reads all items of a list of children, whatever envelope it comes in. */
export async function readItems(
  { context, stream, signal }: Omit<Reading, 'reads'>,
  {
    tagOf,
    ...call
  }: {
    readonly endpoint: string
    readonly params: Record<string, string>
    readonly query: Record<string, string>
    readonly tagOf?: TaggedAnswers['tagOf']
  },
): Promise<Answered<Items>> {
  const items: Json[] = []
  const found: Found[] = []
  let startedAt = context.clock.now()
  let only: Page | undefined
  const kept = async (name: string): Promise<KeptPage | null> => {
    const tag = tagOf?.(name)
    return tag === undefined ? null : { tag, keys: [], next: null }
  }
  const paging = pagingOf(stream, context.settings.api)
  const pageBase = paging.pageBase ?? styles[paging.style].count?.usualBase ?? 0
  try {
    for await (const page of context.api.list({ ...call, kept, priority: 'detail', signal, paging, pageBase })) {
      found.push(answerFound(page))
      if (page.index === 0) startedAt = page.startedAt
      only = page.index === 0 && page.next === null && page.items.length < fewestOfFullPage ? page : undefined
      for (const item of page.items.values()) items.push(item)
    }
  } catch (error) {
    const failed = failedRead(error)
    return { ...failed, found: changeSet([...found, failed.found]) }
  }
  const problem = otherParentIn(stream, items, call.params)
  if (problem !== undefined) return { outcome: notTaken(call.endpoint, problem), found: changeSet(found) }
  const value = { items, startedAt, name: only?.name, tag: only?.tag, isSame: only?.unchanged !== undefined }
  return { outcome: { kind: 'there', value }, found: changeSet(found) }
}
