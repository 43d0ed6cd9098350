// What the search for settings reads in one answer, and what follows from it. Pure.

import { leavesBeside } from '../../api/paging/answer-signs.ts'
import { type EnvelopeSettings, readEnvelope } from '../../api/paging/envelope.ts'
import { nextOfLinkHeader } from '../../api/paging/next-link.ts'
import { keysOf } from '../../api/paging/page-memory.ts'
import { styles } from '../../api/paging/styles.ts'
import { isObject, type Json } from '../../api/wire/json.ts'

export type Sample = {
  /** The identities of its records, in their order. */
  readonly keys: readonly string[]
  readonly total: number | null
  /** Link or token; null: the answer states that there is none; undefined: it states nothing. */
  readonly next: string | null | undefined
  /** The next page by the Link header. */
  readonly headerLink: string | undefined
  /** Numbers that may be totals and texts that may be cursors, by the setting without which their place is not read. */
  readonly totals: ReadonlyMap<string, number>
  readonly cursors: ReadonlyMap<string, string>
}

/** The members of an answer whose path can be a line of `.env`. */
const membersOf = (body: Json | undefined) =>
  leavesBeside(body).filter(({ path }) => path.split('.').every((name) => /^[\w:@$-]{1,60}$/.test(name)))

/** @throws BoatMirrorError PAGING_ENVELOPE where no records are found; an answer without a body is an empty list */
export function sampleOf(
  { body = [], headers }: { readonly body: Json | undefined; readonly headers: Readonly<Record<string, string>> },
  settings: EnvelopeSettings,
): Sample {
  const { items, total, next } = readEnvelope(body, headers, settings)
  const totals = new Map<string, number>()
  const cursors = new Map<string, string>()
  for (const { path, value } of membersOf(body)) {
    if (/(total|count)/i.test(path) && typeof value === 'number') totals.set(path, value)
    if (/(next|cursor|continu)/i.test(path) && typeof value === 'string' && value !== '') cursors.set(path, value)
  }
  for (const [name, value] of Object.entries(headers))
    if (/(total|count)/.test(name) && /^\d{1,9}$/.test(value)) totals.set(`header:${name}`, Number(value))
  return { keys: keysOf(items), total, next, headerLink: nextOfLinkHeader(headers.link), totals, cursors }
}

/** The path of the only array of objects in an answer, or of the longest; null where there is none. */
export function itemsPathIn(body: Json | undefined): string | null {
  const arrays = membersOf(body).flatMap(({ path, value }) =>
    Array.isArray(value) && value.length > 0 && value.every(isObject) ? [{ path, length: value.length }] : [],
  )
  return arrays.sort((a, b) => b.length - a.length)[0]?.path ?? null
}

/** Where a page begins among the keys of the list's first answer; `beyond`: after all of them; null: nowhere. */
type Place = number | 'beyond' | null

export function placeOf(known: readonly string[], page: readonly string[]): Place {
  const [first] = page
  if (first === undefined) return null
  const start = known.indexOf(first)
  if (start < 0) return page.some((key) => known.includes(key)) ? null : 'beyond'
  return page.every((key, index) => start + index >= known.length || known[start + index] === key) ? start : null
}

export type Counting = { readonly style: 'page' | 'offset'; readonly base: 0 | 1 }

const countings: readonly Counting[] = [
  { style: 'page', base: 1 },
  { style: 'page', base: 0 },
  { style: 'offset', base: 0 },
  { style: 'offset', base: 1 },
]

/** What was requested: pages of `size` records of a list of which the first `known` are known. */
type Trial = { readonly size: number; readonly known: number }

/** The countings for which the page of a number begins where it was seen. An empty page must lie past all known records. */
const fitting = (all: readonly Counting[], number: number, place: Place, { size, known }: Trial): readonly Counting[] =>
  all.filter(({ style, base }) => {
    const start = styles[style].count?.start(base, number, size) ?? 0
    return place === null ? start > known : place === 'beyond' ? start >= known : start === place
  })

/**
 * How a parameter counts, by the pages that it leads to with 2 and, where that leaves a doubt, with 1. Pages of 3: `2`
 * begins at 3 for pages from 1, at 6 for pages from 0, at 2 for offsets from 0, at 1 for offsets from 1, and at 0 where
 * the parameter is ignored.
 */
export async function countingOf(trial: Trial, placeAt: (number: number) => Promise<Place>): Promise<Counting | null> {
  const two = await placeAt(2)
  const some = fitting(countings, 2, two, trial)
  if (some.length === 0 || (some.length === 1 && typeof two === 'number')) return some[0] ?? null
  return fitting(some, 1, await placeAt(1), trial)[0] ?? null
}

/** Records to request to see whether a parameter sets the size; null: too few records to decide. */
export const trialSize = (records: number): 2 | 3 | null => (records > 3 ? 3 : records === 3 ? 2 : null)

/** What APIs call the size of a page, in the order of the search. */
export const sizeParams: readonly string[] = [
  ...['perPage', 'limit', 'per_page', 'pageSize', 'page_size', 'size', 'itemsPerPage'],
  ...['_limit', '_per_page', '$top', 'page[size]', 'page[limit]'],
]

/** The query that asks for pages of this size. json-server 1.0 takes `_per_page` only beside `_page`. */
export const sizeQuery = (name: string, size: number): Readonly<Record<string, string>> => ({
  [name]: String(size),
  ...(name === '_per_page' && { _page: '1' }),
})

/** How a name is written: `_limit` and `_page` go together, as do `$top` and `$skip`, `page[size]` and `page[number]`. */
const spellingOf = (name: string): string => /^[_$]|\[/.exec(name)?.[0] ?? ''

/** The names with those first that are written like a name that the API is known to understand. */
export function likeFirst(names: readonly string[], understood = ''): readonly string[] {
  const spelling = spellingOf(understood)
  const isAlike = (name: string): boolean => spelling !== '' && spellingOf(name) === spelling
  return [...names.filter(isAlike), ...names.filter((name) => !isAlike(name))]
}

/** Names that the API gives may become settings: only what programs call a parameter is taken. */
const parameterName = /^[\w.:@$[\]-]{1,60}$/

/** Parameters of a next link that were not asked for like this: what counts there, and what sets the size. */
export function linkHints(
  link: string,
  asked: Readonly<Record<string, string>>,
  records: number,
): { readonly counts: readonly string[]; readonly sizes: readonly string[] } {
  const query = new URLSearchParams(link.split('#')[0]?.split('?')[1] ?? '')
  const numbers = [...query].filter(
    ([name, value]) => parameterName.test(name) && /^\d{1,9}$/.test(value) && asked[name] !== value,
  )
  const sizes = numbers.flatMap(([name, value]) =>
    Number(value) === records && sizeParams.includes(name) ? [name] : [],
  )
  return { sizes, counts: numbers.flatMap(([name]) => (sizes.includes(name) ? [] : [name])) }
}
