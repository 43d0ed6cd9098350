// The styles that count: API_PAGING=page numbers pages, API_PAGING=offset counts the records before a page. The position
// of any page is known without an answer.

import type { Count, ListRead, Paged, Style } from './style.ts'

/** Where a smaller page with the last records stands, counted from 0, and how many records are before it. */
type Tail = { readonly at: number; readonly size: number; readonly skip: number }

type Counting = Pick<Count, 'usualBase'> &
  Pick<Style, 'params' | 'sizeParam'> & {
    /** How far it is from a page of so many records to the next one. */
    readonly step: (records: number) => number
    /** Null: the list is too short. */
    readonly tailOf: (read: ListRead) => Tail | null
    readonly served: Pick<NonNullable<Style['served']>, 'firstPage' | 'description'>
  }

function counting({ usualBase, step, tailOf, served, ...names }: Counting): Style {
  const number: Count['number'] = (base, records, size) => base + Math.floor((records * step(size)) / size)
  const start: Count['start'] = (base, at, size) => ((at - base) * size) / step(size)
  const after: Count['after'] = (call, cursor, records) => String(numberOf(call, cursor) + step(records))
  const baseOf = (base: number): number => (served.firstPage === null ? usualBase : base)
  return {
    ...names,
    count: {
      usualBase,
      number,
      start,
      after,
      tail: (call, read) => {
        const tail = tailOf(read)
        return tail === null ? null : { cursor: String(call.pageBase + tail.at), size: tail.size, skip: tail.skip }
      },
    },
    needsNext: false,
    advice: 'Check API_PAGE_BASE and API_PAGING, and API_TOTAL_PATH if the total is wrong.',
    names: { anyLink: false, byToken: false },
    served: {
      ...served,
      nextHeader: null,
      least: baseOf,
      offsetOf: (place, { base, size }) => start(baseOf(base), Number(place), size),
      placeOf: (offset, { base, size }) => String(number(baseOf(base), offset, size)),
    },
    first: ({ pageBase }) => String(pageBase),
    request: (call, cursor) => {
      const { pageParam, sizeParam, pageSize } = call.paging
      return {
        kind: 'query',
        query: { [sizeParam]: String(pageSize), [pageParam]: String(numberOf(call, cursor)) },
      }
    },
    before: (call, cursor) => {
      const at = numberOf(call, cursor)
      return at <= call.pageBase ? null : String(Math.max(call.pageBase, at - step(call.paging.pageSize)))
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

export const pageNumber = counting({
  usualBase: 1,
  step: () => 1,
  // So small that one page more is needed than was read: a server that knows no further page answers otherwise.
  tailOf: ({ records, pages }) => {
    const size = Math.floor((records - 1) / pages)
    if (size < 1) return null
    const at = Math.ceil(records / size) - 1
    return { at, size, skip: at * size }
  },
  params: ['page', 'pageNumber', 'page_number', 'pageNo', '_page', 'page[number]'],
  sizeParam: 'perPage',
  served: { firstPage: 1, description: 'Number of the page.' },
})

export const offset = counting({
  usualBase: 0,
  step: (records) => records,
  // From the last record on.
  tailOf: ({ records, longest }) =>
    records < 2 ? null : { at: records - 1, size: Math.max(1, longest - 1), skip: records - 1 },
  params: ['offset', 'skip', 'start', '$skip', 'page[offset]'],
  sizeParam: 'limit',
  served: { firstPage: null, description: 'Records before the page.' },
})
