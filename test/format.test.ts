// Numbers, durations and instants as pages and terminals say them.

import { describe, expect, it } from 'vitest'
import { about, bytes, count, counted, duration, elapsed, instant, relative } from '../src/format.ts'
import { oneLine } from '../src/text.ts'

const now = new Date('2030-05-01T12:00:00.900Z')

describe('pages and terminals say', () => {
  const cases: readonly (readonly [what: string, said: string | null, expected: string | null])[] = [
    ['a number', count(12_345.678), '12,345.7'],
    ['one record', counted(1, 'record'), '1 record'],
    ['no records', counted(0, 'record'), '0 records'],
    ['no time', duration(0), '0 s'],
    ['a part of a second', duration(0.44), '0.4 s'],
    ['seconds', duration(45.4), '45 s'],
    ['nearly a minute', duration(59.5), '1 min'],
    ['two units', duration(200), '3 min 20 s'],
    ['one unit, where the next is none', duration(3_630), '1 h'],
    ['one unit, where the next is far below', duration(86_460), '1 d'],
    ['days', duration(187_500), '2 d 4 h'],
    ['about so many seconds', about(44.6), '45 s'],
    ['nothing of less than nothing', about(-3), '0 s'],
    ['about so many minutes', about(200), '3 min'],
    ['about so many hours', about(9_000), '3 h'],
    ['about so many days', about(300_000), '3 d'],
    ['elapsed time, minutes and seconds', elapsed(125), '2:05'],
    ['elapsed time with hours', elapsed(3_765), '1:02:45'],
    ['what was never', relative(null, now), null],
    ['what was', relative(new Date(now.getTime() - 200_000), now), '3 min ago'],
    ['what will be', relative(new Date(now.getTime() + 20_000), now), 'in 20 s'],
    ['an instant', instant(now), '2030-05-01 12:00:00'],
    ['an instant that is not known', instant(null), null],
    ['no bytes', bytes(0), '0 B'],
    ['bytes', bytes(1_023), '1,023 B'],
    ['larger sizes', bytes(14_889_779), '14.2 MiB'],
    ['the largest size there is', bytes(2 ** 52), '4,096 TiB'],
    ['text as it is', oneLine('a b', 3), 'a b'],
    ['text cut', oneLine('abcdef', 4), 'abc…'],
    ['text without what moves a cursor', oneLine('a\u001b[2J\nb\u202ec', 20), 'a [2J b c'],
  ]
  for (const [what, said, expected] of cases) it(`${what}: ${expected}`, () => expect(said).toBe(expected))
})
