// One answer of a list, as far as the search for settings reads it, and the unusual places it may use. Pure.

import { type EnvelopeSettings, readEnvelope } from '../../api/paging/envelope.ts'
import { nextOfLinkHeader } from '../../api/paging/next-link.ts'
import { keysOf } from '../../api/paging/page-memory.ts'
import { isObject, type Json } from '../../api/wire/json.ts'

export type Sample = {
  /** The identities of its records, in their order. */
  readonly keys: readonly string[]
  readonly total: number | null
  /** Link or token; null: the answer states that there is none; undefined: it states nothing. */
  readonly next: string | null | undefined
  /** The next page by the Link header. */
  readonly headerLink: string | undefined
  /**
   * Numbers that may be totals, and texts that may be cursors, at places that are only read when a setting names
   * them; by setting.
   */
  readonly totals: ReadonlyMap<string, number>
  readonly cursors: ReadonlyMap<string, string>
}

type Answer = {
  readonly body: Json | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** @throws BoatMirrorError PAGING_ENVELOPE where no records are found; an answer without a body is an empty list */
export function sampleOf({ body = [], headers }: Answer, settings: EnvelopeSettings): Sample {
  const { items, total, next } = readEnvelope(body, headers, settings)
  const leaves = leavesOf(body)
  const named = leaves.filter(({ path }) => /(next|cursor|continu)/i.test(path))
  return {
    keys: keysOf(items),
    total,
    next,
    headerLink: nextOfLinkHeader(headers.link),
    totals: new Map([
      ...leaves.flatMap(({ path, value }) =>
        /(total|count)/i.test(path) && typeof value === 'number' ? [[path, value] as const] : [],
      ),
      ...Object.entries(headers).flatMap(([name, value]) =>
        /(total|count)/.test(name) && /^\d{1,9}$/.test(value) ? [[`header:${name}`, Number(value)] as const] : [],
      ),
    ]),
    cursors: new Map(
      named.flatMap(({ path, value }) => (typeof value === 'string' && value !== '' ? [[path, value] as const] : [])),
    ),
  }
}

/** Where the records stand: the path of the only array of objects in an answer, or of the longest; null where none is. */
export function itemsPathIn(body: Json | undefined): string | null {
  const arrays = leavesOf(body).flatMap(({ path, value }) =>
    Array.isArray(value) && value.length > 0 && value.every(isObject) ? [{ path, length: value.length }] : [],
  )
  return arrays.sort((a, b) => b.length - a.length)[0]?.path ?? null
}

const deepest = 4

type Leaf = { readonly path: string; readonly value: Json }

/** Everything of an answer that is no object, with its dotted path; records are not looked into. */
function leavesOf(value: Json | undefined, path = '', depth = 0): readonly Leaf[] {
  if (!isObject(value)) return path === '' || value === undefined ? [] : [{ path, value }]
  if (depth === deepest) return []
  // A path goes into `.env`: names that need quotes are skipped.
  return Object.entries(value).flatMap(([name, inner]) =>
    /^[\w:@$-]{1,60}$/.test(name) ? leavesOf(inner, path === '' ? name : `${path}.${name}`, depth + 1) : [],
  )
}
