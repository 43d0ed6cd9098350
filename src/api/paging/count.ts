// The styles that count: API_PAGING=page numbers pages, API_PAGING=offset counts the records before a page. The position
// of any page is known without an answer.

import type { ListRead, Paged, Style } from './style.ts'

/** Where a smaller page with the last records stands, counted from 0, and how many records are before it. */
type Tail = { readonly at: number; readonly size: number; readonly skip: number }

/**
 * A style that counts.
 * @param step how far it is from a page of so many records to the next one
 * @param tailOf null: the list is too short
 */
export function counting(
  usualBase: 0 | 1,
  step: (records: number) => number,
  tailOf: (read: ListRead) => Tail | null,
): Style {
  const after = (call: Paged, cursor: string, records: number): string => String(numberOf(call, cursor) + step(records))
  return {
    usualBase,
    needsNext: false,
    advice: 'Check API_PAGE_BASE and API_PAGING, and API_TOTAL_PATH if the total is wrong.',
    first: ({ pageBase }) => String(pageBase),
    request: (call, cursor) => {
      const { pageParam, sizeParam, pageSize } = call.paging
      return {
        kind: 'query',
        query: { [sizeParam]: String(pageSize), [pageParam]: String(numberOf(call, cursor)) },
      }
    },
    before: (call, cursor) => {
      const number = numberOf(call, cursor)
      return number <= call.pageBase ? null : String(Math.max(call.pageBase, number - step(call.paging.pageSize)))
    },
    after,
    tail: (call, read) => {
      const tail = tailOf(read)
      return tail === null ? null : { cursor: String(call.pageBase + tail.at), size: tail.size, skip: tail.skip }
    },
    // A short page does not end the list: the server may have lowered the page size.
    next: (call, cursor, page, { more }) =>
      page.next === null && !more ? null : after(call, cursor, page.items.length),
  }
}

/** A stored cursor of another paging style (the setting was changed) means nothing here: the list starts anew. */
function numberOf(call: Paged, cursor: string): number {
  return /^\d{1,15}$/.test(cursor) ? Number(cursor) : call.pageBase
}

/** So small that one page more is needed than was read: a server that knows no further page answers otherwise. */
function lastPage({ records, pages }: ListRead): Tail | null {
  const size = Math.floor((records - 1) / pages)
  if (size < 1) return null
  const at = Math.ceil(records / size) - 1
  return { at, size, skip: at * size }
}

export const pageNumber = counting(1, () => 1, lastPage)

export const offset = counting(
  0,
  (records) => records,
  // From the last record on.
  ({ records, longest }) =>
    records < 2 ? null : { at: records - 1, size: Math.max(1, longest - 1), skip: records - 1 },
)
