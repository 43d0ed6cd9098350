// Lists end, are read once and completely, or are refused: for every paging style and for servers that misbehave.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/api/json.ts'
import type { PageAddress } from '../../src/api/page-address.ts'
import { readPages } from '../../src/api/pages.ts'
import type { Answer, ListCall, Page } from '../../src/api/types.ts'
import type { PagingSettings, PagingStyle } from '../../src/config.ts'

const linkBase = { origin: 'https://api.example', prefix: '', path: '/v3/users', secretParam: null }

const callOf = (
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

type Reply = { readonly body: Json | undefined; readonly headers?: Record<string, string>; readonly status?: number }
/** A server as a function of the query of a request. */
type Server = (query: Readonly<Record<string, string>>) => Reply

const queryOf = (address: PageAddress): Record<string, string> =>
  address.kind === 'query'
    ? { ...address.query }
    : Object.fromEntries(new URL(address.link, linkBase.origin).searchParams)

/** Reads a list to its end; a list that takes more than a thousand requests fails the test. */
async function read(server: Server, call: ListCall): Promise<{ pages: Page[]; asked: Record<string, string>[] }> {
  const asked: Record<string, string>[] = []
  const fetch = async (address: PageAddress): Promise<Answer> => {
    const query = queryOf(address)
    asked.push(query)
    if (asked.length > 1_000) throw new Error('a thousand requests')
    const { body, headers = {}, status = 200 } = server(query)
    return { status, body, headers, startedAt: new Date(0), bytes: 1, retries: 0, sanitized: 0 }
  }
  const pages: Page[] = []
  for await (const page of readPages(call, { fetch, linkBase })) pages.push(page)
  return { pages, asked }
}

const records = (count: number, from = 0): Json[] => Array.from({ length: count }, (_, i) => ({ id: from + i }))
const idsOf = (pages: readonly Page[]): unknown[] =>
  pages.flatMap((page) => page.items.map((item) => (item as { id: number }).id))
const allIds = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

/** A list of `total` records in numbered pages. `past` says what a page after the last one answers. */
const numbered =
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

const byOffset =
  (total: number, options: { base?: number; mostPerPage?: number; past?: 'empty' | 'last' } = {}): Server =>
  (query) => {
    const { base = 0, mostPerPage = 100, past = 'empty' } = options
    const size = Math.min(Number(query.perPage), mostPerPage)
    const asked = Number(query.page) - base
    const offset = past === 'last' && asked >= total ? Math.max(0, total - size) : asked
    return { body: records(Math.max(0, Math.min(size, total - offset)), offset) }
  }

const byCursor =
  (total: number, wrap: (items: Json[], next: number | null) => Reply): Server =>
  (query) => {
    const size = Number(query.perPage)
    const from = Number(query.page ?? query.after ?? 0)
    return wrap(records(Math.min(size, total - from), from), from + size < total ? from + size : null)
  }

describe('a list of 25', () => {
  for (const [name, call, server] of [
    ['in pages from 1', callOf('page'), numbered(25)],
    ['in pages from 0', callOf('page', { pageBase: 0 }), numbered(25, { base: 0 })],
    ['in pages, the server gives fewer than asked for', callOf('page'), numbered(25, { mostPerPage: 7 })],
    ['in pages, the last one repeats', callOf('page'), numbered(25, { past: 'last' })],
    ['in pages with a total', callOf('page'), numbered(25, { wrap: (data) => ({ data, total: 25 }) })],
    [
      'in pages, a null next ends it',
      callOf('page'),
      numbered(25, { wrap: (data, page) => ({ data, next: page < 2 ? page + 2 : null }) }),
    ],
    [
      'in pages, a null next that the total contradicts',
      callOf('page'),
      numbered(25, { wrap: (data) => ({ data, nextCursor: null, total: 25 }) }),
    ],
    ['by offset', callOf('offset'), byOffset(25)],
    ['by offset from 1', callOf('offset', { pageBase: 1 }), byOffset(25, { base: 1 })],
    ['by offset, the server gives fewer than asked for', callOf('offset'), byOffset(25, { mostPerPage: 7 })],
    ['by cursor', callOf('cursor'), byCursor(25, (data, next) => ({ body: { data, nextCursor: next } }))],
    [
      'by cursor that ends in silence',
      callOf('cursor'),
      byCursor(25, (data, next) => ({ body: next === null ? { data } : { data, next } })),
    ],
    [
      'by cursor that is a link',
      callOf('cursor'),
      byCursor(25, (data, next) => ({
        body: { data, next: next === null ? null : `https://api.example/v3/users?perPage=10&after=${next}` },
      })),
    ],
    [
      'by links in the body',
      callOf('link'),
      byCursor(25, (data, next) => ({
        body: { data, links: { next: next === null ? null : `?perPage=10&after=${next}` } },
      })),
    ],
    [
      'by Link header',
      callOf('link'),
      byCursor(25, (items, next) => ({
        body: items,
        headers: next === null ? {} : { link: `</v3/users?perPage=10&page=${next}>; rel="next"` },
      })),
    ],
    [
      'said to have no pages, with a cursor all the same',
      callOf('none'),
      (query) => byCursor(25, (data, next) => ({ body: { data, nextCursor: next } }))({ ...query, perPage: '10' }),
    ],
    ['without pages', callOf('none'), () => ({ body: records(25) })],
  ] as const satisfies readonly (readonly [string, ListCall, Server])[])
    it(`${name} is read once and completely`, async () => {
      const { pages } = await read(server, call)
      expect(idsOf(pages)).toEqual(allIds(25))
      expect(pages.map((page) => page.index)).toEqual(pages.map((_, index) => index))
    })
})

describe('any list', () => {
  const size = fc.integer({ min: 1, max: 12 })
  const server = fc.record({
    total: fc.integer({ min: 0, max: 60 }),
    pageSize: size,
    mostPerPage: size,
    base: fc.constantFrom(0, 1),
    past: fc.constantFrom('empty', 'last'),
    style: fc.constantFrom('page', 'offset'),
  })

  it('ends, and yields each record once, though the server lowers the page size or repeats its last page', async () => {
    await fc.assert(
      fc.asyncProperty(server, async ({ total, pageSize, base, style, ...options }) => {
        const make = style === 'page' ? numbered : byOffset
        // A full first page that comes again cannot be told from an ignored parameter: refused by another test.
        const perPage = Math.min(pageSize, options.mostPerPage)
        fc.pre(!(options.past === 'last' && total <= perPage && total >= pageSize))
        const { pages, asked } = await read(
          make(total, { base, ...options }),
          callOf(style, { pageSize, pageBase: base as 0 | 1 }),
        )
        expect(idsOf(pages)).toEqual(allIds(total))
        expect(asked.length).toBeLessThanOrEqual(Math.ceil(total / perPage) + 2)
      }),
    )
  })

  it('whose pages shrink on the way is read completely by offset', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 60 }), fc.array(size, { minLength: 1 }), async (total, sizes) => {
        let request = 0
        const shrinking: Server = (query) => {
          const from = Number(query.page)
          const length = Math.min(sizes[request++ % sizes.length] ?? 1, Number(query.perPage), total - from)
          return { body: records(Math.max(0, length), from) }
        }
        const { pages } = await read(shrinking, callOf('offset', { pageSize: 12 }))
        expect(idsOf(pages)).toEqual(allIds(total))
      }),
    )
  })

  it('ends or is refused, whatever pages the server makes up', async () => {
    const reply = fc.record({
      from: fc.nat(30),
      length: fc.nat(5),
      next: fc.option(fc.nat(5)),
      total: fc.option(fc.nat(20)),
    })
    const style = fc.constantFrom('page', 'offset', 'cursor', 'link', 'none')
    await fc.assert(
      fc.asyncProperty(style, fc.array(reply, { minLength: 1, maxLength: 8 }), async (anyStyle, replies) => {
        let request = 0
        const wild: Server = () => {
          const made = replies[request++ % replies.length]
          const next = made?.next ?? null
          return {
            body: {
              data: records(made?.length ?? 0, made?.from),
              next: next === null ? null : anyStyle === 'link' ? `?page=${next}` : next,
              ...(made?.total === null || made === undefined ? {} : { total: made.total }),
            },
          }
        }
        try {
          const { pages } = await read(wild, callOf(anyStyle, { pageSize: 5 }))
          expect(pages.every((page) => page.index === 0 || page.items.length > 0)).toBe(true)
        } catch (error) {
          expect((error as { code?: string }).code).toMatch(/^PAGING_/)
        }
      }),
    )
  })

  it('is resumed from any of its pages, without and with that page', async () => {
    const styles: readonly (readonly [ListCall, Server])[] = [
      [callOf('page'), numbered(45)],
      [callOf('offset'), byOffset(45)],
      [callOf('cursor'), byCursor(45, (data, next) => ({ body: { data, nextCursor: next } }))],
      [
        callOf('link'),
        byCursor(45, (data, next) => ({ body: { data, next: next === null ? null : `?perPage=10&after=${next}` } })),
      ],
    ]
    for (const [call, server] of styles) {
      const { pages } = await read(server, call)
      for (const page of pages) {
        const again = await read(server, { ...call, from: page.cursor })
        expect(idsOf(again.pages)).toEqual(allIds(45).slice(10 * page.index))
        if (page.next === null) continue
        const rest = await read(server, { ...call, from: page.next })
        expect(idsOf(rest.pages)).toEqual(allIds(45).slice(10 * (page.index + 1)))
      }
    }
  })
})

describe('a page', () => {
  it('says where it stands, what comes next and what the API claims', async () => {
    const { pages } = await read(numbered(12, { wrap: (items) => ({ items, meta: { total: 12 } }) }), callOf('page'))
    expect(pages).toMatchObject([
      {
        index: 0,
        cursor: '1',
        next: '2',
        total: 12,
        envelope: 'items',
        bytes: 1,
        retries: 0,
        sanitized: 0,
        startedAt: new Date(0),
      },
      { index: 1, cursor: '2', next: '3', total: 12 },
    ])
  })

  it('is asked for by the parameters of its style, and by none where a list has no pages', async () => {
    const call = callOf('cursor', { pageParam: 'after', sizeParam: 'limit', pageSize: 3 })
    const server = byCursor(4, (data, next) => ({ body: { data, nextCursor: next } }))
    const { asked } = await read((query) => server({ ...query, perPage: query.limit ?? '' }), call)
    expect(asked).toEqual([{ limit: '3' }, { limit: '3', after: '3' }])
    expect((await read(() => ({ body: [] }), callOf('none'))).asked).toEqual([{}])
  })

  it('of an empty list is yielded once, empty, and without a next', async () => {
    for (const reply of [{ body: [] }, { body: undefined, status: 204 }, { body: { data: [], total: 0 } }])
      for (const style of ['page', 'offset', 'cursor', 'link', 'none'] as const) {
        const { pages, asked } = await read(() => reply, callOf(style))
        expect(pages).toMatchObject([{ items: [], next: null }])
        expect(asked).toHaveLength(1)
      }
  })

  it('is the last one when only so many were asked for', async () => {
    const { pages, asked } = await read(numbered(100), callOf('page', { maxPages: 2 }))
    expect([pages.length, pages.at(-1)?.next, asked.length]).toEqual([2, '3', 2])
  })

  it('of another paging style, stored before the setting changed, means the beginning', async () => {
    expect(idsOf((await read(numbered(5), callOf('page', { from: '/v3/users?after=x' }))).pages)).toEqual(allIds(5))
  })

  it('is recognized by its ids, though a record changed between two looks', async () => {
    let look = 0
    const server: Server = (query) => {
      const { body } = numbered(15, { past: 'last' })(query)
      return { body: (body as Json[]).map((item) => ({ ...(item as object), seen: look++ })) }
    }
    expect(idsOf((await read(server, callOf('page'))).pages)).toEqual(allIds(15))
  })

  it('is recognized by its content where records have no id', async () => {
    const server: Server = (query) => ({ body: Number(query.page) === 1 ? [{ a: 1 }, { a: 2 }] : [{ a: 3 }] })
    const { pages } = await read(server, callOf('page'))
    expect(pages.map((page) => page.items)).toEqual([[{ a: 1 }, { a: 2 }], [{ a: 3 }]])
  })
})

describe('refused', () => {
  const refusal = async (server: Server, call: ListCall) =>
    read(server, call).then(
      () => 'nothing was refused',
      (error: unknown) => error,
    )

  it('is a server that ignores the paging parameter', async () => {
    for (const style of ['page', 'offset'] as const)
      expect(await refusal(() => ({ body: records(10) }), callOf(style))).toMatchObject({
        code: 'PAGING_IGNORED',
        kind: 'skip',
        endpoint: 'GET /v3/users',
        remedy: expect.stringContaining('API_PAGE_PARAM'),
      })
  })

  it('is not a full first page that repeats while the total says it is all', async () => {
    const { pages } = await read(() => ({ body: { data: records(10), total: 10 } }), callOf('page'))
    expect(idsOf(pages)).toEqual(allIds(10))
  })

  it('is a page that came before', async () => {
    const server: Server = (query) => ({ body: records(10, 10 * (Number(query.page) % 3)) })
    expect(await refusal(server, callOf('page'))).toMatchObject({ code: 'PAGING_ENDLESS' })
  })

  it('are more pages than the total allows', async () => {
    const server: Server = (query) => ({ body: { data: records(1, Number(query.page)), total: 4 } })
    expect(await refusal(server, callOf('page'))).toMatchObject({ code: 'PAGING_ENDLESS' })
  })

  it('is a list without pages that holds less than its total', async () => {
    expect(await refusal(() => ({ body: { data: records(10), total: 25 } }), callOf('none'))).toMatchObject({
      code: 'PAGING_ENVELOPE',
      remedy: expect.stringContaining('lists.<stream>.paging'),
    })
  })

  it('is a list by cursor whose cursor is not found, if the total says so', async () => {
    expect(await refusal(() => ({ body: { data: records(10), total: 25 } }), callOf('cursor'))).toMatchObject({
      code: 'PAGING_ENVELOPE',
      remedy: expect.stringContaining('API_NEXT_PATH'),
    })
  })

  it('is a list by cursor whose cursor is not found, if smaller pages are cut off as silently', async () => {
    const hidden = (total: number) =>
      byCursor(total, (data, next) => ({ body: next === null ? { data } : { data, odd: { place: next } } }))
    for (const style of ['cursor', 'link'] as const)
      expect(await refusal(hidden(25), callOf(style))).toMatchObject({ code: 'PAGING_ENVELOPE' })
  })

  it('is not a list by cursor of exactly one full page', async () => {
    const server = byCursor(10, (data, next) => ({ body: next === null ? { data } : { data, next } }))
    expect(idsOf((await read(server, callOf('cursor'))).pages)).toEqual(allIds(10))
  })

  for (const style of ['link', 'cursor', 'none'] as const)
    it(`is a next link to elsewhere (${style})`, async () => {
      const server: Server = () => ({ body: { data: records(10), next: 'https://evil.example/v3/users?page=2' } })
      expect(await refusal(server, callOf(style))).toMatchObject({
        code: 'PAGING_FOREIGN_LINK',
        endpoint: 'GET /v3/users',
      })
    })

  it('is an answer without records, and one without a body', async () => {
    for (const body of [{ message: 'x' }, null, undefined])
      expect(await refusal(() => ({ body }), callOf('page'))).toMatchObject({
        code: 'PAGING_ENVELOPE',
        message: expect.stringMatching(/^GET \/v3\/users: No array of records/),
      })
  })
})
