// Lists that are resumed, whose pages are refused or as they were. That lists end, once and completely, is shown for drawn servers
// by paging-servers.test.ts, and for whatever a server makes up by test/hostile/lists.test.ts.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KeptPage, ListCall } from '../../src/api/types.ts'
import type { Json } from '../../src/api/wire/json.ts'
import { allIds, byCursor, byOffset, callOf, idsOf, numbered, read, records, type Server } from './page-servers.ts'

describe('any list', () => {
  const size = fc.integer({ min: 1, max: 12 })
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

describe('a page that is refused', () => {
  /** Answers with `status` from a page on. */
  const refusing =
    (
      status: number,
      server: Server,
      from = 4,
      of: (query: Readonly<Record<string, string>>) => number = (query) => Number(query.page),
    ): Server =>
    (query) =>
      of(query) >= from ? { status, body: undefined } : server(query)

  for (const status of [400, 404, 410, 416, 422])
    it(`with ${status} past the last one ends the list, after one more look at the page before`, async () => {
      const { pages, asked } = await read(refusing(status, numbered(25)), callOf('page'))
      expect(idsOf(pages)).toEqual(allIds(25))
      expect(asked.map(({ page }) => page)).toEqual(['1', '2', '3', '4', '3'])
    })

  for (const status of [401, 403, 429, 500, 503])
    it(`with ${status} is a failure`, async () => {
      await expect(read(refusing(status, numbered(25)), callOf('page'))).rejects.toMatchObject({ status })
    })

  it('ends a list by offset', async () => {
    const { pages, asked } = await read(refusing(404, byOffset(25), 25), callOf('offset'))
    expect(idsOf(pages)).toEqual(allIds(25))
    expect(asked.map(({ page }) => page)).toEqual(['0', '10', '20', '25', '20'])
  })

  it('ends a list whose total is reached, and fails one whose total is not, saying how far it came', async () => {
    const of = (total: number): Server => refusing(404, numbered(25, { wrap: (data) => ({ data, total }) }))
    expect(idsOf((await read(of(25), callOf('page'))).pages)).toEqual(allIds(25))
    await expect(read(of(40), callOf('page'))).rejects.toMatchObject({
      code: 'API_NOT_FOUND',
      status: 404,
      message: 'GET /v3/users answered 404. 25 records were read, but the list has 40.',
    })
  })

  it('fails a list whose page before names a next one all the same', async () => {
    const server = refusing(400, numbered(25, { wrap: (data, page) => ({ data, next: String(page + 2) }) }))
    await expect(read(server, callOf('page'))).rejects.toMatchObject({ code: 'API_REJECTED' })
  })

  it('fails a list that has vanished: the page before is refused, or empty', async () => {
    for (const after of [{ status: 404, body: undefined }, { body: [] }]) {
      let count = 0
      const server: Server = (query) => {
        count += 1
        if (count <= 2) return numbered(25)(query)
        return count === 3 ? { status: 404, body: undefined } : after
      }
      await expect(read(server, callOf('page'))).rejects.toMatchObject({ status: 404 })
    }
  })

  it('fails with what the page before is answered, where that is no refusal', async () => {
    let count = 0
    const server: Server = (query) => {
      count += 1
      return count < 4 ? refusing(404, numbered(15), 3)(query) : { status: 503, body: undefined }
    }
    await expect(read(server, callOf('page'))).rejects.toMatchObject({ status: 503 })
  })

  it('fails a list whose first page it is', async () => {
    const { asked } = await read(numbered(5), callOf('page'))
    expect(asked[0]?.page).toBe('1')
    await expect(read(refusing(404, numbered(25), 1), callOf('page'))).rejects.toMatchObject({ status: 404 })
    await expect(read(refusing(404, numbered(25), 0), callOf('page', { pageBase: 0 }))).rejects.toMatchObject({
      status: 404,
    })
  })

  it('ends a list that is resumed there', async () => {
    const { pages, asked } = await read(refusing(404, numbered(25)), callOf('page', { from: '4' }))
    expect(pages).toEqual([])
    expect(asked.map(({ page }) => page)).toEqual(['4', '3'])
    const offset = await read(refusing(404, byOffset(25), 25), callOf('offset', { from: '25' }))
    expect(offset.asked.map(({ page }) => page)).toEqual(['25', '15'])
  })

  it('fails a list by cursor, where the API itself named the page', async () => {
    const server = byCursor(25, (data, next) => ({ body: { data, nextCursor: next } }))
    await expect(read(refusing(410, server, 20), callOf('cursor'))).rejects.toMatchObject({ status: 410 })
  })
})

describe('a list whose pages have entity tags', () => {
  const tagged =
    (server: Server): Server =>
    (query) => {
      const reply = server(query)
      return { ...reply, headers: { ...reply.headers, etag: `W/"${JSON.stringify(reply.body)}"` } }
    }
  /** What is kept of a read, and what a second read then brings. */
  const readAgain = async (
    call: ListCall,
    before: Server,
    after = before,
  ): Promise<readonly (number | 'unchanged')[]> => {
    const kept = new Map<string, KeptPage>()
    for (const { name, tag, next, items } of (await read(tagged(before), call)).pages)
      if (name !== undefined && tag !== undefined && next !== null)
        kept.set(name, { tag, next, keys: items.values().map((item) => String((item as { id: number }).id)) })
    const { pages } = await read(tagged(after), { ...call, kept: async (name) => kept.get(name) ?? null })
    return pages.map(({ unchanged, items }) => (unchanged === undefined ? items.length : 'unchanged'))
  }

  it('brings a page that is as it was kept without its records', async () => {
    expect(await readAgain(callOf('page'), numbered(25))).toEqual(['unchanged', 'unchanged', 'unchanged'])
    expect(await readAgain(callOf('offset'), byOffset(25))).toEqual(['unchanged', 'unchanged', 'unchanged'])
    expect(await readAgain(callOf('page'), numbered(25), numbered(28))).toEqual(['unchanged', 'unchanged', 8])
    expect(await readAgain(callOf('page'), numbered(30), numbered(31))).toEqual([...Array(3).fill('unchanged'), 1])
  })

  it('ends where the last page repeats, which is recognized by the keys that were kept', async () => {
    expect(await readAgain(callOf('page'), numbered(25, { past: 'last' }))).toEqual(Array(3).fill('unchanged'))
    const shorter = numbered(20, { past: 'last' })
    expect(await readAgain(callOf('page'), numbered(25), shorter)).toEqual(['unchanged', 'unchanged'])
  })

  it('reads a page anew whose end says where the list goes on, and every page of a list of links in headers', async () => {
    const wrap = (data: Json[], page: number): Json => ({ data, next: page < 2 ? page + 2 : null })
    expect(await readAgain(callOf('page'), numbered(25, { wrap }))).toEqual(['unchanged', 'unchanged', 5])
    const inBody = (count: number): Server => byCursor(count, (data, next) => ({ body: { data, nextCursor: next } }))
    expect(await readAgain(callOf('cursor'), inBody(25))).toEqual(['unchanged', 'unchanged', 5])
    expect(await readAgain(callOf('cursor'), inBody(20), inBody(21))).toEqual(['unchanged', 10, 1])
    const linked = byCursor(25, (items, next) => ({
      body: items,
      headers: next === null ? {} : { link: `</v3/users?perPage=10&page=${next}>; rel="next"` },
    }))
    expect(await readAgain(callOf('link'), linked)).toEqual([10, 10, 5])
  })
})
