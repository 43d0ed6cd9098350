// When a read is tried again, and after how long.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { askedWaitMs, concernsAccount, parseRetryAfter, retryDelayMs, withRetries } from '../../src/api/retry.ts'
import { ApiError, type ErrorCode } from '../../src/errors.ts'

const now = new Date('2026-05-01T12:00:00Z')
const failure = (code: ErrorCode, details: { retryAfterMs?: number } = {}): ApiError =>
  new ApiError(code, 'x', { endpoint: 'GET /v3/users', ...details })

describe('Retry-After', () => {
  for (const [header, date, expected] of [
    ['0', undefined, 0],
    ['120', undefined, 120_000],
    [' 1.5 ', undefined, 1_500],
    ['1.25', undefined, 1_250],
    ['999999999999999999999999', undefined, 3_600_000],
    ['Fri, 01 May 2026 12:00:30 GMT', undefined, 30_000],
    ['Friday, 01-May-26 12:00:30 GMT', undefined, 30_000],
    ['Fri May  1 12:00:30 2026', undefined, 30_000],
    ['Fri, 01 May 2026 12:00:30 GMT', 'Fri, 01 May 2026 12:00:20 GMT', 10_000],
    ['Fri, 01 May 2026 12:00:30 GMT', ' Fri, 01 May 2026 12:00:20 GMT ', 10_000],
    ['Fri, 01 May 2026 12:00:30 GMT', 'garbage', 30_000],
    ['about Fri, 01 May 2026 12:00:30 GMT', undefined, undefined],
    ['Fri, 01 May 2026 12:00:30 GMT (or so)', undefined, undefined],
    ['Fri, 01 May 2026 11:00:00 GMT', undefined, 0],
    ['Fri, 01 May 2099 11:00:00 GMT', undefined, 3_600_000],
    ['-5', undefined, undefined],
    ['1e3', undefined, undefined],
    ['soon', undefined, undefined],
    ['2026-05-01T12:00:30Z', undefined, undefined],
    ['Mon, 99 Foo 2026 12:00:30 GMT', undefined, undefined],
    ['', undefined, undefined],
    [undefined, undefined, undefined],
  ] as const)
    it(`${JSON.stringify(header)} (Date: ${date}) is ${expected} ms`, () => {
      expect(parseRetryAfter(header, date, now)).toBe(expected)
    })
})

describe('the wait that a refusal asks for', () => {
  const epoch = now.getTime() / 1000
  const ask = (headers: Record<string, string>, status = 429): number | undefined =>
    askedWaitMs({ status, headers, now })
  for (const [headers, expected] of [
    [{ 'retry-after': '2', 'ratelimit-reset': '60' }, 2_000],
    [{ 'retry-after': 'soon', 'ratelimit-reset': '60' }, 60_000],
    [{ 'ratelimit-reset': '7' }, 7_000],
    [{ 'ratelimit-reset': '0' }, 1_000],
    [{ 'ratelimit-reset': '7, 30' }, 30_000],
    [{ 'ratelimit-reset': '99999999' }, 3_600_000],
    [{ 'ratelimit-reset': 'soon' }, undefined],
    [{ 'x-ratelimit-reset': String(epoch + 20) }, 20_000],
    [{ 'x-ratelimit-reset': String((epoch + 20) * 1000) }, 20_000],
    [{ 'x-ratelimit-reset': String(epoch + 20), date: 'Fri, 01 May 2026 12:00:15 GMT' }, 5_000],
    [{ 'x-ratelimit-reset': String(epoch - 20) }, 1_000],
    [{ 'x-rate-limit-reset': String(epoch + 20) }, 20_000],
    [{ ratelimit: '"burst";r=0;t=30' }, 30_000],
    [{ ratelimit: '"burst";r=0;t=30, "day";r=900;t=4000' }, 30_000],
    [{ ratelimit: 'limit=100, remaining=0, reset=50' }, 50_000],
    [{ ratelimit: 'nothing of the kind' }, undefined],
    [{}, undefined],
  ] as const)
    it(`${JSON.stringify(headers)} is ${expected} ms`, () => {
      expect(ask(headers)).toBe(expected)
    })

  it('is read from the reset of a limit only where the limit is spent', () => {
    expect(ask({ 'x-ratelimit-reset': '30' }, 404)).toBeUndefined()
    expect(ask({ 'x-ratelimit-reset': '30', 'x-ratelimit-remaining': '7' }, 403)).toBeUndefined()
    expect(ask({ 'x-ratelimit-reset': '30', 'x-ratelimit-remaining': '0' }, 403)).toBe(30_000)
  })

  it('is a time within an hour or none, whatever the headers hold', () => {
    const text = fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom('r=0;t=1', 'reset=5', '1e9', '-1', '٣'))
    const names = ['retry-after', 'ratelimit-reset', 'x-ratelimit-reset', 'ratelimit', 'date'] as const
    const headers = fc.record(Object.fromEntries(names.map((name) => [name, text])), { requiredKeys: [] })
    fc.assert(
      fc.property(headers, (given) => {
        const ms = ask(given as Record<string, string>)
        expect(ms === undefined || (Number.isInteger(ms) && ms >= 0 && ms <= 3_600_000)).toBe(true)
      }),
    )
  })
})

describe('what concerns the account', () => {
  const refusal = (status: number, retryAfterMs?: number): ApiError =>
    new ApiError('API_REJECTED', 'x', {
      endpoint: 'PUT /v3/users/{userId}',
      status,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    })

  it('is 401, 423, 425 and 429, and any other refusal that names a time', () => {
    for (const status of [401, 423, 425, 429]) expect(concernsAccount(refusal(status))).toBe(true)
    for (const status of [400, 403, 404, 409, 422]) {
      expect(concernsAccount(refusal(status))).toBe(false)
      expect(concernsAccount(refusal(status, 0))).toBe(true)
    }
    expect(concernsAccount(refusal(500, 1_000))).toBe(false)
  })
})

describe('delays', () => {
  it('double up to 30 s, with full jitter', () => {
    expect([1, 2, 3, 4, 9].map((attempt) => retryDelayMs(failure('API_SERVER_ERROR'), attempt, 1))).toEqual([
      1_000, 2_000, 4_000, 8_000, 30_000,
    ])
    expect(retryDelayMs(failure('API_SERVER_ERROR'), 4, 0)).toBe(0)
  })

  it('are at least a second after a 429 that names no time, and none where the gate waits', () => {
    expect([0, 0.5].map((random) => retryDelayMs(failure('API_RATE_LIMITED'), 1, random))).toEqual([1_000, 1_500])
    expect(retryDelayMs(failure('API_RATE_LIMITED', { retryAfterMs: 5_000 }), 1, 1)).toBe(0)
  })
})

describe('attempts', () => {
  const attempts = async (error: unknown): Promise<{ times: number; thrown: unknown }> => {
    let times = 0
    const run = async (): Promise<never> => {
      times++
      throw error
    }
    const thrown = await withRetries(run, { random: () => 0 }).catch((reason: unknown) => reason)
    return { times, thrown }
  }

  it('are five for an error of kind retry, which is thrown at last', async () => {
    const error = failure('API_SERVER_ERROR')
    expect(await attempts(error)).toEqual({ times: 5, thrown: error })
  })

  for (const code of [
    'API_UNAUTHORIZED',
    'API_NOT_FOUND',
    'API_REJECTED',
    'API_REDIRECT',
    'API_TOO_LARGE',
    'API_PAUSED',
    'ABORTED',
  ] as const)
    it(`is one for ${code}`, async () => {
      expect((await attempts(failure(code))).times).toBe(1)
    })

  it('is one for a fault of our own', async () => {
    expect((await attempts(new Error('slip'))).times).toBe(1)
  })

  it('ends while waiting for the next one when called off', async () => {
    const stop = new AbortController()
    const run = withRetries(
      async () => {
        queueMicrotask(() => stop.abort(new Error('enough')))
        throw failure('API_SERVER_ERROR')
      },
      { signal: stop.signal, random: () => 1 },
    )
    await expect(run).rejects.toThrow('enough')
  })
})
