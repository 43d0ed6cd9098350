// What follows from the position at which a page begins in a known list. Pure.

import type { PagingStyle } from '../../config.ts'

/** Where a page begins among the keys of the list's first answer; `beyond`: after all of them; null: nowhere. */
export type Place = number | 'beyond' | null

export function placeOf(known: readonly string[], page: readonly string[]): Place {
  const [first] = page
  if (first === undefined) return null
  const start = known.indexOf(first)
  if (start < 0) return page.some((key) => known.includes(key)) ? null : 'beyond'
  return page.every((key, index) => start + index >= known.length || known[start + index] === key) ? start : null
}

export type Counting = { readonly style: 'page' | 'offset'; readonly base: 0 | 1 }

/**
 * How a parameter counts, from the positions of the pages it led to with 2 and with 1. Pages of 3: `2` begins at 3
 * for pages from 1, at 6 for pages from 0, at 2 for offsets from 0, at 1 for offsets from 1, and at 0 where it is
 * ignored.
 * @param size records of a page
 * @param one undefined: not requested yet
 * @returns `ask-one`: the position with 1 is needed to decide
 */
export function countingOf(size: number, two: Place, one?: Place): Counting | 'ask-one' | null {
  if (two === 0) return null
  if (one === undefined) {
    if (size > 2 && two === 2) return { style: 'offset', base: 0 }
    if (two === 1) return { style: 'offset', base: 1 }
    if (size > 2 && two === size) return { style: 'page', base: 1 }
    return two === size * 2 ? { style: 'page', base: 0 } : 'ask-one'
  }
  if (one === 0 && (two === size || two === 'beyond')) return { style: 'page', base: 1 }
  if (one === 1 && two === 2) return { style: 'offset', base: 0 }
  return one === size || one === 'beyond' ? { style: 'page', base: 0 } : null
}

/** Records to request to see whether a parameter sets the size; null: too few records to decide. */
export const trialSize = (records: number): 2 | 3 | null => (records > 3 ? 3 : records === 3 ? 2 : null)

/** What APIs call the number of a page, an offset, a cursor, and the size of a page. */
export const usualNames = {
  page: ['page', 'pageNumber', 'page_number', 'pageNo', '_page', 'page[number]'],
  offset: ['offset', 'skip', 'start', '$skip', 'page[offset]'],
  cursor: [
    ...['cursor', 'after', 'pageToken', 'page_token', 'starting_after', 'nextCursor', 'page'],
    ...['page[cursor]', 'page[after]', '$skiptoken'],
  ],
  size: [
    ...['perPage', 'limit', 'per_page', 'pageSize', 'page_size', 'size', 'itemsPerPage'],
    ...['_limit', '_per_page', '$top', 'page[size]', 'page[limit]'],
  ],
} as const

/** The name of the size that usually goes with a style. */
export const usualSize = (style: PagingStyle): string =>
  style === 'offset' || style === 'cursor' ? 'limit' : 'perPage'

/** The query that asks for pages of this size. json-server 1.0 takes `_per_page` only beside `_page`. */
export const sizeQuery = (name: string, size: number): Readonly<Record<string, string>> => ({
  [name]: String(size),
  ...(name === '_per_page' && { _page: '1' }),
})

/** How a name is written: `_limit` and `_page` go together, as do `$top` and `$skip`, `page[size]` and `page[number]`. */
const spellingOf = (name: string): string => /^[_$]|\[/.exec(name)?.[0] ?? ''

/** The names with those first that are written like a name that the API is known to understand. */
export function likeFirst(names: readonly string[], understood: string | undefined): readonly string[] {
  const spelling = spellingOf(understood ?? '')
  if (spelling === '') return names
  const isAlike = (name: string): boolean => spellingOf(name) === spelling
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
  const isSize = ([name, value]: readonly [string, string]): boolean =>
    Number(value) === records && (usualNames.size as readonly string[]).includes(name)
  return {
    counts: numbers.filter((each) => !isSize(each)).map(([name]) => name),
    sizes: numbers.filter(isSize).map(([name]) => name),
  }
}

/** In words: `pages are numbered from 1`. */
export const countingText = ({ style, base }: Counting): string =>
  style === 'page' ? `pages are numbered from ${base}` : `records are counted from ${base}`

/** Styles in which the parameter counts. */
export const isCounted = (style: PagingStyle): style is 'page' | 'offset' => style === 'page' || style === 'offset'
