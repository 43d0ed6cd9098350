// Credentials, rate limit, and addresses that are no operation.

import { describe, expect, it } from 'vitest'
import { createRateLimit } from '../../sandbox/http/admission.ts'
import { createSandbox, type SandboxOptions } from '../../sandbox/index.ts'
import { fields, first, openSandbox, send } from './client.ts'

describe('credentials', () => {
  const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`
  const cases: { auth: string; token: string; headers?: Record<string, string>; query?: string }[] = [
    { auth: 'none', token: '' },
    { auth: 'bearer', token: 'secret', headers: { authorization: 'Bearer secret' } },
    { auth: 'basic', token: 'me:secret', headers: { authorization: basic } },
    { auth: 'header:X-Api-Key', token: 'secret', headers: { 'x-api-key': 'secret' } },
    { auth: 'query:key', token: 'secret', query: '?key=secret' },
  ]
  for (const { auth, token, headers = {}, query = '' } of cases) {
    it(`by ${auth} let the right ones in and answer 401 to others, but not to the control interface`, async () => {
      await using sandbox = await openSandbox({ auth, token })
      expect((await send(sandbox, `GET /v3/types${query}`, undefined, headers)).status).toBe(200)
      const refused = auth === 'none' ? 200 : 401
      expect((await send(sandbox, 'GET /v3/types')).status).toBe(refused)
      expect(
        (await send(sandbox, 'GET /v3/types?key=no', undefined, { authorization: 'Bearer no', 'x-api-key': 'no' }))
          .status,
      ).toBe(refused)
      expect((await send(sandbox, 'GET /_sandbox/stats')).status).toBe(200)
    })
  }

  const wrong: Partial<SandboxOptions>[] = [
    { auth: 'bearer' },
    { auth: 'magic', token: 'x' },
    { auth: 'header:', token: 'x' },
  ]
  for (const options of wrong) {
    it(`${JSON.stringify(options)} is refused at the start`, async () => {
      await expect(createSandbox({ size: 5, ...options })).rejects.toThrow(RangeError)
    })
  }
})

describe('the rate limit', () => {
  it('lets so many through in a second and names when to come back, in seconds or as a date', () => {
    let now = 5_000
    const seconds = createRateLimit(2, 'seconds', () => now)
    const date = createRateLimit(1, 'date', () => now)
    expect([seconds.take(), seconds.take(), seconds.take()]).toEqual([null, null, '1'])
    expect([date.take(), date.take()]).toEqual([null, 'Thu, 01 Jan 1970 00:00:06 GMT'])
    now = 6_000
    expect([seconds.take(), date.take()]).toEqual([null, null])
    const none = createRateLimit(0, 'seconds', () => now)
    expect(Array.from({ length: 100 }, () => none.take()).every((answer) => answer === null)).toBe(true)
  })

  it('answers 429 with Retry-After', async () => {
    await using sandbox = await openSandbox({ rateLimit: 1 })
    const replies = await Promise.all(Array.from({ length: 20 }, () => send(sandbox, 'GET /v3/types')))
    const refused = first(replies, ({ status }) => status === 429)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(fields(refused).code).toBe('TOO_MANY_REQUESTS')
  })
})

describe('an address that is no operation', () => {
  it('is answered with 404 and a readable body', async () => {
    await using sandbox = await openSandbox()
    for (const operation of ['GET /v3/boats', 'PATCH /v3/users', 'GET /']) {
      const reply = await send(sandbox, operation)
      expect([reply.status, fields(reply).code]).toEqual([404, 'NO_SUCH_OPERATION'])
    }
    expect(sandbox.requests()[1]).toMatchObject({ method: 'PATCH', path: '/v3/users', template: null, status: 404 })
  })
})
