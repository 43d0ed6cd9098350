// What the envelope of a list may contain besides its records, recognized by the words of a name: where the list
// continues, that it continues, and how many pages it has. Pure. It never reads records, because these are in arrays.

import { get, isLosslessNumber, isObject, type Json, textOf } from '../wire/json.ts'

/** Paths of the next page's link or token where `null` means that there is no next page. In this order. */
export const nextPaths = [
  'nextCursor',
  'next_cursor',
  'next',
  'meta.nextCursor',
  'meta.next_cursor',
  'pagination.nextCursor',
  'pagination.next',
  'links.next',
  '_links.next',
  'hydra:view.hydra:next',
  'paging.next',
  '@odata.nextLink',
  'nextLink',
  'nextPageToken',
  'next_page_token',
  'nextPage',
  'next_page',
  'next_page_url',
  'meta.next_page',
  'meta.nextPage',
  'pagination.next_page',
  'pagination.nextPage',
  'paging.next.after',
  'paging.next.cursor',
]

/** A member of an answer that is no object. Arrays may be its records. */
type Leaf = {
  /** Dotted; a name may itself contain dots. */
  readonly path: string
  /** The words of each name on the way, in lower case. */
  readonly words: readonly (readonly string[])[]
  readonly value: Json
}

const deepest = 4
/** Envelopes are small; what is larger holds something else. */
const mostLeaves = 300

const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '')

/** The members of an envelope, at most so many. */
export function leavesBeside(body: Json | undefined): readonly Leaf[] {
  const leaves: Leaf[] = []
  const walk = (value: Json, path: string, words: Leaf['words']): void => {
    if (leaves.length === mostLeaves) return
    if (!isObject(value)) {
      leaves.push({ path, words, value })
      return
    }
    if (words.length === deepest) return
    for (const [name, inner] of Object.entries(value).slice(0, mostLeaves))
      walk(inner, path === '' ? name : `${path}.${name}`, [...words, wordsOf(name)])
  }
  if (isObject(body)) walk(body, '', [])
  return leaves
}

/** The names on the way to a dotted path, of which the last may themselves contain dots, such as `@odata.nextLink`. */
export function stepsTo(body: Json | undefined, path: string): readonly string[] | undefined {
  if (get(body, path) !== undefined) return path.split('.')
  if (!isObject(body)) return undefined
  if (Object.hasOwn(body, path)) return [path]
  const [first = '', ...rest] = path.split('.')
  const inner = rest.length > 0 && Object.hasOwn(body, first) ? stepsTo(body[first], rest.join('.')) : undefined
  return inner && [first, ...inner]
}

/** The value at a dotted path, as {@link stepsTo} leads to it. */
export function valueAt(body: Json | undefined, path: string): Json | undefined {
  const steps = stepsTo(body, path)
  return steps?.reduce<Json | undefined>((value, step) => (isObject(value) ? value[step] : undefined), body)
}

/** Words that a name may have beside `next`; with any other it is about something else, such as a `nextDeparture`. */
const besideNext = new Set(
  `page pages cursor token link links url uri href offset start starting after key marker records results items id number no
  index position skip bookmark continuation from value list query string request http data`.split(/\s+/),
)
const leadsOn = (word: string): boolean => word === 'next' || word === 'continuation'

/** Whether names lead to the next page: from the one that says `next` on, all words are about pages. */
function isNextName(words: Leaf['words']): boolean {
  const first = words.findIndex((each) => each.some(leadsOn))
  return first >= 0 && words.slice(first).every((each) => each.every((word) => leadsOn(word) || besideNext.has(word)))
}

const isAfterName = (words: Leaf['words']): boolean =>
  ['after', 'after cursor', 'end cursor'].includes(words.at(-1)?.join(' ') ?? '')

/** Tokens and links contain no white space; a date-time is a token only where its name says so. */
const isPlace = (text: string, words: Leaf['words']): boolean =>
  /^\S{1,4096}$/.test(text) &&
  (!/^\d{4}-\d\d-\d\d/.test(text) || words.flat().some((word) => ['cursor', 'token', 'after', 'key'].includes(word)))

const linkWords = new Set(['link', 'url', 'uri', 'href'])

/** A number may be a token, but no link. */
function placeIn({ value, words }: Leaf): string | undefined {
  const isNumber = typeof value === 'number' || isLosslessNumber(value)
  if (typeof value !== 'string' && (!isNumber || words.at(-1)?.some((word) => linkWords.has(word)))) return undefined
  const text = textOf(value)
  return text !== undefined && isPlace(text, words) ? text : undefined
}

export type Place = { readonly text: string; readonly path: string }

/** The link or token at an unusual place; a link is taken before a token, because it says all of the request. */
export function unusualNext(leaves: readonly Leaf[]): Place | undefined {
  const found = leaves.flatMap((leaf) => {
    const text = isNextName(leaf.words) ? placeIn(leaf) : undefined
    return text === undefined ? [] : [{ text, path: leaf.path }]
  })
  return found.find(({ text }) => /^(https?:\/\/|\?)/i.test(text)) ?? found[0]
}

/**
 * The cursor of a page's own end (`paging.cursors.after`, `pageInfo.endCursor`). It leads to the next page, but some
 * APIs also name it on the last page. Its text is null if the answer states that there is none.
 */
export function endCursor(
  leaves: readonly Leaf[],
): { readonly text: string | null | undefined; readonly path: string } | undefined {
  const found = leaves.find(
    ({ words, value }) =>
      !Array.isArray(value) && isAfterName(words) && !words.flat().some((word) => /^prev/.test(word)),
  )
  if (found === undefined) return undefined
  return { text: found.value === null || found.value === '' ? null : placeIn(found), path: found.path }
}

const moreNames = new Set([
  ...['has more', 'has next', 'has next page', 'has more pages', 'has more results', 'has more records'],
  ...['has more items', 'has more data', 'more', 'more available', 'more results', 'more records', 'more pages'],
  ...['next', 'is truncated', 'truncated'],
])
const lastNames = new Set(['last', 'is last', 'is last page', 'last page'])

/**
 * Whether flags such as `has_more`, `hasNextPage` or `last` announce more records; undefined: the answer has no flag.
 */
export function saysMore(leaves: readonly Leaf[]): boolean | undefined {
  const said = leaves.flatMap(({ words, value }) => {
    const flag = value === true || value === 'true' ? true : value === false || value === 'false' ? false : undefined
    const name = words.at(-1)?.join(' ') ?? ''
    if (flag === undefined || !(moreNames.has(name) || lastNames.has(name))) return []
    return [lastNames.has(name) ? !flag : flag]
  })
  return said.length === 0 ? undefined : said.includes(true)
}

const pagesNames = new Set(['last page', 'total pages', 'num pages', 'pages total', 'number of pages', 'pages count'])

/** The number of pages named in the answer. */
export function pagesNamed(
  leaves: readonly Leaf[],
  headers: Readonly<Record<string, string>>,
  countOf: (value: Json | undefined) => number | undefined,
): number | null {
  for (const { words, value } of leaves) {
    const count = pagesNames.has(words.at(-1)?.join(' ') ?? '') ? countOf(value) : undefined
    if (count !== undefined) return count
  }
  return countOf(headers['x-total-pages'] ?? headers['x-pagination-page-count']) ?? null
}

const headerWords = new Set([
  'x',
  'next',
  'page',
  'cursor',
  'token',
  'link',
  'url',
  'offset',
  'pagination',
  'continuation',
  'ms',
])

/** The next page in a separate header, such as `X-Next-Page`; null: the header is empty. */
export function nextOfHeaders(headers: Readonly<Record<string, string>>): Place | null | undefined {
  for (const [name, value] of Object.entries(headers)) {
    const words = wordsOf(name)
    if (!words.some(leadsOn) || !words.every((word) => headerWords.has(word))) continue
    if (value === '') return null
    if (isPlace(value, [words])) return { text: value, path: `header:${name}` }
  }
  return undefined
}

const failedWords: ReadonlySet<string> = new Set(['error', 'fail', 'failed', 'failure'])

/** Does this value say anything at all? */
const isFilled = (value: Json | undefined): boolean => {
  if (value === undefined || value === null || value === false || value === '' || value === 0) return false
  if (Array.isArray(value)) return value.length > 0
  return !isObject(value) || Object.keys(value).length > 0
}

/**
 * Why a body reports a failed request: `success: false`. Undefined: it does not. Not for records, whose own fields
 * may have this name.
 */
export function errorIn(body: Json | undefined): string | undefined {
  if (!isObject(body)) return undefined
  for (const name of ['success', 'ok']) if (get(body, name) === false) return `${name}: false`
  for (const name of ['error', 'errors']) if (isFilled(get(body, name))) return `a member "${name}"`
  for (const name of ['status', 'statusCode']) {
    const value = textOf(get(body, name))
    if (value !== undefined && (failedWords.has(value.toLowerCase()) || /^[45]\d\d$/.test(value)))
      return `${name}: ${value}`
  }
  return undefined
}
