// The search's requests: how many, how they are refused, what stops them, and where the secret goes.

import { describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { searchSettings } from '../../src/cli/check-search.ts'
import { readConfig } from '../../src/config.ts'
import type { Discovery } from '../../src/profile/search/discover.ts'
import { createAllowance } from '../../src/profile/search/inquiry.ts'
import { type HttpServer, json, type Respond, startServer } from '../api/http-server.ts'

const secret = 'Geheim-77'

type Searched = { readonly found: Discovery; readonly pauses: readonly number[] }

async function search(url: string, { tryQuery = false, token = secret } = {}): Promise<Searched> {
  const pauses: number[] = []
  const found = await searchSettings(readConfig({ API_BASE_URL: url, API_TOKEN: token }, '/nonexistent'), {
    ...{ given: new Set(), tryQuery, allowance: createAllowance(), signal: new AbortController().signal },
    pause: async (ms) => {
      pauses.push(ms)
    },
  })
  return { found, pauses }
}

const records = Array.from({ length: 9 }, (_, id) => ({ id }))

/** Searches an API of which every answer is given. */
async function searched(
  respond: Respond,
  options?: Parameters<typeof search>[1],
): Promise<Searched & Pick<HttpServer, 'seen'>> {
  await using server = await startServer(respond)
  return { ...(await search(server.url, options)), seen: [...server.seen] }
}

/** Refuses for ever, and asks for another name each time. */
const insatiable: Respond = (response, _, count) =>
  json(response, { message: `send it in the header 'Key-${count}'` }, 401)

describe('who is let in', () => {
  it('is tried four times, a second apart, and never in an address that nobody asked for', async () => {
    const { found, pauses, seen } = await searched(insatiable)
    expect(seen).toHaveLength(4)
    expect(pauses).toEqual([1_000, 1_000, 1_000])
    expect(seen.some(({ url }) => url.includes(secret))).toBe(false)
    expect(found).toMatchObject({ auth: null, settings: [], problem: { code: 'API_UNAUTHORIZED' } })
    expect(found.problem?.message).toContain('Tried: bearer, header:Key-1, header:Key-2, header:Key-3.')
    expect(JSON.stringify(found.problem) + found.problem?.message).not.toContain(secret)
  })

  it('is asked no more after 403, 423 or 429', async () => {
    for (const status of [403, 423, 429]) {
      const { found, seen } = await searched((response) => json(response, {}, status))
      expect({ requests: seen.length, status: (found.problem as { status?: number }).status }).toEqual({
        requests: 1,
        status,
      })
    }
  })

  it('is told to a name in the address only if that is asked for, or allowed', async () => {
    await using sandbox = await createSandbox({ size: 12, auth: 'query:key', token: secret })
    expect((await search(sandbox.url)).found.settings[0]).toMatchObject({ name: 'API_AUTH', value: 'query:key' })
    const silent: Respond = (response, { url }) =>
      new URL(url, 'http://x').searchParams.get('apikey') === secret ? json(response, records) : json(response, {}, 401)
    expect((await searched(silent)).found.auth).toBeNull()
    expect((await searched(silent, { tryQuery: true })).found.auth).toEqual({ kind: 'query', name: 'apikey' })
  })

  it('never goes over http to another machine, nor where a redirect or a next link leads', async () => {
    const { found } = await search('http://api.example')
    expect(found.problem?.message).toMatch(/http address/)
    await using elsewhere = await startServer((response) => json(response, records))
    await searched((response) => response.writeHead(302, { location: elsewhere.url }).end())
    await searched((response) => json(response, { data: records, next: `${elsewhere.url}/v3/rentals?page=2` }))
    expect(elsewhere.seen).toEqual([])
  })
})

describe('a search', () => {
  it('makes at most forty reads, whatever is answered', async () => {
    let id = 0
    const { seen } = await searched((response) =>
      json(response, { data: [1, 2, 3, 4, 5].map(() => ({ id: id++ })), next: `c${id}`, aCursor: 'x', bCursor: 'y' }),
    )
    expect(seen.length).toBeLessThanOrEqual(40)
    expect(seen.every(({ method }) => method === 'GET')).toBe(true)
  })

  it('finds records at a place of their own, and says what it cannot tell', async () => {
    const own = await searched((response) =>
      json(response, { answer: { boats: records, kinds: [] }, meta: { total: records.length } }),
    )
    expect(own.found.problem).toBeNull()
    expect(own.found.settings.map(({ name, value }) => `${name}=${value}`)).toEqual([
      'API_AUTH=bearer',
      'API_ITEMS_PATH=answer.boats',
      'API_PAGING=link',
    ])
    const cut = await searched((response) => json(response, records))
    expect(cut.found.problem).toMatchObject({ code: 'PAGING_IGNORED' })
    const empty = await searched((response) => json(response, []))
    expect(empty.found).toMatchObject({ problem: null, paging: null, note: expect.stringContaining('three records') })
  })

  it('finds the settings of an API that refuses the order in which lists are asked for', async () => {
    const { found, seen } = await searched((response, { url }) => {
      const query = new URL(url, 'http://x').searchParams
      if (query.has('order')) return json(response, { message: 'unknown parameter' }, 400)
      const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('perPage') ?? 5)]
      return json(response, records.slice((page - 1) * size, page * size))
    })
    expect(found).toMatchObject({ problem: null, paging: { style: 'page', pageParam: 'page', sizeParam: 'perPage' } })
    expect(seen.filter(({ url }) => url.includes('order='))).toHaveLength(1)
  })

  it('takes a body that says that the request failed for a refusal of its parameters', async () => {
    const { found } = await searched((response, { url }) => {
      const query = new URL(url, 'http://x').searchParams
      const unknown = [...query.keys()].find((name) => !/^(order|p|page_size)$/.test(name))
      if (unknown !== undefined) return json(response, { success: false, error: `unknown parameter ${unknown}` })
      const [page, size] = [Number(query.get('p') ?? 1), Number(query.get('page_size') ?? 5)]
      const next = page * size < records.length ? `/v3/rentals?p=${page + 1}&page_size=${size}` : null
      return json(response, { success: true, data: records.slice((page - 1) * size, page * size), next })
    })
    expect(found).toMatchObject({ problem: null, paging: { style: 'page', pageParam: 'p', sizeParam: 'page_size' } })
  })

  it('passes on no value of which a line of settings could be made', async () => {
    const evil = await searched((response) => json(response, { 'a\nADMIN_TOKEN=x': { b: records }, c: 1 }))
    expect(evil.found.settings.map(({ name }) => name)).toEqual(['API_AUTH'])
    expect(evil.found.problem).toMatchObject({ code: 'PAGING_ENVELOPE' })
  })
})
