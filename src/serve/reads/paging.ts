// Pages in the shape that the API was found to use: its style, its parameters, and the envelope around its records.

import { ignored, type ListShape, type Position } from '../../api/paging/envelope.ts'
import { styles } from '../../api/paging/styles.ts'
import type { PagingSettings } from '../../config.ts'
import { type Query, refuse } from './query.ts'

/** The part of a list that a request asks for. */
export type Window = { readonly offset: number; readonly size: number }

/** The largest page that the API's papers name. */
const documentedSize = 100
const mostRecords = 1_000_000_000

/** What the paging style of a request needs to name pages. */
type Numbering = { readonly pageBase: number; readonly list: string }

/**
 * The part of a list that a query asks for; null: all of it, because this list has no pages.
 * @param list what a token of ours belongs to
 */
export function windowOf(query: Query, paging: PagingSettings, { pageBase, list }: Numbering): Window | null {
  const { style, pageParam, sizeParam, pageSize } = paging
  const { served } = styles[style]
  if (served === null) return null
  const size = query.whole(sizeParam, { least: 1, most: Math.max(documentedSize, pageSize) }) ?? pageSize
  const least = served.least(pageBase)
  const place = least === null ? query.take(pageParam) : query.whole(pageParam, { least, most: mostRecords })
  if (place === undefined) return { size, offset: 0 }
  const offset = served.offsetOf(String(place), { size, base: pageBase, list })
  if (offset === null) throw refuse(pageParam, 'is no cursor of this list')
  return { size, offset }
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

/** The shape of a list as it was found out; the settings say what was not. */
export function shapeOf(found: ListShape | null, { itemsPath, totalPath, nextPath }: PagingSettings): ListShape {
  const positionOf = (path: string | null): Position | null =>
    path === null || path === ignored ? null : path.startsWith('header:') ? path : path.split('.')
  const at = positionOf(nextPath)
  return {
    items: found?.items ?? itemsPath?.split('.') ?? [],
    total: found?.total ?? positionOf(totalPath),
    next: found?.next ?? (at === null ? null : { at, kind: null }),
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
  const { served } = styles[paging.style]
  if (served === null || window === null || window.offset + window.size >= total) return null
  const text = served.placeOf(window.offset + window.size, { size: window.size, base: pageBase, list })
  const number = served.least(pageBase) === null ? text : Number(text)
  return { number, text, link: linkTo(url, paging, text, window.size) }
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
  const { names, served } = styles[paging.style]
  if (shape.next !== null && window !== null) {
    const { at, kind } = shape.next
    say(at, next?.[kind ?? (names.byToken ? 'text' : 'link')] ?? null)
  }
  const isNamed = isInBody(shape.next?.at)
  if (next !== null && served?.nextHeader === 'X-Next-Cursor' && !isNamed) headers['x-next-cursor'] = next.text
  if (next !== null && (served?.nextHeader === 'Link' || shape.next?.at === 'header:link'))
    headers.link = `<${next.link}>; rel="next"`
  const [before = '', after = ''] = isBare ? [] : render(tree).split(records)
  return { before, after, headers }
}
