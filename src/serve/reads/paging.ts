// Pages in the shape that the API was found to use: its style, its parameters, and the envelope around its records.

import { hash } from 'node:crypto'
import type { ListShape, Position } from '../../api/paging/envelope.ts'
import { ignored } from '../../api/paging/envelope.ts'
import type { PagingSettings } from '../../config.ts'
import { type Query, refuse } from './query.ts'

/** The part of a list that a request asks for. */
export type Window = { readonly offset: number; readonly size: number }

/** The largest page that the API's papers name. */
const documentedSize = 100
const mostRecords = 1_000_000_000

/** Our own cursor: where the page begins, and the list it belongs to, so that no other list accepts it. */
const cursorOf = (offset: number, list: string): string =>
  Buffer.from(`${offset} ${hash('sha256', list, 'hex').slice(0, 8)}`).toString('base64url')

function offsetOf(cursor: string, list: string, param: string): number {
  const offset = Number(Buffer.from(cursor, 'base64url').toString().split(' ')[0])
  if (!Number.isSafeInteger(offset) || cursorOf(offset, list) !== cursor)
    throw refuse(param, 'is no cursor of this list')
  return offset
}

/**
 * The part of a list that a query asks for; null: all of it, because this list has no pages.
 * @param list what a cursor belongs to
 */
export function windowOf(query: Query, paging: PagingSettings, pageBase: number, list: string): Window | null {
  const { style, pageParam, sizeParam, pageSize } = paging
  if (style === 'none') return null
  const most = Math.max(documentedSize, pageSize)
  const size = query.whole(sizeParam, { least: 1, most }) ?? pageSize
  if (style === 'offset') return { size, offset: query.whole(pageParam, { least: 0, most: mostRecords }) ?? 0 }
  if (style === 'cursor') {
    const cursor = query.take(pageParam)
    return { size, offset: cursor === undefined ? 0 : offsetOf(cursor, list, pageParam) }
  }
  const page = query.whole(pageParam, { least: pageBase, most: mostRecords }) ?? pageBase
  return { size, offset: (page - pageBase) * size }
}

/** Stands for the records while the rest is written: no JSON text holds it. */
const records = '\0'

/** A list as it is answered. */
type Shaped = {
  /** JSON text around the array of records. */
  readonly before: string
  readonly after: string
  readonly headers: Readonly<Record<string, string>>
}

type ShapedOf = {
  readonly shape: ListShape
  readonly total: number
  readonly window: Window | null
  readonly pageBase: number
  readonly list: string
  /** Path and query of the request. */
  readonly url: string
}

/** The shape of a list as it is set. */
export function shapeSet({ itemsPath, totalPath, nextPath }: PagingSettings): ListShape {
  const positionOf = (path: string | null): Position | null =>
    path === null || path === ignored ? null : path.startsWith('header:') ? path : path.split('.')
  const at = positionOf(nextPath)
  return {
    items: itemsPath?.split('.') ?? [],
    total: positionOf(totalPath),
    next: at === null ? null : { at, kind: null },
  }
}

/** An object as JSON text whose members are placed one by one: `data`, `items` → `{"data":{"items":…}}`. */
type Tree = Map<string, Tree | string>

function put(tree: Tree, steps: readonly string[], json: string): void {
  let at = tree
  for (const step of steps.slice(0, -1)) {
    const next = at.get(step)
    const inner: Tree = next instanceof Map ? next : new Map()
    at.set(step, inner)
    at = inner
  }
  at.set(steps.at(-1) ?? '', json)
}

const render = (tree: Tree | string): string =>
  typeof tree === 'string'
    ? tree
    : `{${[...tree].map(([name, value]) => `${JSON.stringify(name)}:${render(value)}`).join(',')}}`

/** Path and query of the page that `token` stands for: its number, its offset or a cursor. */
function linkTo(url: string, { pageParam, sizeParam }: PagingSettings, token: string, size: number): string {
  const next = new URL(url, 'http://localhost')
  next.searchParams.set(sizeParam, String(size))
  next.searchParams.set(pageParam, token)
  return `${next.pathname}${next.search}`
}

/** The next page, as an answer may name it; null: there is none. */
function nextOf(paging: PagingSettings, { total, window, pageBase, list, url }: ShapedOf) {
  const end = window === null ? total : window.offset + window.size
  if (window === null || end >= total) return null
  const { style } = paging
  const number = style === 'offset' ? end : Math.floor(end / window.size) + pageBase
  const text = style === 'cursor' ? cursorOf(end, list) : String(number)
  return { number: style === 'cursor' ? text : number, text, link: linkTo(url, paging, text, window.size) }
}

/** Puts the records into the shape of the API's lists: bare, or at their place in an envelope. */
export function shaped(paging: PagingSettings, page: ShapedOf): Shaped {
  const { shape, total, window } = page
  const headers: Record<string, string> = { 'x-total-count': String(total) }
  const tree: Tree = new Map()
  const isBare = shape.items.length === 0
  const isInBody = (at: Position | undefined): at is readonly string[] => typeof at === 'object' && !isBare
  const say = (at: Position, value: string | number | null): void => {
    if (isInBody(at)) put(tree, at, JSON.stringify(value))
    else if (typeof at === 'string' && value !== null) headers[at.slice('header:'.length).toLowerCase()] = String(value)
  }
  if (!isBare) put(tree, shape.items, records)
  if (shape.total !== null) say(shape.total, total)
  const next = nextOf(paging, page)
  const isCursor = paging.style === 'cursor'
  if (shape.next !== null && window !== null) {
    const { at, kind } = shape.next
    say(at, next?.[kind ?? (isCursor ? 'text' : 'link')] ?? null)
  }
  if (next !== null && isCursor && !isInBody(shape.next?.at)) headers['x-next-cursor'] = next.text
  if (next !== null && (paging.style === 'link' || shape.next?.at === 'header:link'))
    headers.link = `<${next.link}>; rel="next"`
  const [before = '', after = ''] = isBare ? [] : render(tree).split(records)
  return { before, after, headers }
}
