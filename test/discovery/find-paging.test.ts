// How a list is paged, found out from APIs as they really are: each is a function from a query to an answer.

import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import type { AskedList } from '../../src/profile/search/find-paging.ts'
import { findPaging } from '../../src/profile/search/find-paging.ts'
import { sampleOf } from '../../src/profile/search/signs.ts'

type Query = Readonly<Record<string, string>>
type Item = { readonly id: number }
/** Null: refused. */
type Answer = { readonly body: unknown; readonly headers?: Readonly<Record<string, string>> } | null
type Api = (query: Query, all: readonly Item[]) => Answer

const all = Array.from({ length: 30 }, (_, index) => ({ id: 1_000 - index }))
const { paging } = readConfig({}, '/nonexistent').api

/** Asks an API of these records, and counts. */
function asked(api: Api, records: readonly Item[]): { list: AskedList; ask: AskedList['ask']; count: () => number } {
  let count = 0
  const ask: AskedList['ask'] = async (query, own) => {
    count += 1
    const answer = api(query, records)
    if (answer === null) return null
    return sampleOf(JSON.parse(JSON.stringify({ headers: {}, ...answer })), { ...paging, ...own })
  }
  const follow: AskedList['follow'] = async (link) =>
    link.startsWith('https://elsewhere') ? null : ask(Object.fromEntries(new URL(link, 'http://api').searchParams))
  return { list: { ask, follow, isLink: (next) => /^(https?:|\/v3\/|\?)/.test(next) }, ask, count: () => count }
}

const size = (query: Query, name: string, usual = 20, most = 100): number =>
  Math.min(Number(query[name] ?? usual), most)

/** Pages by number, wrapped by `wrap`. */
const numbered =
  (
    page: string,
    perPage: string,
    base = 1,
    wrap: (items: readonly Item[], next: number, size: number) => Answer = (body) => ({ body }),
  ): Api =>
  (query, records) => {
    const [number, length] = [Number(query[page] ?? base), size(query, perPage)]
    if (number < base) return null
    return wrap(records.slice((number - base) * length, (number - base + 1) * length), number + 1, length)
  }

type Case = {
  readonly name: string
  readonly api: Api
  readonly records?: readonly Item[]
  /** What is set beforehand. */
  readonly set?: 'page' | 'link' | 'offset'
  readonly found: Query | null
}

const cases: readonly Case[] = [
  {
    name: 'the documented names, pages from 1',
    api: numbered('page', 'perPage'),
    found: { API_PAGING: 'page', API_PAGE_PARAM: 'page', API_PAGE_BASE: '1', API_SIZE_PARAM: 'perPage' },
  },
  {
    name: 'pages from 0, of which the third is past the end',
    api: numbered('pageNumber', 'pageSize', 0),
    records: all.slice(0, 5),
    found: { API_PAGING: 'page', API_PAGE_PARAM: 'pageNumber', API_PAGE_BASE: '0', API_SIZE_PARAM: 'pageSize' },
  },
  {
    name: 'three records',
    api: numbered('page', 'limit'),
    records: all.slice(0, 3),
    found: { API_PAGING: 'page', API_PAGE_PARAM: 'page', API_PAGE_BASE: '1', API_SIZE_PARAM: 'limit' },
  },
  {
    name: 'a size that cannot be chosen',
    api: ({ page = '0' }, records) => ({ body: records.slice(Number(page) * 10, Number(page) * 10 + 10) }),
    found: { API_PAGING: 'page', API_PAGE_PARAM: 'page', API_PAGE_BASE: '0' },
  },
  {
    name: 'unknown parameters refused, and more than 50 records, too',
    api: (query, records) => {
      const isKnown = Object.keys(query).every((name) => name === 'skip' || name === 'size')
      const [skip, length] = [Number(query.skip ?? 0), Number(query.size ?? 20)]
      return isKnown && length <= 50 ? { body: { data: records.slice(skip, skip + length) } } : null
    },
    found: {
      ...{ API_PAGING: 'offset', API_PAGE_PARAM: 'skip', API_PAGE_BASE: '0' },
      ...{ API_SIZE_PARAM: 'size', API_PAGE_SIZE: '50' },
    },
  },
  {
    name: 'offsets from 1, sizes lowered without a word, and a total under a name of its own',
    api: (query, records) => {
      const start = Number(query.start ?? 1) - 1
      return {
        body: { data: records.slice(start, start + size(query, 'limit', 20, 8)) },
        headers: { 'x-pagination-total-count': String(records.length) },
      }
    },
    found: {
      ...{ API_PAGING: 'offset', API_PAGE_PARAM: 'start', API_PAGE_BASE: '1' },
      ...{ API_SIZE_PARAM: 'limit', API_TOTAL_PATH: 'header:x-pagination-total-count' },
    },
  },
  {
    name: 'Link headers',
    api: numbered('page', 'per_page', 1, (body, next, length) => ({
      body,
      headers: body.length < length ? {} : { link: `</v3/rentals?page=${next}&per_page=${length}>; rel="next"` },
    })),
    found: { API_PAGING: 'link', API_SIZE_PARAM: 'per_page' },
  },
  {
    name: 'Link headers, where pages are set and work',
    set: 'page',
    api: numbered('page', 'per_page', 1, (body, next, length) => ({
      body,
      headers: body.length < length ? {} : { link: `</v3/rentals?page=${next}>; rel="next"` },
    })),
    found: { API_PAGING: 'page', API_PAGE_PARAM: 'page', API_PAGE_BASE: '1', API_SIZE_PARAM: 'per_page' },
  },
  {
    name: 'next links that name a parameter of their own',
    api: numbered('blad', 'perPage', 1, (results, next, length) => ({
      body: { results, next: results.length < length ? null : `https://elsewhere/v3/rentals?blad=${next}` },
    })),
    found: { API_PAGING: 'page', API_PAGE_PARAM: 'blad', API_PAGE_BASE: '1', API_SIZE_PARAM: 'perPage' },
  },
  {
    name: 'next links that only the API can read',
    api: (query, records) => {
      const start = query.t === undefined ? 0 : Number(query.t.slice(1))
      const end = start + size(query, 'limit')
      return { body: { items: records.slice(start, end), next: end < 30 ? `?t=x${end}&limit=${end - start}` : null } }
    },
    found: { API_PAGING: 'link', API_SIZE_PARAM: 'limit' },
  },
  {
    name: 'a cursor where nobody looks unasked, under a name that few have',
    api: (query, records) => {
      const start = query.after === undefined ? 0 : records.findIndex(({ id }) => `c${id}` === query.after) + 1
      const items = records.slice(start, start + size(query, 'limit'))
      return { body: { data: items, page_info: { end_cursor: `c${items.at(-1)?.id}` } } }
    },
    found: {
      ...{ API_PAGING: 'cursor', API_PAGE_PARAM: 'after', API_NEXT_PATH: 'page_info.end_cursor' },
      ...{ API_SIZE_PARAM: 'limit' },
    },
  },
  {
    name: 'the names of json-server 0.17, which says nothing of pages until it is asked for one',
    api: (query, records) => {
      if (query._limit === undefined && query._page === undefined) return { body: records }
      const [number, length] = [Math.max(1, Number(query._page ?? 1)), Number(query._limit ?? 10)]
      const link = `<http://api/v3/rentals?_page=${number + 1}&_limit=${length}>; rel="next"`
      return {
        body: records.slice((number - 1) * length, number * length),
        headers: { 'x-total-count': String(records.length), ...(query._page !== undefined && { link }) },
      }
    },
    found: { API_PAGING: 'page', API_PAGE_PARAM: '_page', API_PAGE_BASE: '1', API_SIZE_PARAM: '_limit' },
  },
  {
    name: 'a size that counts only beside a page, and the number of the next page',
    api: (query, records) => {
      if (query._page === undefined) return { body: records }
      const [number, length] = [Number(query._page), Number(query._per_page ?? 10)]
      const next = number * length < records.length ? number + 1 : null
      return { body: { next, items: records.length, data: records.slice((number - 1) * length, number * length) } }
    },
    found: { API_PAGING: 'page', API_PAGE_PARAM: '_page', API_PAGE_BASE: '1', API_SIZE_PARAM: '_per_page' },
  },
  {
    name: 'JSON:API, which refuses what it does not know',
    api: (query, records) => {
      if (Object.keys(query).some((name) => !/^page\[(number|size)\]$/.test(name))) return null
      const [number, length] = [Number(query['page[number]'] ?? 1), size(query, 'page[size]', 10, 20)]
      const next = number * length < records.length ? `/v3/rentals?page%5Bnumber%5D=${number + 1}` : null
      const data = records.slice((number - 1) * length, number * length)
      return { body: { data, links: { next: next && `${next}&page[size]=${length}` }, meta: { total: 30 } } }
    },
    found: {
      ...{ API_PAGING: 'page', API_PAGE_PARAM: 'page[number]', API_PAGE_BASE: '1' },
      ...{ API_SIZE_PARAM: 'page[size]', API_PAGE_SIZE: '20' },
    },
  },
  {
    name: 'JSON:API, whose pages have a size of their own',
    api: (query, records) => {
      const number = Number(query['page[number]'] ?? 1)
      const next = number < 3 ? `/v3/rentals?page[number]=${number + 1}` : null
      return { body: { data: records.slice(number * 10 - 10, number * 10), links: { next } } }
    },
    found: { API_PAGING: 'page', API_PAGE_PARAM: 'page[number]', API_PAGE_BASE: '1' },
  },
  {
    name: 'OData, whose pages are cut by the server where nobody asks for a size',
    api: (query, records) => {
      if (Object.keys(query).some((name) => !/^\$(top|skip)$/.test(name))) return null
      const skip = Number(query.$skip ?? 0)
      const value = records.slice(skip, skip + Number(query.$top ?? 10))
      const goesOn = query.$top === undefined && skip + value.length < records.length
      const next = goesOn ? { '@odata.nextLink': `/v3/rentals?$skip=${skip + 10}` } : {}
      return { body: { '@odata.count': records.length, value, ...next } }
    },
    found: { API_PAGING: 'offset', API_PAGE_PARAM: '$skip', API_PAGE_BASE: '0', API_SIZE_PARAM: '$top' },
  },
  {
    name: 'names that no line of settings could hold',
    api: numbered('page\nADMIN_TOKEN', 'perPage', 1, (results, next, length) => ({
      body: {
        results,
        next: results.length < length ? null : `/v3/rentals?page%0AADMIN_TOKEN=${next}&perPage=${length}`,
      },
    })),
    found: { API_PAGING: 'link', API_SIZE_PARAM: 'perPage' },
  },
  {
    name: 'two names of the size, of which the one that goes with offsets is taken',
    api: ({ offset = '0', ...query }, records) => {
      const length = query.limit === undefined ? size(query, 'perPage') : size(query, 'limit')
      return { body: records.slice(Number(offset), Number(offset) + length) }
    },
    found: {
      ...{ API_PAGING: 'offset', API_PAGE_PARAM: 'offset', API_PAGE_BASE: '0' },
      ...{ API_SIZE_PARAM: 'limit', SERVE_SIZE_PARAMS: 'perPage' },
    },
  },
  {
    name: 'two names of the page',
    api: ({ page, pageNumber = page ?? '1', ...query }, records) => {
      const length = size(query, 'perPage')
      return { body: records.slice((Number(pageNumber) - 1) * length, Number(pageNumber) * length) }
    },
    found: {
      ...{ API_PAGING: 'page', API_PAGE_PARAM: 'page', API_PAGE_BASE: '1', API_SIZE_PARAM: 'perPage' },
      SERVE_PAGE_PARAMS: 'pageNumber',
    },
  },
  { name: 'nothing of all this', api: (_, records) => ({ body: records }), found: null },
]

describe('how a list is paged is found', () => {
  for (const { name, api, records = all, set = null, found } of cases)
    it(`with ${name}`, async () => {
      const { list, ask, count } = asked(api, records)
      const whole = await ask({})
      if (whole === null) throw new Error('the bare list must be answered')
      const result = await findPaging(list, whole, { paging, style: set })
      const settings = result && Object.fromEntries(result.settings.map((each) => [each.name, each.value]))
      expect(settings).toEqual(found)
      expect(count()).toBeLessThanOrEqual(30)
    })
})
