// What headers say about a quota.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limitsIn, quotaLines, settingsFor } from '../../src/api/admission/quota.ts'

const lines = (headers: Readonly<Record<string, string>>): readonly string[] => quotaLines(limitsIn(headers))

describe('the lines to set', () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, readonly string[]])[] = [
    [
      'of the newest draft',
      { 'ratelimit-policy': '"burst";q=100;w=10, "day";q=200000;w=86400' },
      ['API_RATE_LIMIT=10', 'API_QUOTA=200000/day'],
    ],
    [
      'with a partition and commas in a name',
      { 'ratelimit-policy': '"a,b;c";q=5000;w=3600;pk=:c2Vj:' },
      ['API_QUOTA=5000/hour'],
    ],
    [
      'of an older draft',
      { 'ratelimit-policy': '5000;w=3600, 500000;w=2592000;comment="fixed window"' },
      ['API_QUOTA=5000/hour,500000/month'],
    ],
    [
      'of RateLimit-Limit',
      { 'ratelimit-limit': '100, 100;w=60, 1000;w=3600' },
      ['API_RATE_LIMIT=1', 'API_QUOTA=1000/hour'],
    ],
    ['of X-RateLimit-Limit with a window', { 'x-ratelimit-limit': '120000;window=86400' }, ['API_QUOTA=120000/day']],
    [
      'by window',
      { 'x-ratelimit-limit-hour': '5000', 'x-ratelimit-limit-day': '120000' },
      ['API_QUOTA=5000/hour,120000/day'],
    ],
    ['of a week', { 'ratelimit-policy': '"week";q=700000;w=604800' }, ['API_QUOTA=100000/day']],
    ['of bytes: none', { 'ratelimit-policy': '"bytes";q=1000;w=3600;qu="content-bytes"' }, []],
    ['without a window: none', { 'x-ratelimit-limit': '5000' }, []],
    ['of nothing: none', {}, []],
  ]
  for (const [name, headers, expected] of cases) it(name, () => expect(lines(headers)).toEqual(expected))

  it('keep to every limit that was told, whatever its window', () => {
    const limit = fc.record({
      requests: fc.integer({ min: 1, max: 10_000_000 }),
      seconds: fc.integer({ min: 1, max: 31 * 86_400 }),
    })
    fc.assert(
      fc.property(fc.array(limit, { minLength: 1, maxLength: 5 }), (limits) => {
        const header = limits.map(({ requests, seconds }, i) => `"p${i}";q=${requests};w=${seconds}`).join(', ')
        expect(limitsIn({ 'ratelimit-policy': header })).toEqual(limits)
        const { rate, quota } = settingsFor(limits)
        for (const { requests, seconds } of limits) {
          // The most that could leave within the window by each of the settings.
          const by = [
            rate === null || seconds >= 3_600 ? Infinity : rate * seconds,
            quota.hour === null ? Infinity : quota.hour * Math.ceil(seconds / 3_600),
            quota.day === null ? Infinity : quota.day * Math.ceil(seconds / 86_400),
            quota.month ?? Infinity,
          ]
          expect(Math.min(...by)).toBeLessThanOrEqual(requests)
        }
      }),
    )
  })

  it('of any text: no error', () => {
    fc.assert(
      fc.property(fc.string(), (text) => Array.isArray(lines({ 'ratelimit-policy': text, 'x-ratelimit-limit': text }))),
    )
  })
})
