// Remembers the pages of a list well enough to recognize one that comes again: the keys of the last two, and a hash of
// every earlier one, so that memory stays flat however long the list is.

import { createHash } from 'node:crypto'
import type { Elements } from '../wire/elements.ts'
import { isObject, type Json, stringifyJson, textOf } from '../wire/json.ts'

/**
 * `nothing-new`: every record stood on the last two pages. A server that takes an offset past the end for its last
 * records answers like that, out of step with the pages before.
 */
type PageVerdict = 'new' | 'same-as-last' | 'nothing-new' | 'seen-before'

export type PageMemory = {
  /** Compares a page with those before it, and remembers it. An empty page is always new. */
  look(items: Elements): PageVerdict
  /** The same for a page of which the keys are known. */
  rememberKeys(keys: readonly string[]): PageVerdict
  /** The last keys of what is remembered, at most those of two pages. */
  lastKeys(): readonly string[]
}

export function createPageMemory(): PageMemory {
  let last: ReadonlySet<string> = new Set()
  let beforeLast: ReadonlySet<string> = new Set()
  const seen = new Set<string>()
  const rememberKeys: PageMemory['rememberKeys'] = (keys) => {
    if (keys.length === 0) return 'new'
    const own = new Set(keys)
    if (own.size === last.size && keys.every((key) => last.has(key))) return 'same-as-last'
    const fingerprint = createHash('sha1').update(keys.join('\n')).digest('base64')
    if (seen.has(fingerprint)) return 'seen-before'
    if (keys.every((key) => last.has(key) || beforeLast.has(key))) return 'nothing-new'
    seen.add(fingerprint)
    beforeLast = last
    last = own
    return 'new'
  }
  return {
    look: (items) => rememberKeys(keysOfPage(items)),
    rememberKeys,
    lastKeys: () => [...beforeLast, ...last],
  }
}

/** As `keysOf`, of records that are not decoded for it. */
export function keysOfPage(items: Elements): readonly string[] {
  if (items.length === 0) return []
  const heads: Json[] = []
  for (let index = 0; index < items.length; index++) heads.push(items.head(index))
  return keysOf(heads, () => items.values())
}

/**
 * The identity of a page's records: their `id` or `code` if those are all different, else their whole content.
 * `items` need no other members; `whole` returns all of them. Ids are better, because a record may change between two
 * reads of the same page; records without one are only counted.
 */
export function keysOf(items: readonly Json[], whole: () => readonly Json[] = () => items): string[] {
  const ids: string[] = []
  for (const item of items) {
    const id = isObject(item) ? (textOf(item.id) ?? textOf(item.code)) : undefined
    if (id !== undefined) ids.push(id)
  }
  if (ids.length === 0 || new Set(ids).size < ids.length) return whole().map((item) => stringifyJson(item))
  if (ids.length < items.length) ids.push(`${items.length - ids.length} without an id`)
  return ids
}
