// Every paging style in every envelope shows each record exactly once, and the edges are as the options say.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cutPage } from '../../sandbox/http/paging.ts'
import type { Sandbox, SandboxOptions } from '../../sandbox/index.ts'
import { defaultOptions, envelopes, pagingStyles } from '../../sandbox/options.ts'
import { byKey } from '../../sandbox/world/collection.ts'
import { createEntity } from '../../sandbox/world/entity.ts'
import { type Fields, fields, first, list, openSandbox, type Reply, send, truthOf } from './client.ts'

/** Items, total and next address or cursor of a page, by where each wrapper has them. */
function unwrap(reply: Reply, envelope: SandboxOptions['envelope']) {
  const link = /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1]
  const cursor = reply.headers.get('x-next-cursor')
  if (envelope === 'bare') return { items: list(reply), total: undefined, url: link, cursor }
  const body = fields(reply)
  const meta = (body.meta ?? body) as Fields
  const parts: Record<string, { items: unknown; total: unknown; url: unknown }> = {
    data: { items: body.data, total: meta.total, url: (body.links as Fields | undefined)?.next },
    items: { items: body.items, total: body.total, url: body.next },
    results: { items: body.results, total: body.count, url: body.next },
    nested: { items: (body.data as Fields | undefined)?.items, total: meta.total, url: meta.next },
    hydra: {
      items: body['hydra:member'],
      total: body['hydra:totalItems'],
      url: (body['hydra:view'] as Fields | undefined)?.['hydra:next'],
    },
  }
  const part = parts[envelope]
  if (!part) throw new Error(`no reader for ${envelope}`)
  return { items: part.items as Fields[], total: part.total, url: part.url ?? link, cursor: meta.nextCursor }
}

/** Reads all users by following the style; 60 pages at most. */
async function readAll(
  sandbox: Sandbox,
  options: Partial<SandboxOptions>,
): Promise<{ ids: unknown[]; totals: unknown[] }> {
  const { paging = 'page', envelope = 'bare', pageBase = 1 } = options
  const ids: unknown[] = []
  const totals: unknown[] = []
  let path = '/v3/users?perPage=7'
  for (let page = pageBase; page < 60; page++) {
    if (paging === 'page') path = `/v3/users?perPage=7&page=${page}`
    if (paging === 'offset') path = `/v3/users?perPage=7&offset=${ids.length}`
    const { items, total, url, cursor } = unwrap(await send(sandbox, `GET ${path}`), envelope)
    ids.push(...items.map(({ id }) => id))
    totals.push(total)
    if (items.length === 0) return { ids, totals }
    if (paging === 'cursor' && !cursor) return { ids, totals }
    if (paging === 'cursor') path = `/v3/users?perPage=7&cursor=${cursor}`
    if (paging === 'link' && !url) return { ids, totals }
    if (paging === 'link') path = String(url)
  }
  throw new Error('the list does not end')
}

describe('a list is read whole', () => {
  for (const paging of pagingStyles) {
    for (const envelope of envelopes) {
      for (const pageBase of paging === 'page' || paging === 'link' ? ([0, 1] as const) : ([1] as const)) {
        it(`by ${paging} from ${pageBase} in ${envelope}`, async () => {
          await using sandbox = await openSandbox({ paging, envelope, pageBase })
          const active = truthOf(sandbox, 'users').filter(({ record }) => record.deactivated !== true)
          const { ids, totals } = await readAll(sandbox, { paging, envelope, pageBase })
          expect(ids).toEqual(active.map(({ key }) => key.id))
          if (envelope !== 'bare') expect(new Set(totals)).toEqual(new Set([active.length]))
        })
      }
    }
  }
})

describe('wrappers of the other lists', () => {
  it('show next addresses in every style but cursor where their kind does', async () => {
    await using sandbox = await openSandbox({ envelope: 'results' })
    const body = fields(await send(sandbox, 'GET /v3/users?perPage=7&name=a&page=1'))
    expect(body.next).toBe(`${sandbox.url}/v3/users?perPage=7&name=a&page=2`)
  })

  it('are put around reference lists, and around lists below records only when asked for', async () => {
    await using sandbox = await openSandbox({ envelope: 'items' })
    expect(fields(await send(sandbox, 'GET /v3/types')).items).toHaveLength(6)
    const below = `GET /v3/resources/${truthOf(sandbox, 'resources')[0]?.key.id}/pricings`
    expect(list(await send(sandbox, below)).length).toBeGreaterThan(0)
    await using everywhere = await openSandbox({ envelope: 'items', envelopeEverywhere: true })
    expect(fields(await send(everywhere, below)).items).toEqual((await send(sandbox, below)).body)
  })

  it('can leave the total to a header', async () => {
    await using sandbox = await openSandbox({ envelope: 'data', totals: false, totalHeader: 'X-Total-Count' })
    const reply = await send(sandbox, 'GET /v3/rentals?perPage=1')
    expect(fields(reply).meta).toEqual({})
    expect(reply.headers.get('x-total-count')).toBe(String(truthOf(sandbox, 'rentals').length))
  })
})

describe('the edges of paging', () => {
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await openSandbox({ size: 300 })
  })
  afterAll(() => sandbox.close())

  it('lower a page size above 100 without a word, and take 20 where none is asked for', async () => {
    expect(list(await send(sandbox, 'GET /v3/rentals?perPage=500'))).toHaveLength(100)
    expect(list(await send(sandbox, 'GET /v3/rentals'))).toHaveLength(20)
  })

  it('answer a page past the end with nothing', async () => {
    expect(list(await send(sandbox, 'GET /v3/rentals?perPage=100&page=99'))).toEqual([])
  })

  for (const query of ['page=0', 'page=-1', 'page=x', 'perPage=0', 'perPage=many']) {
    it(`refuse ${query} with 400`, async () => {
      expect((await send(sandbox, `GET /v3/users?${query}`)).status).toBe(400)
    })
  }

  it('answer page 0 like the first page, or with nothing, where told so', async () => {
    await using like = await openSandbox({ beforeFirst: 'first' })
    expect((await send(like, 'GET /v3/users?page=0')).body).toEqual((await send(like, 'GET /v3/users?page=1')).body)
    await using empty = await openSandbox({ beforeFirst: 'empty' })
    expect((await send(empty, 'GET /v3/users?page=0')).body).toEqual([])
  })

  it('leave reference lists whole unless told to page them', async () => {
    expect(list(await send(sandbox, 'GET /v3/harbours?perPage=5&page=2'))).toHaveLength(40)
    await using paged = await openSandbox({ size: 60, pageReferences: true })
    expect(list(await send(paged, 'GET /v3/harbours?perPage=30&page=2'))).toHaveLength(10)
  })

  it('take other parameter names where told so', async () => {
    await using renamed = await openSandbox({ pageParam: 'p', sizeParam: 'n' })
    const one = await send(renamed, 'GET /v3/users?n=2&p=1')
    const two = await send(renamed, 'GET /v3/users?n=2&p=2')
    expect(list(one)).toHaveLength(2)
    expect(two.body).not.toEqual(one.body)
  })

  it('refuse a cursor that is none', async () => {
    await using cursors = await openSandbox({ paging: 'cursor' })
    expect((await send(cursors, 'GET /v3/users?cursor=garbage')).status).toBe(400)
  })

  it('keep a cursor valid when the record it stands on is deleted', async () => {
    await using cursors = await openSandbox({ paging: 'cursor', envelope: 'items' })
    const page = fields(await send(cursors, 'GET /v3/rentals?perPage=3&order=creationDateAsc'))
    const rest = async (): Promise<Fields[]> =>
      fields(await send(cursors, `GET /v3/rentals?perPage=100&order=creationDateAsc&cursor=${page.nextCursor}`))
        .items as Fields[]
    const before = await rest()
    const last = (page.items as Fields[]).at(-1)
    await send(cursors, `DELETE /v3/rentals/${last?.id}`)
    expect(await rest()).toEqual(before)
  })
})

describe('summary lists', () => {
  it('show only a few fields, the single reads show all', async () => {
    await using sandbox = await openSandbox({ summary: true })
    const [user] = list(await send(sandbox, 'GET /v3/users'))
    expect(Object.keys(user ?? {}).toSorted()).toEqual([
      'deactivated',
      'email',
      'firstName',
      'id',
      'lastModificationDatetime',
      'lastName',
    ])
    expect(fields(await send(sandbox, `GET /v3/users/${user?.id}`))).toMatchObject({
      ...user,
      birthDate: expect.any(String),
    })
    const { key } = first(truthOf(sandbox, 'rental_options'))
    const [option] = list(await send(sandbox, `GET /v3/rentals/${key.rental_id}/options`))
    expect(option).toEqual({ id: expect.any(Number), quantity: expect.any(Number) })
  })
})

describe('cutting pages', () => {
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, index) => createEntity('users', String(index + 1), {}))

  it('yields each item once, in order, for any list, size and style', () => {
    const arbitrary = fc.record({
      count: fc.nat(60),
      perPage: fc.integer({ min: 1, max: 130 }),
      paging: fc.constantFrom(...pagingStyles),
      pageBase: fc.constantFrom<0 | 1>(0, 1),
    })
    fc.assert(
      fc.property(arbitrary, ({ count, perPage, paging, pageBase }) => {
        const items = numbered(count)
        const seen: string[] = []
        let query: Record<string, string> | null = { perPage: String(perPage) }
        for (let page = 0; query !== null && page <= count; page++) {
          const cut = cutPage({ items, compare: byKey }, query, { ...defaultOptions, paging, pageBase })
          seen.push(...cut.items.map(({ key }) => key))
          query = cut.next
        }
        expect(query).toBeNull()
        expect(seen).toEqual(items.map(({ key }) => key))
      }),
    )
  })

  const page = (number: number, fault?: Parameters<typeof cutPage>[3]): string[] =>
    cutPage(
      { items: numbered(10), compare: byKey },
      { page: String(number), perPage: '3' },
      defaultOptions,
      fault,
    ).items.map(({ key }) => key)

  it('skips a record when one before the page is deleted, repeats one when it is inserted', () => {
    expect(page(2)).toEqual(['4', '5', '6'])
    expect(page(2, 'shift')).toEqual(['5', '6', '7'])
    expect(page(2, 'unshift')).toEqual(['3', '4', '5'])
    expect(page(1, 'shift')).toEqual(['1', '2', '3'])
  })

  it('repeats the page before, or the first page, when told so', () => {
    expect(page(3, 'repeatPage')).toEqual(page(2))
    expect(page(3, 'ignorePage')).toEqual(page(1))
  })
})
