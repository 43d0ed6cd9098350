// What a paging style must say: how a page is asked for, how a list goes on, how answers show it, and how `serve` answers
// in it. Pure: the position of a page is a cursor, a text that can be stored.

import type { ListCall } from '../types.ts'
import type { Envelope } from './envelope.ts'
import type { LinkBase } from './next-link.ts'

export type PageAddress =
  | { readonly kind: 'query'; readonly query: Readonly<Record<string, string>> }
  /** Path and query on the API's own origin. */
  | { readonly kind: 'link'; readonly link: string }

export type Paged = Pick<ListCall, 'paging' | 'pageBase'>

/** What was read of a list, from its beginning. */
export type ListRead = {
  readonly records: number
  /** Pages requested, excluding the one at which the list seems to end. */
  readonly pages: number
  /** Records of the longest page. */
  readonly longest: number
}

/** A style in which the cursor of each page is known without an answer. */
export type Count = {
  /** Number of the first page (or offset of the first record) where nothing shows it. */
  readonly usualBase: 0 | 1
  /** The number of the page that begins after so many records, and how many are before the page of a number. */
  number(base: number, records: number, size: number): number
  start(base: number, number: number, size: number): number
  /** The cursor after a page that will have held this many records. */
  after(call: Paged, cursor: string, records: number): string
  /**
   * A smaller page that holds the last records of a list: only a server that counts as requested answers it with the
   * records after `skip`, and with nothing more. Null: the list is too short for one.
   */
  tail(call: Paged, read: ListRead): { readonly cursor: string; readonly size: number; readonly skip: number } | null
}

/** A page of a list that is served. */
type ServedPage = {
  readonly size: number
  /** Number of the first page. */
  readonly base: number
  /** What a token of our own belongs to: no other list accepts it. */
  readonly list: string
}

/** How `serve` answers in a style. A place is the value of the page parameter; an offset counts records from 0. */
export type Served = {
  /** The least number that names a page; null: tokens of our own name pages. */
  least(base: number): number | null
  /** @returns null: the list has no page at this place */
  offsetOf(place: string, page: ServedPage): number | null
  placeOf(offset: number, page: ServedPage): string
  /** The number of the first page unless a sync detected another; null: it is always the same. */
  readonly firstPage: 0 | 1 | null
  /** The page parameter in the OpenAPI document. */
  readonly description: string
  /** The header that names the next page. */
  readonly nextHeader: 'Link' | 'X-Next-Cursor' | null
}

export type Style = {
  /** Null: only answers name the next page. */
  readonly count: Count | null
  /**
   * The list continues only where an answer says so: a full first page that names no next one may have been misread.
   */
  readonly needsNext: boolean
  /** The setting to change when a list turns out to be misread. */
  readonly advice: string
  /** How an answer names a next page in this style: `anyLink`: each text is an address; `byToken`: texts may be tokens. */
  readonly names: { readonly anyLink: boolean; readonly byToken: boolean }
  /** What APIs call the parameter that selects a page, in the order of the search. */
  readonly params: readonly string[]
  /** What the parameter of the size is usually called. */
  readonly sizeParam: string
  /** Null: all of a list is one answer. */
  readonly served: Served | null
  /** The cursor of the first page. */
  first(call: Paged): string
  /** The request for the page at a cursor. `prefix` is the API's path in front of `/v3`. */
  request(call: Paged, cursor: string, prefix: string): PageAddress
  /** The cursor of the page before, at the page size asked for; null for the first page and where only answers lead on. */
  before(call: Paged, cursor: string): string | null
  /**
   * The cursor after a page that held records; null when the page was the last one.
   * @param hints `more`: the answer says that records are missing, by its total, its number of pages or a flag
   * @throws BoatMirrorError PAGING_FOREIGN_LINK
   */
  next(
    call: Paged,
    cursor: string,
    page: Envelope,
    hints: { readonly base: LinkBase; readonly more: boolean },
  ): string | null
}
