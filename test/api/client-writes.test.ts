// Writes leave once, and say truly whether they may have taken effect.

import { describe, expect, it } from 'vitest'
import type { Priority } from '../../src/api/admission/priority-queue.ts'
import { freePermit, type Limiter } from '../../src/api/admission/rate-limit.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { closedPort, json, openApi, type Respond, startServer, unknownHost } from './http-server.ts'

const users = { endpoint: 'GET /v3/users' } as const
const create = { endpoint: 'POST /v3/users', body: { name: 'Zoë', amount: 1.5 } } as const

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
        test.api.send({ ...create, timeoutMs: name === 'nothing in time' ? 1_000 : 30_000 }),
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

  it('that waits for its turn does not leave any more once another was answered 429 with Retry-After', async () => {
    await using server = await startServer((response) => json(response, {}, 429, { 'retry-after': '30' }))
    await using test = openApi(server.url, { concurrency: 1 })
    const answers = await Promise.allSettled([create, create, create].map((call) => test.api.send(call)))
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.code)).toEqual([
      'API_RATE_LIMITED',
      'API_PAUSED',
      'API_PAUSED',
    ])
    expect(server.seen).toHaveLength(1)
  })

  it('that is answered 401 holds what follows, and reads, until the API takes the account again', async () => {
    let refusing = true
    await using server = await startServer((response) => json(response, {}, refusing ? 401 : 200))
    await using test = openApi(server.url)
    await expect(test.api.send(create)).rejects.toMatchObject({ code: 'API_UNAUTHORIZED', mayHaveTakenEffect: false })
    await expect(test.api.send(create)).rejects.toMatchObject({
      code: 'API_PAUSED',
      message: expect.stringContaining('refuses this account'),
    })
    refusing = false
    await test.api.read({ endpoint: 'GET /v3/users' })
    await test.api.send(create)
    expect(server.seen).toHaveLength(3)
    const events = test.lines.flatMap(({ event }) => (String(event).startsWith('account_') ? [event] : []))
    expect(events).toEqual(['account_refused', 'account_accepted'])
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

  it('is asked in the last moment whether it may leave still, and leaves the connection to others when it may not', async () => {
    const held: (() => void)[] = []
    await using server = await startServer((response, _, count) => {
      if (count > 1) return json(response, {})
      held.push(() => json(response, {}))
    })
    await using test = openApi(server.url, { concurrency: 1 })
    const first = test.api.send(create)
    await expect.poll(() => server.seen.length).toBe(1)
    let asked = 0
    const beforeLeaving = (): void => {
      asked++
      throw new BoatMirrorError('LEASE_LOST', 'It is too late.')
    }
    const second = test.api.send({ ...create, beforeLeaving })
    const third = test.api.send({ ...create, beforeLeaving: () => asked++ })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(asked).toBe(0)
    held[0]?.()
    await expect(second).rejects.toMatchObject({ code: 'LEASE_LOST', mayHaveTakenEffect: false })
    await expect(Promise.all([first, third])).resolves.toHaveLength(2)
    expect([asked, server.seen.length, server.connections()]).toEqual([2, 2, 1])
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

  it('does not wait behind details that wait for the rate limit, and a list does not either', async () => {
    await using server = await startServer((response) => json(response, {}))
    const waiting: Record<Priority, (() => void)[]> = { write: [], asked: [], read: [], detail: [] }
    const limiter: Limiter = {
      acquire: (priority) => new Promise((resolve) => waiting[priority].push(() => resolve(freePermit))),
    }
    await using test = openApi(server.url, { limiter, concurrency: 2 })
    const details = Array.from({ length: 5 }, () => test.api.read({ ...users, priority: 'detail' }))
    await expect.poll(() => waiting.detail.length).toBe(2)
    const listing = test.api.read(users)
    await expect.poll(() => waiting.read.length).toBe(1)
    waiting.read[0]?.()
    expect(await listing).toMatchObject({ status: 200 })
    const writing = test.api.send(create)
    await expect.poll(() => waiting.write.length).toBe(1)
    waiting.write[0]?.()
    expect(await writing).toMatchObject({ status: 200 })
    for (let i = 0; i < 5; i++) {
      await expect.poll(() => waiting.detail.length).toBeGreaterThan(i)
      waiting.detail[i]?.()
    }
    await Promise.all(details)
  })
})
