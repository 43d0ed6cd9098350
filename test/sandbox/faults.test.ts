// Fault rules on the wire: what a client sees, and what happened to the world.

import { describe, expect, it } from 'vitest'
import { FaultSet, parseFaultRule } from '../../sandbox/http/faults.ts'
import type { FaultRule } from '../../sandbox/index.ts'
import { openedForEach } from '../helpers/opened.ts'
import { type Fields, fields, first, list, openSandbox, send, truthOf, userBody } from './client.ts'

const sandbox = openedForEach(openSandbox)

const usersByEmail = (): unknown[] => truthOf(sandbox, 'users').filter(({ record }) => record.email === userBody.email)

type Outcome = { status: number; text: string } | 'broken'

/** How a request ends: its status and text, or `broken`. */
async function outcome(operation: string, body?: unknown, signal?: AbortSignal): Promise<Outcome> {
  const [method = '', path = ''] = operation.split(' ')
  try {
    const response = await fetch(`${sandbox.url}${path}`, {
      method,
      ...(signal && { signal }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  } catch {
    return 'broken'
  }
}

/** Sends a request, waits until it has arrived, and lets `then` end it. */
async function whileHanging(
  operation: string,
  body: unknown,
  then: (give: AbortController) => unknown,
): Promise<Outcome> {
  const before = sandbox.requests().length
  const controller = new AbortController()
  const ended = outcome(operation, body, controller.signal)
  while (sandbox.requests().length === before) await new Promise((resolve) => setImmediate(resolve))
  await then(controller)
  return ended
}

describe('a made-up answer', () => {
  it('has the status, body, headers and Retry-After of the rule, and nothing happens to the world', async () => {
    sandbox.fault({
      op: 'POST /v3/users',
      times: 1,
      respond: { status: 503, retryAfter: 7, body: { message: 'later' }, headers: { 'x-a': 'b' } },
    })
    const reply = await send(sandbox, 'POST /v3/users', userBody)
    expect([reply.status, reply.body, reply.headers.get('retry-after'), reply.headers.get('x-a')]).toEqual([
      503,
      { message: 'later' },
      '7',
      'b',
    ])
    expect(usersByEmail()).toEqual([])
    expect((await send(sandbox, 'POST /v3/users', userBody)).status).toBe(200)
  })

  it('only delays where it has no status', async () => {
    sandbox.fault({ op: '*', respond: { delayMs: 30 } })
    const started = performance.now()
    expect((await send(sandbox, 'GET /v3/types')).status).toBe(200)
    expect(performance.now() - started).toBeGreaterThanOrEqual(29)
  })
})

describe('a request that breaks', () => {
  const cases: { respond: FaultRule['respond']; seen: unknown; effect: number }[] = [
    { respond: 'reset', seen: 'broken', effect: 0 },
    { respond: 'forbidden', seen: expect.objectContaining({ status: 403 }), effect: 0 },
    { respond: 'garbage', seen: expect.objectContaining({ status: 200 }), effect: 0 },
    { respond: 'html', seen: { status: 200, text: expect.stringContaining('<html>') }, effect: 0 },
    { respond: 'cut', seen: 'broken', effect: 1 },
    { respond: 'truncate', seen: { status: 200, text: expect.stringMatching(/^\{"id":/) }, effect: 1 },
    { respond: 'dropAfterEffect', seen: 'broken', effect: 1 },
    { respond: 'errorAfterEffect', seen: expect.objectContaining({ status: 502 }), effect: 1 },
  ]
  for (const { respond, seen, effect } of cases) {
    it(`by ${respond} has ${effect ? 'its' : 'no'} effect`, async () => {
      sandbox.fault({ op: 'POST /v3/users', times: 1, respond })
      expect(await outcome('POST /v3/users', userBody)).toEqual(seen)
      expect(usersByEmail()).toHaveLength(effect)
      expect(sandbox.requests().at(-1)?.fault).toBe(respond)
    })
  }

  it('by truncate or garbage is not JSON', async () => {
    for (const respond of ['truncate', 'garbage'] as const) {
      sandbox.fault({ op: 'GET /v3/types', times: 1, respond })
      const seen = await outcome('GET /v3/types')
      expect(() => JSON.parse(seen === 'broken' ? '{}' : seen.text)).toThrow(SyntaxError)
    }
  })

  it('by hang or hangAfterEffect gets no answer, without or with effect', async () => {
    sandbox.fault({ op: 'POST /v3/users', times: 1, respond: 'hang' })
    sandbox.fault({ op: 'POST /v3/users', times: 1, respond: 'hangAfterEffect' })
    for (const effect of [0, 1]) {
      expect(await whileHanging('POST /v3/users', userBody, (controller) => controller.abort())).toBe('broken')
      expect(usersByEmail()).toHaveLength(effect)
      expect(sandbox.requests().at(-1)?.status).toBeNull()
    }
  })

  it('by hang does not hold up closing', async () => {
    sandbox.fault({ op: 'GET /v3/types', respond: 'hang' })
    expect(await whileHanging('GET /v3/types', undefined, () => sandbox.close())).toBe('broken')
  })
})

describe('a list that lies', () => {
  const ids = async (query: string): Promise<unknown[]> =>
    list(await send(sandbox, `GET /v3/users?${query}`)).map(({ id }) => id)

  it('shows nothing, half, or a page that moved', async () => {
    const all = await ids('perPage=100')
    const cases: [FaultRule['respond'], string, unknown[]][] = [
      ['empty', 'perPage=100', []],
      ['half', 'perPage=100', all.slice(0, Math.floor(all.length / 2))],
      ['shift', 'perPage=4&page=2', all.slice(5, 9)],
      ['unshift', 'perPage=4&page=2', all.slice(3, 7)],
      ['repeatPage', 'perPage=4&page=2', all.slice(0, 4)],
      ['ignorePage', 'perPage=4&page=3', all.slice(0, 4)],
    ]
    for (const [respond, query, expected] of cases) {
      sandbox.fault({ op: 'GET /v3/users', times: 1, respond })
      expect(await ids(query), String(respond)).toEqual(expected)
    }
    expect(await ids('perPage=100')).toEqual(all)
  })

  it('may be one below a record', async () => {
    const { key } = first(truthOf(sandbox, 'resource_pricings'))
    sandbox.fault({ op: 'GET /v3/resources/{resourceId}/pricings', respond: 'empty' })
    expect(list(await send(sandbox, `GET /v3/resources/${key.resource_id}/pricings`))).toEqual([])
  })
})

describe('which requests a rule disturbs', () => {
  const hits = (rule: Omit<FaultRule, 'respond'>, ops: readonly string[], values = {}): boolean[] => {
    const faults = new FaultSet(1)
    faults.add({ ...rule, respond: 'reset' })
    return ops.map((op) => faults.next(op, values) !== undefined)
  }
  const thrice = ['GET /v3/a', 'GET /v3/a', 'GET /v3/a', 'GET /v3/a']

  it('those after the first few, and only so many', () => {
    expect(hits({ op: 'GET /v3/a', after: 1, times: 2 }, thrice)).toEqual([false, true, true, false])
  })

  it('those whose operation fits, a star standing for anything', () => {
    const ops = ['GET /v3/users', 'GET /v3/users/{userId}', 'PUT /v3/users/{userId}']
    expect(hits({ op: 'GET /v3/users' }, ops)).toEqual([true, false, false])
    expect(hits({ op: 'GET /v3/users*' }, ops)).toEqual([true, true, false])
    expect(hits({ op: '* /v3/users/{userId}' }, ops)).toEqual([false, true, true])
  })

  it('those whose parameters have the values of the rule', () => {
    expect(hits({ op: '*', match: { userId: 7 } }, ['GET /x'], { userId: '7' })).toEqual([true])
    expect(hits({ op: '*', match: { userId: 7 } }, ['GET /x'], { userId: '8' })).toEqual([false])
  })

  it('a seeded share of them', () => {
    const many = Array.from({ length: 400 }, () => 'GET /x')
    const disturbed = hits({ op: '*', probability: 0.25 }, many)
    expect(disturbed).toEqual(hits({ op: '*', probability: 0.25 }, many))
    expect(disturbed.filter(Boolean).length).toBeGreaterThan(60)
    expect(disturbed.filter(Boolean).length).toBeLessThan(140)
  })

  for (const wrong of [
    null,
    {},
    { op: 'x', respond: 'explode' },
    { op: 'x', respond: 'cut', times: 'two' },
    { respond: 'cut' },
  ]) {
    it(`${JSON.stringify(wrong)} is no rule`, () => {
      expect(() => parseFaultRule(wrong)).toThrow(RangeError)
    })
  }

  it('are added, listed with their counts and cleared over HTTP', async () => {
    const rule = { op: 'GET /v3/types', times: 1, respond: { status: 500 } }
    expect((await send(sandbox, 'POST /_sandbox/faults', rule)).status).toBe(200)
    expect((await send(sandbox, 'GET /v3/types')).status).toBe(500)
    expect((await send(sandbox, 'GET /_sandbox/faults')).body).toEqual([{ ...rule, seen: 1, used: 1 }])
    expect((await send(sandbox, 'DELETE /_sandbox/faults')).status).toBe(204)
    expect((await send(sandbox, 'GET /_sandbox/faults')).body).toEqual([])
    const refused: Fields = fields(await send(sandbox, 'POST /_sandbox/faults', { op: 'x', respond: 'explode' }))
    expect(refused.message).toContain('respond must be')
  })
})
