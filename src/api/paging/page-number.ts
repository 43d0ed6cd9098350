// API_PAGING=page: pages are numbered.

import type { Paged, Style } from './style.ts'

/** A style that counts: `step` is how far it is from a page of so many records to the next one. */
export function counting(usualBase: 0 | 1, step: (records: number) => number): Style {
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
    // A short page does not end the list: the server may have lowered the page size.
    next: (call, cursor, page, { more }) =>
      page.next === null && !more ? null : after(call, cursor, page.items.length),
  }
}

/** A stored cursor of another paging style (the setting was changed) means nothing here: the list starts anew. */
function numberOf(call: Paged, cursor: string): number {
  return /^\d{1,15}$/.test(cursor) ? Number(cursor) : call.pageBase
}

export const pageNumber = counting(1, () => 1)
