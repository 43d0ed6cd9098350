// Finds records, total and next page in the answer of a list: at the configured places, else under the usual names
// and only where the type fits. Pure; the API documents bare arrays and no envelope (docs/sources.md, 4.6, differences).

import type { PagingSettings } from '../../config.ts'
import { BoatMirrorError } from '../../errors.ts'
import { get, isLosslessNumber, isObject, type Json, type JsonObject, textOf } from '../wire/json.ts'
import {
  endCursor,
  errorIn,
  leavesBeside,
  nextOfHeaders,
  nextPaths,
  type Place,
  pagesNamed,
  saysMore,
  stepsTo,
  unusualNext,
  valueAt,
} from './answer-signs.ts'
import { looksLikeLink, nextOfLinkHeader } from './next-link.ts'

export type Envelope = {
  readonly items: Json[]
  /** Records in the whole list, as the API claims. */
  readonly total: number | null
  /** Where the total stands: a dotted path, or `header:NAME`; null: nowhere. */
  readonly totalAt: string | null
  /** Pages of the whole list, as the API claims. */
  readonly pages: number | null
  /** Link or token of the next page; null: the answer states that there is none; undefined: it states nothing. */
  readonly next: string | null | undefined
  /** Where the next page is named: a dotted path, or `header:NAME`; null: nowhere. */
  readonly nextAt: string | null
  /** The same, also where the answer states there that there is no next page, or names the cursor of this page's end. */
  readonly nextShownAt: string | null
  /**
   * The cursor of this page's end. It leads to the next page, but the last page may have one too. Null: the field is
   * empty.
   */
  readonly endCursor: string | null | undefined
  /**
   * Whether the answer announces more records without naming the page: a flag such as `has_more`, or a partial answer
   * (206).
   */
  readonly more: boolean | undefined
  /** A header named the next page, so an entity tag of the body does not cover it. */
  readonly nextByHeader: boolean
  /** `array`, or the path under which the records stand. */
  readonly envelope: string
}

export type EnvelopeSettings = Pick<PagingSettings, 'itemsPath' | 'nextPath' | 'totalPath'>

/** As the value of API_NEXT_PATH or API_TOTAL_PATH: ignore what answers say about it. */
export const ignored = 'none'

const itemsPaths = [
  'data',
  'items',
  'results',
  'records',
  'content',
  'rows',
  'list',
  'data.items',
  'data.results',
  'hydra:member',
]
/** Where the number of all records usually stands. */
const totalPaths = [
  'total',
  'totalCount',
  'totalItems',
  'total_count',
  'hydra:totalItems',
  '@odata.count',
  'meta.total',
  'meta.totalCount',
  'meta.total_count',
  'meta.pagination.total',
  'pagination.total',
  'pagination.total_count',
  'page.totalElements',
  'totalElements',
]
const totalHeaders = ['x-total-count', 'total-count', 'x-total']
/** Arrays under these names are never records, even if there is no other array. */
const neverItems = new Set(['errors', 'warnings', 'messages', 'links'])

/**
 * Reads one answer of a list.
 * @param headers names in lower case
 * @throws BoatMirrorError PAGING_ENVELOPE, naming the path that was tried and the members that were found; API_ERROR_BODY
 */
export function readEnvelope(
  body: Json | undefined,
  headers: Readonly<Record<string, string>>,
  settings: EnvelopeSettings,
  status = 200,
): Envelope {
  const failure = errorIn(body)
  if (failure !== undefined)
    throw new BoatMirrorError('API_ERROR_BODY', `The answer says that the request failed (${failure}).`)
  const { items, envelope } = readItems(body, settings.itemsPath)
  const leaves = leavesBeside(body)
  const found = readTotal(body, headers, settings.totalPath, items.length)
  const pages = settings.totalPath === null ? pagesNamed(leaves, headers, countOf) : null
  const isPart = status === 206 && !reachesEnd(headers['content-range']) && settings.totalPath !== ignored
  if (settings.nextPath === ignored) {
    const said = { next: undefined, nextAt: null, nextShownAt: null, nextByHeader: false, endCursor: undefined }
    return { items, envelope, ...found, pages, ...said, more: isPart || undefined }
  }
  const more = isPart || saysMore(leaves)
  if (settings.nextPath !== null) {
    const next = nextAtPath(body, settings.nextPath)
    const nextAt = typeof next === 'string' ? settings.nextPath : null
    const nextShownAt = next === undefined ? null : settings.nextPath
    const said = { next, nextAt, nextShownAt, nextByHeader: false, endCursor: undefined }
    return { items, envelope, ...found, pages, ...said, more }
  }
  const usual = usualNext(body)
  const inBody = usual !== undefined && usual.text !== null ? usual : unusualNext(leaves)
  const inHeader = inBody ? undefined : nextInHeaders(headers)
  const place = inBody ?? inHeader
  const saysNone = usual?.text === null || inHeader === null || more === false
  const end = endCursor(leaves)
  return {
    ...{ items, envelope, ...found, pages, more },
    next: place?.text ?? (saysNone ? null : undefined),
    nextAt: place?.path ?? null,
    nextShownAt: place?.path ?? usual?.path ?? end?.path ?? null,
    endCursor: end?.text,
    nextByHeader: inHeader !== undefined,
  }
}

function readItems(body: Json | undefined, path: string | null): { items: Json[]; envelope: string } {
  if (Array.isArray(body)) return { items: body, envelope: 'array' }
  if (path !== null) {
    const items = get(body, path)
    if (Array.isArray(items)) return { items, envelope: path }
    throw misread(`No array of records at API_ITEMS_PATH=${path}`, body, 'Correct API_ITEMS_PATH.')
  }
  for (const usual of itemsPaths) {
    const items = get(body, usual)
    if (Array.isArray(items)) return { items, envelope: usual }
  }
  const found = onlyArray(get(body, '_embedded'), '_embedded.') ?? onlyArray(body, '')
  if (found !== undefined) return found
  throw misread(
    'No array of records',
    body,
    'Set API_ITEMS_PATH, or itemsPath for this list in the configuration file.',
  )
}

/** The array of an object that holds exactly one. */
function onlyArray(value: Json | undefined, prefix: string): { items: Json[]; envelope: string } | undefined {
  if (!isObject(value)) return undefined
  const arrays = Object.entries(value).flatMap(([name, items]) =>
    Array.isArray(items) && !neverItems.has(name) ? [{ items, envelope: prefix + name }] : [],
  )
  return arrays.length === 1 ? arrays[0] : undefined
}

function readTotal(
  body: Json | undefined,
  headers: Readonly<Record<string, string>>,
  path: string | null,
  received: number,
): Pick<Envelope, 'total' | 'totalAt'> {
  if (path === ignored) return { total: null, totalAt: null }
  if (path !== null) {
    const found = path.startsWith('header:') ? headers[path.slice('header:'.length).toLowerCase()] : valueAt(body, path)
    if (found === undefined || found === null) return { total: null, totalAt: null }
    const total = countOf(found)
    if (total === undefined)
      throw misread(`No number of records at API_TOTAL_PATH=${path}`, body, 'Correct API_TOTAL_PATH.')
    return { total, totalAt: path }
  }
  for (const usual of totalPaths) {
    const total = countOf(valueAt(body, usual))
    if (total !== undefined) return { total, totalAt: usual }
  }
  // `count` is the size of the page in some APIs and of the list in others: above the page's size it can only be the latter.
  const count = countOf(get(body, 'count'))
  if (count !== undefined && count > received) return { total: count, totalAt: 'count' }
  for (const name of totalHeaders) {
    const total = countOf(headers[name])
    if (total !== undefined) return { total, totalAt: `header:${name}` }
  }
  return { total: countOf(contentRange.exec(headers['content-range'] ?? '')?.[2]) ?? null, totalAt: null }
}

/** `items 0-19/60`; of bytes it would say nothing of records. */
const contentRange = /^(?!bytes)(?:[\w-]+\s+)?(?:\d+-(\d+)|\*)\/(\d+)$/i

/** Whether the last record of a part is the last one of all. */
function reachesEnd(range = ''): boolean {
  const [, last, total] = contentRange.exec(range) ?? []
  return last !== undefined && Number(last) + 1 >= Number(total)
}

/** A whole number from 0, as number or digits. */
function countOf(value: Json | undefined): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  if (typeof value === 'string' && !/^\d{1,15}$/.test(value)) return undefined
  const count = Number(value)
  return Number.isSafeInteger(count) && count >= 0 ? count : undefined
}

/** The next page at the configured path of the body. */
function nextAtPath(body: Json | undefined, path: string): string | null | undefined {
  const value = valueAt(body, path)
  const next = nextOf(value)
  if (value !== undefined && next === undefined)
    throw misread(`No cursor at API_NEXT_PATH=${path}`, body, 'Correct API_NEXT_PATH.')
  return next
}

/** The next page at the usual paths of the body; its text is null if one of them says that there is none. */
function usualNext(body: Json | undefined): Place | { readonly text: null; readonly path: string } | undefined {
  let none: string | undefined
  for (const path of nextPaths) {
    const text = nextOf(valueAt(body, path))
    if (typeof text === 'string') return { text, path }
    if (text === null) none ??= path
  }
  return none === undefined ? undefined : { text: null, path: none }
}

function nextInHeaders(headers: Readonly<Record<string, string>>): Place | null | undefined {
  const text = nextOfLinkHeader(headers.link)
  return text === undefined ? nextOfHeaders(headers) : { text, path: 'header:link' }
}

/** A token or an address, bare or as `{href}`; null for "there is none"; undefined for what is neither. */
function nextOf(value: Json | undefined): string | null | undefined {
  if (value === null || value === '' || value === false) return null
  if (typeof value === 'string' || typeof value === 'number' || isLosslessNumber(value)) return textOf(value)
  const href = get(value, 'href')
  return href === null || href === '' ? null : typeof href === 'string' ? href : undefined
}

const shownMembers = 12
const shownLength = 40

function misread(problem: string, body: Json | undefined, remedy: string): BoatMirrorError {
  return new BoatMirrorError('PAGING_ENVELOPE', `${problem}; the answer ${membersText(body)}.`, { remedy })
}

/** The shape of an answer for people: names of members and kinds, no values. */
function membersText(body: Json | undefined): string {
  if (body === undefined) return 'is empty'
  if (!isObject(body)) return 'is a single value'
  return Object.keys(body).length === 0 ? 'is an empty object' : `has ${membersOf(body)}`
}

function membersOf(body: JsonObject): string {
  const names = Object.keys(body).map((name) => name.slice(0, shownLength))
  const shown = names.slice(0, shownMembers).join(', ')
  return names.length > shownMembers ? `${shown} and ${names.length - shownMembers} more` : shown
}

/** Names of the members on the way to a value, or `header:NAME`. */
export type Position = readonly string[] | string

export type ListShape = {
  /** Names of the members on the way to the records; none: the answer is their array. */
  readonly items: readonly string[]
  /** Where the number of all records stands; null: nowhere. */
  readonly total: Position | null
  /**
   * Where the next page is named, null: nowhere; and how. `kind` is null if the answer says that there is no next page.
   */
  readonly next: { readonly at: Position; readonly kind: 'link' | 'number' | 'text' | null } | null
}

/**
 * The shape of an answer.
 * @param how the `names` of its paging style; `prefix`: the API's path in front of `/v3`
 */
export function shapeOf(
  body: Json | undefined,
  { envelope, totalAt, next, nextShownAt }: Envelope,
  how: { readonly anyLink: boolean; readonly byToken: boolean; readonly prefix: string },
): ListShape {
  const positionOf = (path: string | null): Position | null =>
    path === null || path.startsWith('header:') ? path : (stepsTo(body, path) ?? null)
  const value = nextShownAt === null ? undefined : valueAt(body, nextShownAt)
  // A link may be an object of its own, such as {"href": …}.
  const at = positionOf(isObject(value) ? `${nextShownAt}.href` : nextShownAt)
  const isLink = (text: string): boolean => how.anyLink || looksLikeLink(text, how.prefix)
  const kindOf = (text: string) => (isLink(text) ? 'link' : typeof value === 'number' ? 'number' : 'text')
  const kind = typeof next === 'string' ? kindOf(next) : null
  // Beside numbered pages, a token belongs to a paging that is not in use.
  const isForeign = kind === 'text' && !how.byToken && !/^\d+$/.test(next ?? '')
  return {
    items: Array.isArray(body) ? [] : (stepsTo(body, envelope) ?? []),
    total: positionOf(totalAt),
    next: at === null || isForeign ? null : { at, kind },
  }
}
