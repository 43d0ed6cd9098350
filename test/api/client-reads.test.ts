// Reads as their callers see them: what they bring, when they are tried again, and what they fail with.

import { describe, expect, it } from 'vitest'
import { firstOf } from '../helpers/extent.ts'
import { closedPort, json, openApi, type Respond, startServer, unknownHost } from './http-server.ts'
import { callOf } from './page-servers.ts'

const users = { endpoint: 'GET /v3/users' } as const
const failsThen =
  (times: number, fail: Respond): Respond =>
  (response, seen, count) =>
    count <= times ? fail(response, seen, count) : json(response, { ok: true })

describe('a read', () => {
  it('brings body, headers, size and when it started', async () => {
    await using server = await startServer((response) =>
      response
        .writeHead(200, { 'X-Total-Count': '1', 'set-cookie': ['a=1', 'b=2'] })
        .end('[{"id":12345678901234567890,"n":"a\\u0000"}]'),
    )
    const startedAt = new Date('2026-05-01T12:00:00Z')
    await using test = openApi(server.url, { clock: { now: () => startedAt } })
    const answer = await test.api.read(users)
    expect(answer).toMatchObject({ status: 200, retries: 0, sanitized: 1, bytes: 43, startedAt })
    expect(answer.headers).toMatchObject({ 'x-total-count': '1', 'set-cookie': 'a=1, b=2' })
    expect(JSON.stringify(answer.body)).toContain('12345678901234567890')
  })

  for (const status of [400, 404, 416, 422, 403, 500])
    it(`that only tries something is ${status < 500 && status !== 403 ? 'no failure' : 'a failure'} when it is refused with ${status}`, async () => {
      await using server = await startServer((response) => json(response, {}, status))
      await using test = openApi(server.url)
      const stop = new AbortController()
      const refused = expect(
        test.api.list({ ...callOf('page'), mayBeRefused: true, signal: stop.signal }).next(),
      ).rejects.toThrow()
      await expect.poll(() => test.calls).not.toEqual([])
      stop.abort()
      await refused
      expect(test.calls[0]).toMatchObject({ status, error: status < 500 && status !== 403 ? null : { status } })
    })

  it('says that bytes which are not UTF-8 were replaced', async () => {
    await using server = await startServer((response) => response.end(Buffer.from('["M\u00fcller"]', 'latin1')))
    await using test = openApi(server.url)
    expect(await test.api.read(users)).toMatchObject({ body: ['M\ufffdller'], sanitized: 1 })
  })

  it('sends path, query and credentials', async () => {
    await using server = await startServer((response) => json(response, {}))
    await using test = openApi(`${server.url}/base`, { language: 'fr' })
    await test.api.read({
      endpoint: 'GET /v3/resources/{resourceId}',
      params: { resourceId: 'a/b:c' },
      query: { year: '2026' },
    })
    expect(server.seen[0]).toMatchObject({
      method: 'GET',
      url: '/base/v3/resources/a%2Fb%3Ac?year=2026',
      body: '',
      headers: {
        authorization: 'Bearer s3cret-token',
        'accept-language': 'fr',
        'user-agent': expect.stringMatching(/^boat-mirror\/\d+\.\d+\.\d+/),
      },
    })
  })

  for (const [name, respond] of [
    ['204', (response) => response.writeHead(204).end()],
    ['an empty 200', (response) => response.end()],
    ['white space', (response) => response.end(' \n')],
  ] as const satisfies readonly (readonly [string, Respond])[])
    it(`answered with ${name} has no body`, async () => {
      await using server = await startServer(respond)
      await using test = openApi(server.url)
      expect((await test.api.read(users)).body).toBeUndefined()
    })

  for (const [name, fail] of [
    ['503', (response) => json(response, {}, 503)],
    ['500', (response) => json(response, {}, 500)],
    ['408', (response) => json(response, {}, 408)],
    ['a page of HTML', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['cut off JSON', (response) => response.end('{"a":')],
    ['a broken connection', (response) => response.destroy()],
    [
      'a connection broken within the body',
      (response) => response.writeHead(200, { 'content-length': 100 }).write('{"a"', () => response.destroy()),
    ],
  ] as const satisfies readonly (readonly [string, Respond])[])
    it(`is tried again after ${name}`, async () => {
      await using server = await startServer(failsThen(2, fail))
      await using test = openApi(server.url)
      expect(await test.api.read(users)).toMatchObject({ body: { ok: true }, retries: 2 })
    })

  it('is given up after five attempts', async () => {
    await using server = await startServer((response) => json(response, {}, 502))
    await using test = openApi(server.url)
    await expect(test.api.read(users)).rejects.toMatchObject({ code: 'API_SERVER_ERROR', status: 502, kind: 'retry' })
    expect(server.seen).toHaveLength(5)
  })

  for (const [status, code, kind] of [
    [400, 'API_REJECTED', 'skip'],
    [401, 'API_UNAUTHORIZED', 'fatal'],
    [403, 'API_FORBIDDEN', 'skip'],
    [404, 'API_NOT_FOUND', 'skip'],
    [409, 'API_REJECTED', 'skip'],
    [410, 'API_NOT_FOUND', 'skip'],
    [422, 'API_REJECTED', 'skip'],
    [304, 'API_REDIRECT', 'skip'],
  ] as const)
    it(`answered ${status} fails at once with ${code}`, async () => {
      await using server = await startServer((response) => json(response, { message: 'no' }, status))
      await using test = openApi(server.url)
      await expect(test.api.read(users)).rejects.toMatchObject({ code, kind, status, endpoint: users.endpoint })
      expect(server.seen).toHaveLength(1)
    })

  it('answered 401 names what was sent, what the API asks for, and the variables to look at', async () => {
    await using server = await startServer((response) => {
      response.setHeader('www-authenticate', 'Basic realm="boats of Geheim-77"')
      json(response, {}, 401)
    })
    for (const [auth, sent] of [
      [{ kind: 'none' }, 'no credentials'],
      [{ kind: 'bearer' }, 'the header Authorization with Bearer'],
      [{ kind: 'header', name: 'X-Key' }, 'the header X-Key'],
      [{ kind: 'query', name: 'key' }, 'the query parameter key'],
    ] as const) {
      await using test = openApi(server.url, { auth, token: 'Geheim-77' })
      await expect(test.api.read(users)).rejects.toMatchObject({
        message: `The API answered 401. The request carried ${sent}; the API requires Basic realm="boats of [secret]".`,
        endpoint: 'GET /v3/users',
        remedy: expect.stringMatching(/API_TOKEN.*API_AUTH/),
      })
    }
  })

  it('answered 401 without a word says that, too', async () => {
    await using server = await startServer((response) => json(response, {}, 401))
    await using test = openApi(server.url)
    await expect(test.api.read(users)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The API answered 401\. The request carried .*; the API does not say what it requires\.$/,
      ),
    })
  })

  for (const [name, address] of [
    ['refused', async () => `http://127.0.0.1:${await closedPort()}`],
    ['to a host nobody knows', async () => unknownHost],
  ] as const)
    it(`${name} names API_BASE_URL`, async () => {
      await using test = openApi(await address())
      await expect(test.api.read(users)).rejects.toMatchObject({
        code: 'API_UNREACHABLE',
        remedy: expect.stringContaining('API_BASE_URL'),
      })
    })

  it('without TLS on the other side names API_BASE_URL', async () => {
    await using server = await startServer((response) => json(response, {}))
    await using test = openApi(server.url.replace('http:', 'https:'))
    await expect(test.api.read(users)).rejects.toMatchObject({
      code: 'API_UNREACHABLE',
      message: expect.stringContaining('the port does not speak https'),
      remedy: expect.stringContaining('API_BASE_URL'),
    })
  })

  it('pauses everything for as long as Retry-After says', async () => {
    await using server = await startServer(failsThen(1, (response) => json(response, {}, 429, { 'retry-after': '1' })))
    await using test = openApi(server.url)
    const first = test.api.read(users)
    await expect.poll(() => test.gate.state().pausedUntil).not.toBeNull()
    const second = test.api.read({ endpoint: 'GET /v3/companies' })
    expect((await first).retries).toBe(1)
    await second
    const started = test.calls.map((call) => call.startedAt.getTime())
    expect(Math.min(...started.slice(1)) - (started[0] ?? 0)).toBeGreaterThanOrEqual(990)
  })

  const resets = [
    ['RateLimit-Reset', () => ({ 'ratelimit-reset': '1' })],
    ['X-RateLimit-Reset', () => ({ 'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 1) })],
    ['RateLimit', () => ({ ratelimit: '"all";r=0;t=1' })],
  ] as const
  for (const [name, headers] of firstOf(resets))
    it(`waits, like everybody else, until the reset that ${name} alone names`, async () => {
      const windowMs = 1_000
      const allowed = 12
      let window = { from: Date.now(), taken: 0 }
      let refused = 0
      await using server = await startServer((response) => {
        if (Date.now() - window.from >= windowMs) window = { from: Date.now(), taken: 0 }
        window.taken++
        if (window.taken <= allowed) return json(response, {})
        refused++
        return json(response, {}, 429, headers())
      })
      await using test = openApi(server.url, { concurrency: 4 })
      await Promise.all(Array.from({ length: 30 }, () => test.api.read(users)))
      // In each window no more are refused than were under way together.
      expect(refused).toBeLessThanOrEqual(4 * 4)
    })

  for (const status of firstOf([423, 425]))
    it(`answered ${status} is tried again, and everybody waits meanwhile`, async () => {
      await using server = await startServer(failsThen(1, (response) => json(response, {}, status)))
      await using test = openApi(server.url)
      const first = test.api.read(users)
      await expect.poll(() => test.gate.state().pausedUntil).not.toBeNull()
      expect((await first).retries).toBe(1)
    })

  it('waits while the breaker is open, until called off', async () => {
    await using server = await startServer((response) => json(response, {}, 500))
    await using test = openApi(server.url)
    await Promise.allSettled(Array.from({ length: 4 }, () => test.api.read(users)))
    expect(test.gate.state().breaker).toBe('open')
    const stop = new AbortController()
    const waiting = test.api.read({ ...users, signal: stop.signal })
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED', kind: 'abort', endpoint: users.endpoint })
    expect(server.seen).toHaveLength(20)
  })
})
