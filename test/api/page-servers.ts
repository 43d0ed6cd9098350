// Lists as functions, for every paging style, and a reader that counts what it asks them.

import { readPages } from '../../src/api/paging/pages.ts'
import type { PageAddress } from '../../src/api/paging/style.ts'
import type { Answer, ListCall, Page } from '../../src/api/types.ts'
import { failureOfAnswer } from '../../src/api/wire/failures.ts'
import type { Json } from '../../src/api/wire/json.ts'
import type { PagingSettings, PagingStyle } from '../../src/config.ts'

const linkBase = { origin: 'https://api.example', prefix: '', path: '/v3/users', secretParam: null }

export const callOf = (
  style: PagingStyle,
  changes: Partial<PagingSettings> & Partial<Pick<ListCall, 'pageBase' | 'from' | 'maxPages'>> = {},
): ListCall => {
  const { pageBase = style === 'offset' ? 0 : 1, from, maxPages, ...paging } = changes
  return {
    endpoint: 'GET /v3/users',
    paging: {
      style,
      pageParam: 'page',
      sizeParam: 'perPage',
      pageSize: 10,
      pageBase: null,
      itemsPath: null,
      nextPath: null,
      totalPath: null,
      ...paging,
    },
    pageBase: pageBase ?? 1,
    ...(from === undefined ? {} : { from }),
    ...(maxPages === undefined ? {} : { maxPages }),
  }
}

export type Reply = {
  readonly body: Json | undefined
  readonly headers?: Record<string, string>
  readonly status?: number
}
/** A server as a function of the query of a request. */
export type Server = (query: Readonly<Record<string, string>>) => Reply

const queryOf = (address: PageAddress): Record<string, string> =>
  address.kind === 'query'
    ? { ...address.query }
    : Object.fromEntries(new URL(address.link, linkBase.origin).searchParams)

const refusedAnswer = {
  endpoint: 'GET /v3/users',
  retryAfterMs: undefined,
  text: '',
  target: { secrets: [], sent: 'no credentials' },
  asksFor: undefined,
}

/** Reads a list to its end; a list that takes more than a thousand requests fails the test. */
export async function read(
  server: Server,
  call: ListCall,
  onPage: (page: Page) => unknown = () => undefined,
): Promise<{ pages: Page[]; asked: Record<string, string>[] }> {
  const asked: Record<string, string>[] = []
  const fetch = async (address: PageAddress, { tag }: { readonly tag?: string | undefined } = {}): Promise<Answer> => {
    const query = queryOf(address)
    asked.push(query)
    if (asked.length > 1_000) throw new Error('a thousand requests')
    const { body, headers = {}, status = 200 } = server(query)
    if (status >= 400) throw failureOfAnswer({ ...refusedAnswer, status })
    const same = tag !== undefined && headers.etag === tag
    if (same)
      return { status: 304, body: undefined, headers, startedAt: new Date(0), bytes: 0, retries: 0, sanitized: 0 }
    return { status, body, headers, startedAt: new Date(0), bytes: 1, retries: 0, sanitized: 0 }
  }
  const pages: Page[] = []
  for await (const page of readPages(call, { fetch, nameOf: JSON.stringify, linkBase })) {
    pages.push(page)
    onPage(page)
  }
  return { pages, asked }
}

export const records = (count: number, from = 0): Json[] => Array.from({ length: count }, (_, i) => ({ id: from + i }))
export const idsOf = (pages: readonly Page[]): unknown[] =>
  pages.flatMap((page) => page.items.values().map((item) => (item as { id: number }).id))
export const allIds = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

/** A list of `total` records in numbered pages. `past` says what a page after the last one answers. */
export const numbered =
  (
    total: number,
    options: {
      base?: number
      mostPerPage?: number
      past?: 'empty' | 'last'
      wrap?: (items: Json[], page: number) => Json
    } = {},
  ): Server =>
  (query) => {
    const { base = 1, mostPerPage = 100, past = 'empty', wrap = (items) => items } = options
    const size = Math.min(Number(query.perPage), mostPerPage)
    const lastPage = Math.max(0, Math.ceil(total / size) - 1)
    const asked = Number(query.page) - base
    const page = past === 'last' ? Math.min(asked, lastPage) : asked
    return { body: wrap(records(Math.max(0, Math.min(size, total - page * size)), page * size), page) }
  }

export const byOffset =
  (total: number, options: { base?: number; mostPerPage?: number; past?: 'empty' | 'last' } = {}): Server =>
  (query) => {
    const { base = 0, mostPerPage = 100, past = 'empty' } = options
    const size = Math.min(Number(query.perPage), mostPerPage)
    const asked = Number(query.page) - base
    const offset = past === 'last' && asked >= total ? Math.max(0, total - size) : asked
    return { body: records(Math.max(0, Math.min(size, total - offset)), offset) }
  }

export const byCursor =
  (total: number, wrap: (items: Json[], next: number | null) => Reply): Server =>
  (query) => {
    const size = Number(query.perPage)
    const from = Number(query.page ?? query.after ?? 0)
    return wrap(records(Math.min(size, total - from), from), from + size < total ? from + size : null)
  }
