// Remembers the pages of a list well enough to recognize one that comes again: the keys of the last two, and a hash of
// every earlier one, so that memory stays flat however long the list is.

import { createHash } from 'node:crypto'
import { isObject, type Json, stringifyJson, textOf } from './json.ts'

/**
 * `nothing-new`: every record stood on the last two pages. A server that takes an offset past the end for its last
 * records answers like that, out of step with the pages before.
 */
export type PageVerdict = 'new' | 'same-as-last' | 'nothing-new' | 'seen-before'

export type PageMemory = {
  /** Compares a page with those before it, and remembers it. An empty page is always new. */
  look(items: readonly Json[]): PageVerdict
}

export function createPageMemory(): PageMemory {
  let last: ReadonlySet<string> = new Set()
  let beforeLast: ReadonlySet<string> = new Set()
  const seen = new Set<string>()
  return {
    look(items) {
      if (items.length === 0) return 'new'
      const keys = keysOf(items)
      const own = new Set(keys)
      if (own.size === last.size && keys.every((key) => last.has(key))) return 'same-as-last'
      const fingerprint = createHash('sha1').update(keys.join('\n')).digest('base64')
      if (seen.has(fingerprint)) return 'seen-before'
      if (keys.every((key) => last.has(key) || beforeLast.has(key))) return 'nothing-new'
      seen.add(fingerprint)
      beforeLast = last
      last = own
      return 'new'
    },
  }
}

/**
 * What tells the records of a page apart: their `id` or `code`, if each has one of its own, else their whole content.
 * Ids are better, because a record may change between two looks at the same page.
 */
export function keysOf(items: readonly Json[]): string[] {
  const ids = items.map((item) => (isObject(item) ? (textOf(item.id) ?? textOf(item.code)) : undefined))
  const own = ids.filter((id) => id !== undefined)
  return own.length === items.length && new Set(own).size === own.length ? own : items.map(stringifyJson)
}
