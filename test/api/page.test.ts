// What a page says of itself, how it is recognized, and lists that are refused.

import { describe, expect, it } from 'vitest'
import type { ListCall } from '../../src/api/types.ts'
import type { Json } from '../../src/api/wire/json.ts'
import { allIds, byCursor, callOf, idsOf, numbered, read, records, type Server } from './page-servers.ts'

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
        expect(pages).toMatchObject([{ items: { length: 0 }, next: null }])
        expect(asked).toHaveLength(1)
      }
  })

  it('is the last one when only so many were asked for', async () => {
    const { pages, asked } = await read(numbered(100), callOf('page', { maxPages: 2 }))
    expect([pages.length, pages.at(-1)?.next, asked.length]).toEqual([2, '3', 2])
  })

  it('is asked for once where its answer says that it is all, or where its list has no pages', async () => {
    const full = records(10)
    for (const [style, body] of [
      ['cursor', { data: full, nextCursor: null }],
      ['link', { data: full, next: null }],
      ['page', { data: full, next: null }],
      ['none', full],
    ] as const)
      expect((await read(() => ({ body }), callOf(style))).asked, style).toHaveLength(1)
    expect((await read(() => ({ body: records(1) }), callOf('cursor', { pageSize: 1 }))).asked).toHaveLength(1)
  })

  it('is the last one where its answer says so, though a list taken up there did not see its total', async () => {
    const server = numbered(25, { wrap: (data) => ({ data, next: data.length < 10 ? null : 'more', total: 25 }) })
    const { pages, asked } = await read(server, callOf('page', { from: '3' }))
    expect([idsOf(pages), asked.length]).toEqual([allIds(25).slice(20), 1])
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
    expect(pages.map((page) => page.items.values())).toEqual([[{ a: 1 }, { a: 2 }], [{ a: 3 }]])
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
        message: 'GET /v3/users answered the second page with the first.',
        endpoint: 'GET /v3/users',
        remedy: expect.stringContaining('API_PAGE_PARAM'),
      })
  })

  it('is not a short list whose only page repeats', async () => {
    expect(idsOf((await read(numbered(5, { past: 'last' }), callOf('page'))).pages)).toEqual(allIds(5))
  })

  it('is not a full last page that repeats after a list was taken up there', async () => {
    const { pages } = await read(numbered(20, { past: 'last' }), callOf('page', { from: '2' }))
    expect(idsOf(pages)).toEqual(allIds(20).slice(10))
  })

  it('is not a list that holds more than its total says', async () => {
    const server = numbered(9, { mostPerPage: 4, wrap: (data) => ({ data, total: 1 }) })
    expect(idsOf((await read(server, callOf('page'))).pages)).toEqual(allIds(9))
  })

  it('is not a full first page that repeats while the total says it is all', async () => {
    const { pages } = await read(() => ({ body: { data: records(10), total: 10 } }), callOf('page'))
    expect(idsOf(pages)).toEqual(allIds(10))
  })

  it('is a page that came before', async () => {
    const server: Server = (query) => ({ body: records(10, 10 * (Number(query.page) % 3)) })
    expect(await refusal(server, callOf('page'))).toMatchObject({
      code: 'PAGING_ENDLESS',
      message: 'GET /v3/users does not end: page 4 is an earlier page again.',
      endpoint: 'GET /v3/users',
      remedy: 'Check API_PAGING and API_PAGE_PARAM.',
    })
  })

  it('are more pages than the total allows', async () => {
    const server: Server = (query) => ({ body: { data: records(1, Number(query.page)), total: 4 } })
    expect(await refusal(server, callOf('page'))).toMatchObject({
      code: 'PAGING_ENDLESS',
      message: 'GET /v3/users does not end: page 6 came, of a list that can have 4.',
    })
  })

  it('is a list without pages that holds less than its total', async () => {
    expect(await refusal(() => ({ body: { data: records(10), total: 25 } }), callOf('none'))).toMatchObject({
      code: 'PAGING_ENVELOPE',
      remedy: expect.stringContaining('lists.<stream>.paging'),
    })
  })

  it('is a numbered list that begins with nothing though its total says more', async () => {
    expect(await refusal(() => ({ body: { data: [], total: 25 } }), callOf('page'))).toMatchObject({
      code: 'PAGING_ENVELOPE',
      remedy: expect.stringContaining('API_PAGE_BASE'),
    })
  })

  it('is a list by cursor whose cursor is not found, if the total says so', async () => {
    expect(await refusal(() => ({ body: { data: records(10), total: 25 } }), callOf('cursor'))).toMatchObject({
      code: 'PAGING_ENVELOPE',
      message: 'GET /v3/users: The answer holds 10 of 25 records and no next page.',
      remedy: expect.stringContaining('API_NEXT_PATH'),
    })
  })

  it('is a list by cursor whose cursor is not found, if smaller pages are cut off as silently', async () => {
    const hidden = (total: number) =>
      byCursor(total, (data, next) => ({ body: next === null ? { data } : { data, odd: { place: next } } }))
    for (const style of ['cursor', 'link'] as const)
      expect(await refusal(hidden(25), callOf(style))).toMatchObject({
        code: 'PAGING_ENVELOPE',
        message: `GET /v3/users: The first page is full, there are more records, and no next ${style} was found.`,
      })
  })

  it('is not a list by cursor whose pages have one size whatever is asked for: nothing tells that there is more', async () => {
    const { pages, asked } = await read(() => ({ body: records(10) }), callOf('cursor'))
    expect([idsOf(pages), asked.map((query) => query.perPage)]).toEqual([allIds(10), ['10', '9']])
  })

  it('is not a list by cursor that loses its cursor on the way; that its total disagrees is for the sweep to see', async () => {
    const server = byCursor(25, (data, next) => ({ body: { data, total: 25, nextCursor: next === 20 ? null : next } }))
    expect(idsOf((await read(server, callOf('cursor'))).pages)).toEqual(allIds(20))
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
        remedy: expect.stringContaining('API_ITEMS_PATH'),
      })
  })
})
