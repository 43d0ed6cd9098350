// What holds for every call: it can be cancelled, it is reported, and its connection is kept.

import { describe, expect, it } from 'vitest'
import type { PagingSettings } from '../../src/config.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { json, openApi, type Respond, startServer } from './http-server.ts'

const users = { endpoint: 'GET /v3/users' } as const
const create = { endpoint: 'POST /v3/users', body: { name: 'Zoë', amount: 1.5 } } as const

const failsThen =
  (times: number, fail: Respond): Respond =>
  (response, seen, count) =>
    count <= times ? fail(response, seen, count) : json(response, { ok: true })

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

  it('are used again before the answer that they brought is decoded', async () => {
    const order: string[] = []
    let queued = (): void => undefined
    const isQueued = new Promise<void>((resolve) => (queued = resolve))
    await using server = await startServer(async (response, _seen, count) => {
      if (count === 1) await isQueued
      json(response, { ok: true })
    })
    await using test = openApi(server.url, { concurrency: 1 })
    const reading = test.api.read(users).then(() => order.push('decoded'))
    await expect.poll(() => server.seen.length).toBe(1)
    const sending = test.api.send({ ...create, beforeLeaving: () => order.push('left') })
    setImmediate(queued)
    await Promise.all([reading, sending])
    expect(order).toEqual(['left', 'decoded'])
    expect(server.connections()).toBe(1)
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
