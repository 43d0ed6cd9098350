// What the reader of pages needs from a paging style. Pure: the position of a page is a cursor, a text that can be
// stored.

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

export type Style = {
  /** Number of the first page (or offset of the first record) where nothing shows it; null: pages have no numbers. */
  readonly usualBase: 0 | 1 | null
  /**
   * The list continues only where an answer says so: a full first page that names no next one may have been misread.
   */
  readonly needsNext: boolean
  /** The setting to change when a list turns out to be misread. */
  readonly advice: string
  /** The cursor of the first page. */
  first(call: Paged): string
  /** The request for the page at a cursor. `prefix` is the API's path in front of `/v3`. */
  request(call: Paged, cursor: string, prefix: string): PageAddress
  /** The cursor of the page before, at the page size asked for; null for the first page and where only answers lead on. */
  before(call: Paged, cursor: string): string | null
  /**
   * A smaller page that holds the last records of a list: only a server that counts as requested answers it with the
   * records after `skip`, and with nothing more. Null: the list is too short for one. Missing where only answers name
   * the next page.
   */
  tail?(call: Paged, read: ListRead): { readonly cursor: string; readonly size: number; readonly skip: number } | null
  /** The cursor after a page that will have held this many records. Missing where only answers name the next page. */
  after?(call: Paged, cursor: string, records: number): string
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
