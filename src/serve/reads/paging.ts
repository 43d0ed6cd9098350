// Pages in the shape that the API was found to use: its style, its parameters, and the envelope around its records.

import { hash } from 'node:crypto'
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

/** A list as it is answered. */
type Shaped = { readonly body: string; readonly headers: Readonly<Record<string, string>> }

type ShapedOf = {
  /** JSON text: an array. */
  readonly items: string
  readonly total: number
  readonly window: Window | null
  readonly pageBase: number
  readonly list: string
  /** Path and query of the request. */
  readonly url: string
}

/** An object with `json` at a dotted path, as JSON text: `data.items` → `{"data":{"items":…}}`. */
type Tree = { [name: string]: Tree | string }

function put(tree: Tree, path: string, json: string): void {
  const steps = path.split('.')
  const last = steps.pop() ?? ''
  let at = tree
  for (const step of steps) {
    const next = at[step]
    const inner: Tree = typeof next === 'object' ? next : {}
    at[step] = inner
    at = inner
  }
  at[last] = json
}

const render = (tree: Tree | string): string =>
  typeof tree === 'string'
    ? tree
    : `{${Object.entries(tree)
        .map(([name, value]) => `${JSON.stringify(name)}:${render(value)}`)
        .join(',')}}`

/** Where a total or a next page stands: a path in the body; null: nowhere, or in a header. */
const inBody = (path: string | null): string | null =>
  path === null || path === 'none' || path.startsWith('header:') ? null : path

/** Path and query of the page that begins at `end`. */
function linkTo(
  url: string,
  { style, pageParam, sizeParam }: PagingSettings,
  { end, size, pageBase }: { readonly end: number; readonly size: number; readonly pageBase: number },
): string {
  const next = new URL(url, 'http://localhost')
  next.searchParams.set(sizeParam, String(size))
  next.searchParams.set(pageParam, String(style === 'offset' ? end : Math.floor(end / size) + pageBase))
  return `${next.pathname}${next.search}`
}

/** Puts the records into the shape of the API's lists: bare, or at their place in an envelope. */
export function shaped(paging: PagingSettings, { items, total, window, pageBase, list, url }: ShapedOf): Shaped {
  const headers: Record<string, string> = { 'x-total-count': String(total) }
  const { totalPath, nextPath, itemsPath, style } = paging
  if (totalPath?.startsWith('header:')) headers[totalPath.slice('header:'.length).toLowerCase()] = String(total)
  const end = window === null ? total : window.offset + window.size
  const hasNext = end < total
  const cursor = style === 'cursor' && hasNext ? cursorOf(end, list) : null
  const link = window !== null && hasNext ? linkTo(url, paging, { end, size: window.size, pageBase }) : null
  if (style === 'link' && link !== null) headers.link = `<${link}>; rel="next"`
  const nextAt = inBody(nextPath)
  if (cursor !== null && (itemsPath === null || nextAt === null)) headers['x-next-cursor'] = cursor
  if (itemsPath === null) return { body: items, headers }
  const tree: Tree = {}
  put(tree, itemsPath, items)
  const totalAt = inBody(totalPath)
  if (totalAt !== null) put(tree, totalAt, String(total))
  if (nextAt !== null && window !== null) put(tree, nextAt, JSON.stringify(style === 'cursor' ? cursor : link))
  return { body: render(tree), headers }
}
