// Cuts a page out of a list in any of the four styles, and says where the next one is. Pure.

import { badField } from '../call.ts'
import type { SandboxOptions } from '../options.ts'
import { type Compare, countBefore, type Sequence, viewOf } from '../world/collection.ts'
import { createEntity, type Entity } from '../world/entity.ts'
import type { FaultAction } from './faults.ts'

export interface Page {
  readonly items: readonly Entity[]
  readonly total: number
  /** Query parameters that lead to the next page; null after the last one. */
  readonly next: Readonly<Record<string, string>> | null
  /** The cursor among them, in the cursor style. */
  readonly nextCursor: string | null
}

type Query = Readonly<Record<string, string | undefined>>
type PagingOptions = Pick<
  SandboxOptions,
  'paging' | 'pageBase' | 'pageParam' | 'sizeParam' | 'defaultPageSize' | 'maxPageSize' | 'beforeFirst'
>

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined || text === '') return otherwise
  if (!/^-?\d{1,15}$/.test(text)) throw badField(name, 'must be a whole number')
  return Number(text)
}

function pageSize(query: Query, options: PagingOptions): number {
  const alias = options.paging === 'offset' || options.paging === 'cursor' ? query.limit : undefined
  const size = wholeNumber(options.sizeParam, query[options.sizeParam] ?? alias, options.defaultPageSize)
  if (size < 1) throw badField(options.sizeParam, 'must be at least 1')
  return Math.min(size, options.maxPageSize)
}

/** Index of the page's first item; null for a page that has none by decree. */
function startOf(query: Query, options: PagingOptions, size: number): number | null {
  const { pageBase, pageParam, beforeFirst } = options
  if (options.paging === 'offset') {
    const offset = wholeNumber('offset', query.offset ?? query[pageParam], 0)
    if (offset < 0) throw badField('offset', 'must not be negative')
    return offset
  }
  const page = wholeNumber(pageParam, query[pageParam], pageBase)
  if (page >= pageBase) return (page - pageBase) * size
  if (page < 0 || beforeFirst === 'refuse') throw badField(pageParam, `must be at least ${pageBase}`)
  return beforeFirst === 'first' ? 0 : null
}

/** The position of a record in its order: enough to find the next one even when the record itself is gone. */
function encodeCursor({ key, own }: Entity): string {
  return Buffer.from(JSON.stringify([key, own.creationDatetime ?? null])).toString('base64url')
}

/** Index of the first item after a cursor. */
function afterCursor(cursor: string, items: Sequence<Entity>, compare: Compare<Entity>): number {
  let position: unknown
  try {
    position = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    throw badField('cursor', 'is not a cursor of this list')
  }
  if (!Array.isArray(position) || typeof position[0] !== 'string')
    throw badField('cursor', 'is not a cursor of this list')
  const mark = createEntity('rentals', position[0], { creationDatetime: position[1] })
  return countBefore(items, (item) => compare(item, mark) <= 0)
}

/** The list as a fault lets it be seen. */
export function distortItems(items: Sequence<Entity>, fault: FaultAction | undefined): Sequence<Entity> {
  if (fault === 'empty') return []
  return fault === 'half' ? viewOf(items, Math.floor(items.length / 2), (index) => index) : items
}

function distortStart(start: number, size: number, fault: FaultAction | undefined): number {
  if (fault === 'shift' && start > 0) return start + 1
  if (fault === 'unshift' && start > 0) return start - 1
  if (fault === 'repeatPage') return Math.max(0, start - size)
  return fault === 'ignorePage' ? 0 : start
}

/** The page a query asks for; 400 when it asks wrongly. */
export function cutPage(
  list: { readonly items: Sequence<Entity>; readonly compare: Compare<Entity> },
  query: Query,
  options: PagingOptions,
  fault?: FaultAction,
): Page {
  const items = distortItems(list.items, fault)
  const size = pageSize(query, options)
  const { paging, pageParam, sizeParam, pageBase } = options
  if (paging === 'cursor') {
    const cursor = query.cursor || query[pageParam]
    const start = cursor && fault !== 'ignorePage' ? afterCursor(cursor, items, list.compare) : 0
    const slice = items.slice(start, start + size)
    const last = slice.at(-1)
    const nextCursor = last && start + size < items.length ? encodeCursor(last) : null
    const next = nextCursor === null ? null : { cursor: nextCursor, [sizeParam]: String(size) }
    return { items: slice, total: items.length, next, nextCursor }
  }
  const asked = startOf(query, options, size)
  if (asked === null) return { items: [], total: items.length, next: null, nextCursor: null }
  const start = distortStart(asked, size, fault)
  const following = asked + size
  const position =
    paging === 'offset'
      ? { offset: String(following) }
      : { [pageParam]: String(Math.floor(following / size) + pageBase) }
  return {
    items: items.slice(start, start + size),
    total: items.length,
    next: following < items.length ? { ...position, [sizeParam]: String(size) } : null,
    nextCursor: null,
  }
}
