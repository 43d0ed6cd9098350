// Where a page stands: from a cursor (text that can be stored) to query parameters or a link, and on to the next one.
// Pure, one rule per paging style.

import type { ListCall } from '../types.ts'
import type { Envelope } from './envelope.ts'
import { type LinkBase, looksLikeLink, resolveNextLink } from './next-link.ts'

export type PageAddress =
  | { readonly kind: 'query'; readonly query: Readonly<Record<string, string>> }
  /** Path and query on the API's own origin. */
  | { readonly kind: 'link'; readonly link: string }

type Paged = Pick<ListCall, 'paging' | 'pageBase'>

/** The cursor of the first page: its number, its offset, or the empty text. */
export function firstCursor({ paging, pageBase }: Paged): string {
  return paging.style === 'page' || paging.style === 'offset' ? String(pageBase) : ''
}

/** The cursor of the page before a numbered one, at the page size asked for; null for the first page and where only links lead on. */
export function cursorBefore(call: Paged, cursor: string): string | null {
  const { style, pageSize } = call.paging
  if (style !== 'page' && style !== 'offset') return null
  const number = numberOf(call, cursor)
  return number <= call.pageBase ? null : String(Math.max(call.pageBase, number - (style === 'page' ? 1 : pageSize)))
}

/** How the page at a cursor is asked for. `prefix` is the API's path in front of `/v3`. */
export function addressOf(call: Paged, cursor: string, prefix: string): PageAddress {
  const { style, pageParam, sizeParam, pageSize } = call.paging
  const size: Record<string, string> = style === 'none' ? {} : { [sizeParam]: String(pageSize) }
  if (style === 'page' || style === 'offset')
    return { kind: 'query', query: { ...size, [pageParam]: String(numberOf(call, cursor)) } }
  if (cursor === '') return { kind: 'query', query: size }
  if (style === 'link' || looksLikeLink(cursor, prefix)) return { kind: 'link', link: cursor }
  return { kind: 'query', query: { ...size, [pageParam]: cursor } }
}

/**
 * The cursor after a page that held records; null when the page was the last one. A short page does not end a numbered
 * list: the server may have lowered the page size.
 * @param hints `more`: the list's total says that records are missing, so a numbered list goes on in any case
 * @throws BoatMirrorError PAGING_FOREIGN_LINK
 */
export function nextCursor(
  call: Paged,
  cursor: string,
  page: Envelope,
  hints: { readonly base: LinkBase; readonly more: boolean },
): string | null {
  const { style } = call.paging
  if (style === 'page' || style === 'offset') {
    if (page.next === null && !hints.more) return null
    return String(numberOf(call, cursor) + (style === 'page' ? 1 : page.items.length))
  }
  if (page.next === null || page.next === undefined) return null
  return style === 'link' || looksLikeLink(page.next, hints.base.prefix)
    ? resolveNextLink(page.next, hints.base)
    : page.next
}

/** A stored cursor of another paging style (the setting was changed) means nothing here: the list starts anew. */
function numberOf(call: Paged, cursor: string): number {
  return /^\d{1,15}$/.test(cursor) ? Number(cursor) : call.pageBase
}
