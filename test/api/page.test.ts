// What a page says of itself, how it is recognized, and lists that are refused.

import { describe, expect, it } from 'vitest'
import type { ListCall, Page } from '../../src/api/types.ts'
import type { Json } from '../../src/api/wire/json.ts'
import { collect, openApi, startServer } from './http-server.ts'
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

  it('that is no JSON is named beside cause and place', async () => {
    await using server = await startServer((response, { url }) => {
      const isSecond = url.includes('page=2')
      response.end(
        isSecond ? '[{"id":11,"price":NaN}]' : JSON.stringify(numbered(25)({ page: '1', perPage: '10' }).body),
      )
    })
    await using client = openApi(server.url)
    await expect(collect(client.api.list(callOf('page')))).rejects.toMatchObject({
      code: 'API_NOT_JSON',
      kind: 'retry',
      message: expect.stringMatching(
        /^GET \/v3\/users: .* NaN at \$\[0\]\.price, character 19\. .* The page was requested with perPage=10&page=2\.$/,
      ),
      endpoint: 'GET /v3/users',
    })
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
  const odataByLink: Server = ({ $skip = '0' }) => {
    const from = Number($skip)
    const next = from + 5 < 30 ? { '@odata.nextLink': `https://api.example/v3/users?$skip=${from + 5}` } : {}
    return { body: { value: records(5, from), '@odata.count': 30, ...next } }
  }
  const refusal = async (server: Server, call: ListCall) =>
    read(server, call).then(
      () => 'nothing was refused',
      (error: unknown) => error,
    )

  it('is a server that ignores the paging parameter and takes that of the size', async () => {
    for (const style of ['page', 'offset'] as const)
      expect(await refusal(({ perPage }) => ({ body: records(Number(perPage)) }), callOf(style))).toMatchObject({
        code: 'PAGING_IGNORED',
        kind: 'skip',
        message:
          'GET /v3/users returned the first page again when asked for the second: the API returns fewer records when fewer are requested.',
        endpoint: 'GET /v3/users',
        remedy: expect.stringContaining('API_PAGE_PARAM (now page)'),
      })
  })

  it('is a server that ignores both parameters: nothing proves that its one page is all', async () => {
    for (const style of ['page', 'offset'] as const)
      for (const count of [1, 2, 7, 10, 20])
        expect(await refusal(() => ({ body: records(count) }), callOf(style))).toMatchObject({
          code: 'PAGING_UNPROVEN',
          remedy: expect.stringContaining('lists.<stream>.paging: none'),
        })
  })

  it('is a server that ignores the paging parameter and names a next page elsewhere', async () => {
    const jsonApi: Server = () => ({
      body: { data: records(5), links: { next: 'https://api.example/v3/users?page[number]=2&page[size]=5' } },
    })
    expect(await refusal(jsonApi, callOf('page'))).toMatchObject({
      code: 'PAGING_IGNORED',
      message: expect.stringContaining('names a next page at links.next, which API_PAGING=page does not follow'),
      remedy: expect.stringMatching(/API_PAGING=link, or API_PAGE_PARAM .*page\[number\], page\[size\]/),
    })
    const odata: Server = () => ({
      body: { value: records(5), '@odata.count': 30, '@odata.nextLink': 'https://api.example/v3/users?$skip=5' },
    })
    expect(await refusal(odata, callOf('page'))).toMatchObject({
      code: 'PAGING_IGNORED',
      remedy: expect.stringContaining('@odata.nextLink'),
    })
    expect(idsOf((await read(odataByLink, callOf('link'))).pages)).toEqual(allIds(30))
  })

  it('is an empty second page where the first one names a next page that is not asked for', async () => {
    const server: Server = ({ page }) => ({ body: page === '1' ? { data: records(5), next_cursor: 'abc' } : [] })
    expect(await refusal(server, callOf('page'))).toMatchObject({ code: 'PAGING_UNPROVEN' })
    expect(idsOf((await read(server, callOf('page', { nextPath: 'none' }))).pages)).toEqual(allIds(5))
  })

  it('is a cursor that is ignored, though the page is shorter than asked for', async () => {
    for (const style of ['cursor', 'link'] as const)
      expect(await refusal(() => ({ body: { data: records(5), next: '?page=5' } }), callOf(style))).toMatchObject({
        code: 'PAGING_IGNORED',
      })
  })

  it('is a last page that repeats after a list was taken up there: what came before is not known', async () => {
    expect(await refusal(numbered(20, { past: 'last' }), callOf('page', { from: '2' }))).toMatchObject({
      code: 'PAGING_UNPROVEN',
    })
    const counted = numbered(20, { past: 'last', wrap: (data) => ({ data, total: 20 }) })
    expect(idsOf((await read(counted, callOf('page', { from: '2' }))).pages)).toEqual(allIds(20).slice(10))
  })

  it('is not a list that holds more than its total says', async () => {
    const server = numbered(9, { mostPerPage: 4, wrap: (data) => ({ data, total: 1 }) })
    expect(idsOf((await read(server, callOf('page'))).pages)).toEqual(allIds(9))
  })

  it('is a page that came before', async () => {
    const server: Server = (query) => ({ body: records(10, 10 * (Number(query.page) % 3)) })
    expect(await refusal(server, callOf('page'))).toMatchObject({
      code: 'PAGING_ENDLESS',
      message:
        'GET /v3/users does not end: the page after 30 records repeats an earlier page, and nothing says that all were read.',
      endpoint: 'GET /v3/users',
      remedy: expect.stringContaining('Check API_PAGING and API_PAGE_PARAM.'),
    })
  })

  it('is not a page that came before where the total, or the list in smaller pages, says that it was all', async () => {
    const wrapping =
      (total: number, wrap: (items: Json[]) => Json = (items) => items): Server =>
      ({ page, perPage }) => {
        const size = Number(perPage)
        const from = ((Number(page) - 1) % Math.ceil(total / size)) * size
        return { body: wrap(records(Math.min(size, total - from), from)) }
      }
    for (const total of [2, 10, 20, 25, 99]) {
      const counted = await read(
        wrapping(total, (data) => ({ data, total })),
        callOf('page'),
      )
      expect(idsOf(counted.pages)).toEqual(allIds(total))
      expect(counted.asked).toHaveLength(counted.pages.length + 1)
      const plain = await read(wrapping(total), callOf('page'))
      expect(idsOf(plain.pages)).toEqual(allIds(total))
      expect(plain.asked).toHaveLength(counted.asked.length + 1)
    }
  })

  it('is not a cursor of 0 that leads on', async () => {
    const afterId: Server = ({ page, perPage }) => {
      const from = page === undefined ? 0 : Number(page) + 1
      const size = Math.min(Number(perPage), 5 - from)
      return { body: { data: records(size, from), next_cursor: from + size < 5 ? from + size - 1 : null } }
    }
    expect(idsOf((await read(afterId, callOf('cursor', { pageSize: 1 }))).pages)).toEqual(allIds(5))
  })

  it('are not more pages than the total has records: the total may be capped', async () => {
    const server = numbered(60, { mostPerPage: 1, wrap: (data) => ({ data, total: 4 }) })
    expect(idsOf((await read(server, callOf('page'))).pages)).toEqual(allIds(60))
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
      message: 'GET /v3/users: The answer has 10 of 25 records and names no next page.',
      remedy: expect.stringContaining('API_NEXT_PATH'),
    })
  })

  it('is a list by cursor whose cursor is not found, if smaller pages are cut off as silently', async () => {
    const hidden = (total: number) =>
      byCursor(total, (data, next) => ({ body: next === null ? { data } : { data, odd: { place: next } } }))
    for (const style of ['cursor', 'link'] as const)
      expect(await refusal(hidden(25), callOf(style))).toMatchObject({
        code: 'PAGING_ENVELOPE',
        message: `GET /v3/users: There are more than 10 records, or the API returns fewer when fewer are requested, and no next ${style} was found.`,
      })
  })

  it('is a list by cursor whose cursor is not found, though its first page is shorter than asked for', async () => {
    const clamped: Server = ({ page = '0', perPage }) => {
      const size = Math.min(5, Number(perPage))
      return { body: { data: records(size, Number(page)), odd: { place: Number(page) + size } } }
    }
    for (const style of ['cursor', 'link'] as const)
      expect(await refusal(clamped, callOf(style))).toMatchObject({ code: 'PAGING_ENVELOPE' })
  })

  it('is a list that says of more records in any other way, and of no next page', async () => {
    for (const more of [{ has_more: true }, { meta: { last_page: 2 } }, { total: 6 }])
      for (const style of ['cursor', 'link', 'none'] as const)
        expect(await refusal(() => ({ body: { data: records(5), ...more } }), callOf(style))).toMatchObject({
          code: 'PAGING_ENVELOPE',
        })
    for (const headers of [{}, { 'content-range': 'items 0-4/6' }, { 'content-range': 'items 0-4/*' }] as const)
      expect(await refusal(() => ({ status: 206, headers, body: records(5) }), callOf('none'))).toMatchObject({
        code: 'PAGING_ENVELOPE',
      })
  })

  it('is a list by cursor whose page has one size whatever is asked for: nothing proves that it is all', async () => {
    for (const style of ['cursor', 'link'] as const)
      expect(await refusal(() => ({ body: records(7) }), callOf(style))).toMatchObject({
        code: 'PAGING_UNPROVEN',
        remedy: expect.stringContaining('lists.<stream>.paging: none'),
      })
  })

  it('is yielded before nothing proves that it is all, so that its records are not lost', async () => {
    const pages: Page[] = []
    const reading = read(
      () => ({ body: records(7) }),
      callOf('cursor'),
      (page) => pages.push(page),
    )
    await expect(reading).rejects.toMatchObject({ code: 'PAGING_UNPROVEN' })
    expect([idsOf(pages), pages[0]?.next]).toEqual([allIds(7), ''])
    // Resumed there, it is read as from its beginning.
    await expect(read(() => ({ body: records(7) }), callOf('cursor', { from: '' }))).rejects.toThrow()
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
