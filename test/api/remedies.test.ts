// What a message about reading a list advises: each server is misread without the setting, the message names it, and with it
// the list comes whole.

import { describe, expect, it } from 'vitest'
import type { ListCall } from '../../src/api/types.ts'
import type { Json } from '../../src/api/wire/json.ts'
import { ApiError } from '../../src/errors.ts'
import { allIds, byCursor, callOf, idsOf, numbered, type Reply, read, records, type Server } from './page-servers.ts'

const size = 25

/** The last page names itself as the next one. */
const selfNaming = (wrap: (data: Json, next: number, isLast: boolean) => Reply): Server =>
  byCursor(size, (data, next) => wrap(data, next ?? 20, next === null))

/** Page 1 where none is named. */
const plain =
  (server: Server): Server =>
  (query) =>
    server({ perPage: '10', page: '1', ...query })
const always: Server = () => ({ body: records(size) })
const zeroAsOne: Server = (query) => numbered(size)({ ...query, page: String(Math.max(1, Number(query.page))) })
const paged = (wrap: (data: Json, page: number) => Json): Server =>
  numbered(size, { wrap: (data, page) => wrap(data, page) })
const elsewhere = byCursor(size, (data, next) => ({
  body: { data, ...(next !== null && { forward: { to: String(next) } }) },
}))
const linked = byCursor(size, (data, next) => ({
  body: { data, links: { next: next && `?perPage=10&after=${next}` } },
}))

const remedies: readonly (readonly [
  name: string,
  server: Server,
  misread: ListCall,
  remedy: RegExp,
  helped: ListCall,
])[] = [
  ['a list without pages', always, callOf('page'), /lists\.<stream>\.paging: none/, callOf('none')],
  ['a list without pages, by cursor', always, callOf('cursor'), /lists\.<stream>\.paging: none/, callOf('none')],
  [
    'page 0 taken for page 1',
    zeroAsOne,
    callOf('page', { pageBase: 0, pageSize: 25 }),
    /API_PAGE_BASE \(now 0\)/,
    callOf('page'),
  ],
  [
    'a flag that is always set',
    paged((data) => ({ data, has_more: true })),
    callOf('page'),
    /API_NEXT_PATH=none/,
    callOf('page', { nextPath: 'none' }),
  ],
  [
    'a next page that does not exist',
    paged((data, page) => ({ data, next: `?perPage=10&page=${page + 7}` })),
    callOf('page'),
    /API_NEXT_PATH=none/,
    callOf('page', { nextPath: 'none' }),
  ],
  [
    'another parameter of the page',
    (query) => numbered(size)({ ...query, page: query.p ?? '1' }),
    callOf('page'),
    /API_PAGE_PARAM/,
    callOf('page', { pageParam: 'p' }),
  ],
  [
    'links that page numbers do not follow',
    linked,
    callOf('page', { pageParam: 'number' }),
    /API_PAGING=link/,
    callOf('link'),
  ],
  [
    'a cursor at an unknown place',
    elsewhere,
    callOf('cursor'),
    /API_NEXT_PATH to the path/,
    callOf('cursor', { nextPath: 'forward.to' }),
  ],
  ['page numbers read as cursors', plain(numbered(size)), callOf('cursor'), /API_PAGING=page/, callOf('page')],
  [
    'pages of a list that is called unpaged',
    plain(paged((data) => ({ data, total: size }))),
    callOf('none'),
    /harbours\.paging: page/,
    callOf('page'),
  ],
  [
    'records at an unusual place',
    () => ({ body: { a: records(size), b: [] } }),
    callOf('none'),
    /API_ITEMS_PATH/,
    callOf('none', { itemsPath: 'a' }),
  ],
  [
    'a total that a self-naming last page contradicts',
    selfNaming((data, next) => ({ body: { data, next, total: 99 } })),
    callOf('cursor'),
    /API_TOTAL_PATH=none/,
    callOf('cursor', { totalPath: 'none' }),
  ],
]

describe('what a message about a list advises', () => {
  for (const [name, server, misread, remedy, helped] of remedies)
    it(`helps: ${name}`, async () => {
      const error = await read(server, misread).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ApiError)
      expect((error as ApiError).remedy).toMatch(remedy)
      expect(idsOf((await read(server, helped)).pages)).toEqual(allIds(size))
    })

  it('is not to ignore next pages where they alone lead on', async () => {
    const error = await read(
      selfNaming((data, next) => ({ body: { data, next, total: 99 } })),
      callOf('cursor'),
    ).catch((thrown: unknown) => thrown)
    expect((error as ApiError).remedy).not.toContain('API_NEXT_PATH=none')
  })
})

describe('a last page that names itself as the next one', () => {
  for (const [name, server, call] of [
    ['by cursor', selfNaming((data, next) => ({ body: { data, next } })), callOf('cursor')],
    [
      'by cursor, with a flag',
      selfNaming((data, next, isLast) => ({ body: { data, next, has_more: !isLast } })),
      callOf('cursor'),
    ],
    [
      'by link',
      selfNaming((data, next) => ({ body: { data, links: { next: `?page=${next}&perPage=10` } } })),
      callOf('link'),
    ],
    [
      'by Link header',
      selfNaming((data, next) => ({
        body: data,
        headers: { link: `</v3/users?perPage=10&page=${next}>; rel="next"` },
      })),
      callOf('link'),
    ],
    ['by page number', paged((data, page) => ({ data, next: Math.min(page + 2, 3) })), callOf('page')],
    [
      'by page number, as a link',
      paged((data, page) => ({ data, links: { next: `?page=${Math.min(page + 2, 3)}` } })),
      callOf('page'),
    ],
  ] as const)
    it(`ends the list: ${name}`, async () => {
      expect(idsOf((await read(server, call)).pages)).toEqual(allIds(size))
    })

  it('ends a list of one page whose flag says so', async () => {
    const server: Server = () => ({ body: { data: records(5), next_cursor: 'c1', has_more: false } })
    expect(idsOf((await read(server, callOf('cursor'))).pages)).toEqual(allIds(5))
  })

  it('ends no list that announces more', async () => {
    const server = selfNaming((data, next) => ({ body: { data, next, has_more: true } }))
    await expect(read(server, callOf('cursor'))).rejects.toMatchObject({ code: 'PAGING_ENDLESS' })
  })
})
