// The client as its callers see it: reads that are retried, writes that leave once, and what is told about both.

import type { AddressInfo } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Limiter, Priority } from '../../src/api/limiter.ts'
import type { PagingSettings } from '../../src/config.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { json, openApi, type Respond, startServer } from './http-server.ts'

const users = { endpoint: 'GET /v3/users' } as const
const create = { endpoint: 'POST /v3/users', body: { name: 'Zoë', amount: 1.5 } } as const
/** A label of 64 characters is no name: the resolver says so without asking anybody. */
const unknownHost = `http://${'x'.repeat(64)}.invalid`
/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
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
    [304, 'API_REDIRECT', 'fatal'],
  ] as const)
    it(`answered ${status} fails at once with ${code}`, async () => {
      await using server = await startServer((response) => json(response, { message: 'no' }, status))
      await using test = openApi(server.url)
      await expect(test.api.read(users)).rejects.toMatchObject({ code, kind, status, endpoint: users.endpoint })
      expect(server.seen).toHaveLength(1)
    })

  it('answered 401 names the variables to look at', async () => {
    await using server = await startServer((response) => json(response, {}, 401))
    await using test = openApi(server.url)
    await expect(test.api.read(users)).rejects.toMatchObject({
      message: 'GET /v3/users was answered 401.',
      remedy: expect.stringMatching(/API_TOKEN.*API_AUTH/),
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
      message: expect.stringContaining('no secure connection'),
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

describe('called off', () => {
  const never: Respond = () => undefined

  it('a read ends in the middle of the answer, and its connection with it', async () => {
    let closed = false
    await using server = await startServer((response) => {
      response.once('close', () => {
        closed = true
      })
      response.writeHead(200).write('[1,')
    })
    await using test = openApi(server.url)
    const stop = new AbortController()
    const reading = test.api.read({ ...users, signal: stop.signal })
    await expect.poll(() => server.seen.length).toBe(1)
    stop.abort()
    await expect(reading).rejects.toMatchObject({ code: 'ABORTED' })
    await expect.poll(() => closed).toBe(true)
    expect(server.seen).toHaveLength(1)
  })

  it('a call keeps the code of the reason, where that is one of ours', async () => {
    await using server = await startServer(never)
    await using test = openApi(server.url)
    const stop = new AbortController()
    const reading = test.api.read({ ...users, signal: stop.signal })
    await expect.poll(() => server.seen.length).toBe(1)
    stop.abort(new BoatMirrorError('LEASE_LOST', 'gone'))
    await expect(reading).rejects.toMatchObject({ code: 'LEASE_LOST', kind: 'abort' })
  })

  it('before it begins, a call reaches nobody', async () => {
    await using server = await startServer(never)
    await using test = openApi(server.url)
    const signal = AbortSignal.abort()
    await expect(test.api.read({ ...users, signal })).rejects.toMatchObject({ code: 'ABORTED' })
    await expect(test.api.send({ ...create, signal })).rejects.toMatchObject({
      code: 'ABORTED',
      mayHaveTakenEffect: false,
    })
    expect(server.seen).toHaveLength(0)
  })

  it('a list ends with the signal', async () => {
    await using server = await startServer((response, _seen, count) => json(response, [{ id: count }]))
    await using test = openApi(server.url)
    const stop = new AbortController()
    const paging: PagingSettings = {
      style: 'page',
      pageParam: 'page',
      sizeParam: 'perPage',
      pageSize: 1,
      pageBase: 1,
      itemsPath: null,
      nextPath: null,
      totalPath: null,
    }
    const reading = (async () => {
      for await (const page of test.api.list({ ...users, paging, pageBase: 1, signal: stop.signal }))
        if (page.index === 2) stop.abort()
    })()
    await expect(reading).rejects.toMatchObject({ code: 'ABORTED' })
    expect(server.seen).toHaveLength(3)
  })
})

describe('a write', () => {
  it('is sent once, with its body', async () => {
    await using server = await startServer((response) => json(response, { id: 7 }, 201))
    await using test = openApi(server.url)
    expect(await test.api.send(create)).toMatchObject({ status: 201, body: { id: 7 }, retries: 0 })
    expect(server.seen).toMatchObject([
      {
        method: 'POST',
        url: '/v3/users',
        body: '{"name":"Zoë","amount":1.5}',
        headers: { 'content-type': 'application/json' },
      },
    ])
  })

  it('without a body sends none', async () => {
    await using server = await startServer((response) => response.writeHead(204).end())
    await using test = openApi(server.url)
    const answer = await test.api.send({ endpoint: 'DELETE /v3/rentals/{rentalId}', params: { rentalId: '7' } })
    expect([answer.status, answer.body]).toEqual([204, undefined])
    expect(server.seen[0]?.headers).not.toHaveProperty('content-type')
  })

  for (const [name, respond, code, mayHaveTakenEffect] of [
    ['400', (response) => json(response, {}, 400), 'API_REJECTED', false],
    ['401', (response) => json(response, {}, 401), 'API_UNAUTHORIZED', false],
    ['404', (response) => json(response, {}, 404), 'API_NOT_FOUND', false],
    ['409', (response) => json(response, {}, 409), 'API_REJECTED', false],
    ['429', (response) => json(response, {}, 429), 'API_RATE_LIMITED', false],
    ['408', (response) => json(response, {}, 408), 'API_SERVER_ERROR', true],
    ['500', (response) => json(response, {}, 500), 'API_SERVER_ERROR', true],
    ['503', (response) => json(response, {}, 503), 'API_SERVER_ERROR', true],
    ['a redirect', (response) => json(response, {}, 307, { location: '/v3/elsewhere' }), 'API_REDIRECT', true],
    ['200 and garbage', (response) => response.end('<html>'), 'API_NOT_JSON', true],
    ['nothing, the connection dropped', (response) => response.destroy(), 'API_UNREACHABLE', true],
    ['nothing in time', () => undefined, 'API_TIMEOUT', true],
  ] as const satisfies readonly (readonly [string, Respond, string, boolean])[])
    it(`answered with ${name} is never repeated, and ${mayHaveTakenEffect ? 'may have' : 'has not'} taken effect`, async () => {
      await using server = await startServer(respond)
      await using test = openApi(server.url)
      await expect(
        test.api.send({ ...create, timeoutMs: name === 'nothing in time' ? 200 : 5_000 }),
      ).rejects.toMatchObject({
        code,
        mayHaveTakenEffect,
        endpoint: create.endpoint,
      })
      expect(server.seen).toHaveLength(1)
    })

  for (const [name, address] of [
    ['a port nobody listens on', async () => `http://127.0.0.1:${await closedPort()}`],
    ['a host nobody knows', async () => unknownHost],
  ] as const)
    it(`to ${name} certainly never left`, async () => {
      await using test = openApi(await address())
      await expect(test.api.send(create)).rejects.toMatchObject({ code: 'API_UNREACHABLE', mayHaveTakenEffect: false })
    })

  it('to a server that does not speak TLS certainly never left', async () => {
    await using server = await startServer((response) => json(response, {}))
    await using test = openApi(server.url.replace('http:', 'https:'))
    await expect(test.api.send(create)).rejects.toMatchObject({ code: 'API_UNREACHABLE', mayHaveTakenEffect: false })
    expect(server.seen).toHaveLength(0)
  })

  it('called off while the answer is awaited may have taken effect', async () => {
    await using server = await startServer(() => undefined)
    await using test = openApi(server.url)
    const stop = new AbortController()
    const sending = test.api.send({ ...create, signal: stop.signal })
    await expect.poll(() => server.seen.length).toBe(1)
    stop.abort()
    await expect(sending).rejects.toMatchObject({ code: 'ABORTED', mayHaveTakenEffect: true })
  })

  it('fails at once while the API is paused, says for how long, and reaches nobody', async () => {
    await using server = await startServer((response) => json(response, {}))
    await using test = openApi(server.url)
    test.gate.pause(60_000)
    const error = await test.api.send(create).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'API_PAUSED',
      kind: 'retry',
      mayHaveTakenEffect: false,
      endpoint: create.endpoint,
    })
    expect((error as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(50_000)
    expect(server.seen).toHaveLength(0)
  })

  it('does not wait behind reads that wait for the rate limit', async () => {
    await using server = await startServer((response) => json(response, {}))
    const waiting: Record<Priority, (() => void)[]> = { read: [], write: [] }
    const limiter: Limiter = {
      acquire: (priority) => new Promise((resolve) => waiting[priority].push(resolve)),
    }
    await using test = openApi(server.url, { limiter, concurrency: 2 })
    const reads = Array.from({ length: 5 }, () => test.api.read(users))
    await expect.poll(() => waiting.read.length).toBe(2)
    const writing = test.api.send(create)
    await expect.poll(() => waiting.write.length).toBe(1)
    waiting.write[0]?.()
    expect(await writing).toMatchObject({ status: 200 })
    for (let i = 0; i < 5; i++) {
      await expect.poll(() => waiting.read.length).toBeGreaterThan(i)
      waiting.read[i]?.()
    }
    await Promise.all(reads)
  })
})

describe('what is told', () => {
  it('is one record per attempt', async () => {
    await using server = await startServer(failsThen(1, (response) => json(response, { message: 'busy' }, 503)))
    await using test = openApi(server.url)
    await test.api.read({ ...users, priority: 'write' })
    expect(test.calls).toMatchObject([
      {
        endpoint: 'GET /v3/users',
        priority: 'write',
        status: 503,
        attempt: 1,
        bytes: 0,
        error: { code: 'API_SERVER_ERROR' },
      },
      { endpoint: 'GET /v3/users', priority: 'write', status: 200, attempt: 2, bytes: 11, error: null },
    ])
    expect(test.calls.every((call) => Number.isInteger(call.ms) && call.startedAt instanceof Date)).toBe(true)
  })

  it('to the log is endpoint, status and time, nothing of what was sent or answered', async () => {
    await using server = await startServer((response, seen) =>
      json(response, { message: `No Jane Doe for ${seen.headers.authorization}` }, 400),
    )
    await using test = openApi(server.url)
    const call = { endpoint: 'GET /v3/users/{userId}', params: { userId: 'jane@doe.example' }, query: { name: 'Jane' } }
    const error = await test.api.read(call).catch((reason: unknown) => reason)
    test.log.error({ err: error }, 'failed')
    const text = JSON.stringify(test.lines)
    expect(text).toContain('GET /v3/users/{userId}')
    for (const secret of ['Jane', 'jane', 's3cret-token']) expect(text).not.toContain(secret)
    expect(error).toMatchObject({
      reason: 'No Jane Doe for Bearer [secret]',
      body: expect.not.stringContaining('s3cret'),
    })
  })
})

describe('connections', () => {
  it('are kept and never more than API_CONCURRENCY', async () => {
    let inside = 0
    let most = 0
    await using server = await startServer(async (response) => {
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
      json(response, {})
    })
    await using test = openApi(server.url, { concurrency: 3 })
    await Promise.all(Array.from({ length: 60 }, () => test.api.read(users)))
    expect(most).toBeLessThanOrEqual(3)
    expect(server.connections()).toBeLessThanOrEqual(3)
  })

  it('of a hundred calls on one signal are no leak to Node', async () => {
    const warnings: string[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning.name)
    process.on('warning', onWarning)
    await using server = await startServer((response) => json(response, {}))
    await using test = openApi(server.url)
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 100 }, () => test.api.read({ ...users, signal })))
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })

  it('are closed twice without harm', async () => {
    await using server = await startServer((response) => json(response, {}))
    const { api } = openApi(server.url)
    await api.read(users)
    await api.close()
    await api.close()
  })
})
