// The first two pages show whether pages count from 0 or from 1.

import { describe, expect, it } from 'vitest'
import type { Answer, ReadCall } from '../../src/api/types.ts'
import type { Json } from '../../src/api/wire/json.ts'
import { ApiError, type ErrorCode } from '../../src/errors.ts'
import { decidePageBase, type ProbedPage, probePageBase } from '../../src/profile/page-base.ts'

const a: Json[] = [{ id: 1 }, { id: 2 }]
const b: Json[] = [{ id: 3 }]

for (const [name, zero, one, expected] of [
  ['both the same: 0 was taken for 1', a, a, 1],
  ['both the same records, one changed meanwhile', a, [{ id: 1, seen: 2 }, { id: 2 }], 1],
  ['both the same records, one added meanwhile', [{ id: 1 }, { id: 2 }, { id: 3 }], [{ id: 9 }, ...a], 1],
  [
    'offsets, of which 1 skips the first record',
    [{ id: 1 }, { id: 2 }, { id: 3 }],
    [{ id: 2 }, { id: 3 }, { id: 4 }],
    0,
  ],
  ['pages that share the record that moved to the second', [...a, ...b], b, 0],
  ['page 0 refused', 'refused', a, 1],
  ['page 0 refused, page 1 empty', 'refused', [], 1],
  ['page 0 empty', [], a, 1],
  ['two different pages', a, b, 0],
  ['page 0 alone', a, [], 0],
  ['page 0 alone, page 1 refused', a, 'refused', 0],
  ['nothing at all', [], [], null],
  ['both refused', 'refused', 'refused', null],
  ['one empty, one refused', [], 'refused', null],
] as const satisfies readonly (readonly [string, ProbedPage, ProbedPage, 0 | 1 | null])[])
  it(`${name}: ${expected}`, () => expect(decidePageBase(zero, one)).toBe(expected))

describe('the probe', () => {
  const paging = {
    style: 'offset',
    pageParam: 'start',
    sizeParam: 'limit',
    pageSize: 2,
    pageBase: null,
    itemsPath: null,
    nextPath: null,
    totalPath: null,
  } as const
  const probe = async (pages: readonly (Json | ErrorCode)[]) => {
    const asked: unknown[] = []
    const read = async (call: ReadCall): Promise<Answer> => {
      asked.push(call.query)
      const body = pages[Number(call.query?.start)]
      if (typeof body === 'string') throw new ApiError(body as ErrorCode, 'no', { endpoint: call.endpoint })
      return { status: 200, body, headers: {}, startedAt: new Date(0), bytes: 0, retries: 0, sanitized: 0 }
    }
    const base = await probePageBase({ read }, { endpoint: 'GET /v3/users', query: { order: 'x' }, paging })
    return { base, asked }
  }

  it('reads both pages as the list would be read', async () => {
    expect(await probe([{ data: a }, { data: b }])).toEqual({
      base: 0,
      asked: [
        { order: 'x', limit: '2', start: '0' },
        { order: 'x', limit: '2', start: '1' },
      ],
    })
  })

  it('asks for both pages at once', async () => {
    let asked = 0
    let bothAsked = (): void => undefined
    const both = new Promise<void>((resolve) => (bothAsked = resolve))
    const read = async (): Promise<Answer> => {
      if (++asked === 2) bothAsked()
      await both
      return { status: 200, body: { data: a }, headers: {}, startedAt: new Date(0), bytes: 0, retries: 0, sanitized: 0 }
    }
    expect(await probePageBase({ read }, { endpoint: 'GET /v3/users', paging })).toBe(1)
  })

  it('takes a failing page 0 for refused while page 1 answers', async () => {
    expect((await probe(['API_SERVER_ERROR', a])).base).toBe(1)
    expect((await probe(['API_REJECTED', a])).base).toBe(1)
    expect((await probe([a, 'API_NOT_FOUND'])).base).toBe(0)
  })

  for (const pages of [
    ['API_UNAUTHORIZED', a],
    [a, 'API_SERVER_ERROR'],
    [{ message: 'x' }, a],
  ] satisfies (Json | ErrorCode)[][])
    it(`does not decide on ${JSON.stringify(pages[0])} and ${JSON.stringify(pages[1])}`, async () => {
      await expect(probe(pages)).rejects.toThrow(expect.objectContaining({ code: expect.any(String) }))
    })
})
