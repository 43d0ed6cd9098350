// Pages are asked for ahead where it is known where they stand: up to the length of the list, and nothing else changes.

import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPages } from '../../src/api/paging/pages.ts'
import { cursorsAhead, PagesAhead } from '../../src/api/paging/pages-ahead.ts'
import type { PageAddress } from '../../src/api/paging/style.ts'
import type { ListCall } from '../../src/api/types.ts'
import { ApiError } from '../../src/errors.ts'
import { allIds, byCursor, byOffset, callOf, idsOf, numbered, read, records, type Server } from './page-servers.ts'

const from = { pages: 1, left: 95, length: 10, longest: 10, bytes: 1_000 }

describe('the pages under way', () => {
  it('are four at most, and no more than the list has', () => {
    expect(cursorsAhead(callOf('page'), '2', from)).toEqual(['2', '3', '4', '5'])
    expect(cursorsAhead(callOf('page'), '2', { ...from, left: 11 })).toEqual(['2', '3'])
    expect(cursorsAhead(callOf('offset'), '10', from)).toEqual(['10', '20', '30', '40'])
    expect(cursorsAhead(callOf('offset'), '7', { ...from, length: 7, longest: 7 })).toEqual(['7', '14', '21', '28'])
  })

  it('are as many as came already where nobody knows how long the list is, and one after a page that seems to be the last', () => {
    const count = (pages: number, length = 10): number =>
      cursorsAhead(callOf('page'), '2', { ...from, left: null, pages, length }).length
    expect([1, 2, 3, 4, 5, 100].map((pages) => count(pages))).toEqual([1, 2, 3, 4, 4, 4])
    expect(count(100, 9)).toBe(1)
  })

  it('are fewer where they are large, and none beyond the most that may be read', () => {
    expect(cursorsAhead(callOf('page'), '2', { ...from, bytes: 2_000_000 })).toEqual(['2', '3'])
    expect(cursorsAhead(callOf('page'), '2', { ...from, bytes: 4_000_001 })).toEqual([])
    expect(cursorsAhead(callOf('page', { maxPages: 3 }), '2', from)).toEqual(['2', '3'])
  })

  it.each(['cursor', 'link', 'none'] as const)('are those that an answer named where a list goes on by %s', (style) => {
    expect(cursorsAhead(callOf(style), '2', from)).toEqual([])
  })
})

/** A server that takes its time, and counts how many requests it has at once. */
function slow(server: Server): {
  readonly fetch: Parameters<typeof readPages>[1]['fetch']
  readonly most: () => number
} {
  let [now, most] = [0, 0]
  const fetch = async (address: PageAddress): ReturnType<Parameters<typeof readPages>[1]['fetch']> => {
    most = Math.max(most, ++now)
    await sleep(5)
    now -= 1
    const { body } = server(address.kind === 'query' ? { ...address.query } : {})
    return { status: 200, headers: {}, startedAt: new Date(0), bytes: 100, retries: 0, sanitized: 0, body }
  }
  return { fetch, most: () => most }
}

const source = {
  nameOf: JSON.stringify,
  linkBase: { origin: 'https://api.example', prefix: '', path: '/v3/users', secretParam: null },
}

async function idsOfSlow(server: Server, call: ListCall): Promise<{ ids: unknown[]; most: number }> {
  const { fetch, most } = slow(server)
  const ids: unknown[] = []
  for await (const page of readPages(call, { ...source, fetch })) ids.push(...idsOf([page]))
  return { ids, most: most() }
}

describe('a list asked for ahead', () => {
  it('has four pages under way where its length is known, one at a time where nothing is asked for ahead', async () => {
    const call = callOf('page')
    expect(await idsOfSlow(numbered(200), { ...call, ahead: { records: 200 } })).toEqual({ ids: allIds(200), most: 4 })
    expect(await idsOfSlow(numbered(200), call)).toEqual({ ids: allIds(200), most: 1 })
  })

  it('costs no request more where as many records come as are known', async () => {
    const { asked } = await read(numbered(95), { ...callOf('page'), ahead: { records: 95 } })
    expect(asked.map(({ page }) => page)).toEqual(Array.from({ length: 11 }, (_, index) => String(index + 1)))
    const counted = numbered(95, { wrap: (data) => ({ data, total: 95 }) })
    expect((await read(counted, { ...callOf('page'), ahead: { records: null } })).asked).toHaveLength(
      (await read(counted, callOf('page'))).asked.length,
    )
  })

  const servers = fc.record({
    total: fc.integer({ min: 0, max: 150 }),
    known: fc.option(fc.integer({ min: 0, max: 150 })),
    mostPerPage: fc.integer({ min: 1, max: 12 }),
    past: fc.constantFrom('empty', 'last'),
    style: fc.constantFrom('page', 'offset'),
  })

  it('yields the same pages as one that is not, however long it was thought to be, for three requests more at most', async () => {
    await fc.assert(
      fc.asyncProperty(servers, async ({ total, known, style, ...options }) => {
        const server = (style === 'page' ? numbered : byOffset)(total, options)
        const call = callOf(style)
        const plain = await read(server, call).catch((error: ApiError) => error)
        const ahead = await read(server, { ...call, ahead: { records: known } }).catch((error: ApiError) => error)
        if (plain instanceof Error || ahead instanceof Error) {
          expect(String(ahead)).toBe(String(plain))
          return
        }
        expect(idsOf(ahead.pages)).toEqual(idsOf(plain.pages))
        expect(ahead.pages.map(({ cursor, next }) => [cursor, next])).toEqual(
          plain.pages.map(({ cursor, next }) => [cursor, next]),
        )
        expect(ahead.asked.length - plain.asked.length).toBeLessThanOrEqual(3)
      }),
    )
  })

  it('whose pages shrink on the way is read completely by offset, and guessed wrong once', async () => {
    const shrinking: Server = ({ page, perPage }) => {
      const start = Number(page)
      return { body: records(Math.max(0, Math.min(start === 20 ? 3 : Number(perPage), 60 - start)), start) }
    }
    const { pages, asked } = await read(shrinking, { ...callOf('offset'), ahead: { records: 60 } })
    expect(idsOf(pages)).toEqual(allIds(60))
    expect(asked.map(({ page }) => Number(page))).toEqual([0, 10, 20, 30, 40, 50, 23, 33, 43, 53, 60])
  })

  it('leaves lists alone that only answers lead through', async () => {
    const server = byCursor(95, (data, next) => ({ body: { data, nextCursor: next } }))
    const { pages, asked } = await read(server, { ...callOf('cursor'), ahead: { records: 95 } })
    expect([idsOf(pages), asked.length]).toEqual([allIds(95), 10])
  })

  it('that ends before what was expected takes no refusal beyond its end for an error', async () => {
    const server: Server = (query) => (Number(query.page) > 3 ? { body: {}, status: 404 } : numbered(25)(query))
    const { pages } = await read(server, { ...callOf('page'), ahead: { records: 95 } })
    expect(idsOf(pages)).toEqual(allIds(25))
  })

  it('fails with the error of the page at which it fails, after all pages before it', async () => {
    const server: Server = (query) => (Number(query.page) === 3 ? { body: {}, status: 500 } : numbered(95)(query))
    const pages: string[] = []
    const { fetch } = slow((query) => numbered(95)(query))
    const failing: typeof fetch = async (address, how) => {
      if (address.kind === 'query')
        await read(server, { ...callOf('page', { from: String(address.query.page) }), maxPages: 1 })
      return await fetch(address, how)
    }
    const reading = (async () => {
      for await (const { cursor } of readPages(
        { ...callOf('page'), ahead: { records: 95 } },
        { ...source, fetch: failing },
      ))
        pages.push(cursor)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'API_SERVER_ERROR' })
    expect(pages).toEqual(['1', '2'])
  })

  it('that is left early leaves no request behind: what nobody wants is called off when it takes long', async () => {
    let calledOff = 0
    const hanging: Parameters<typeof readPages>[1]['fetch'] = async (address, { signal }) => {
      const { page = '' } = address.kind === 'query' ? address.query : {}
      if (Number(page) > 2)
        await new Promise((_, reject) =>
          signal?.addEventListener('abort', () => {
            calledOff += 1
            reject(new ApiError('ABORTED', 'called off', { endpoint: 'GET /v3/users' }))
          }),
        )
      const body = numbered(95)({ page, perPage: '10' }).body
      return { status: 200, headers: {}, startedAt: new Date(0), bytes: 100, retries: 0, sanitized: 0, body }
    }
    for await (const { cursor } of readPages(
      { ...callOf('page'), ahead: { records: 95 } },
      { ...source, fetch: hanging },
    ))
      if (cursor === '2') break
    expect(calledOff).toBe(4)
  })

  it('is called off as a whole with its call', async () => {
    const stopping = new AbortController()
    const signals: AbortSignal[] = []
    const pages = new PagesAhead(async (_cursor, signal) => void signals.push(signal), stopping.signal)
    pages.begin(['2', '3'])
    stopping.abort()
    await pages.end()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })
})
