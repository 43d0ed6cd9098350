// From JSON to Postgres: no digit lost, what Postgres cannot take refused with what was expected, and nothing else.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keysOf } from '../../src/api/paging/page-memory.ts'
import { convertValue } from '../../src/api/wire/convert.ts'
import { readPage } from '../../src/api/wire/elements.ts'
import { type Json, parseJson } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { ColumnType } from '../../src/catalog/types.ts'
import { contentKeys, keyOf } from '../../src/sync/records/project.ts'

const convert = (type: ColumnType, text: string) => convertValue(type, parseJson(text).value, 'Europe/Paris')
const taken = (type: ColumnType, value: Json): string | null | undefined => {
  const converted = convertValue(type, value, 'Europe/Paris')
  return converted.ok ? converted.text : undefined
}

const expected: Readonly<Partial<Record<ColumnType, string>>> = {
  bigint: 'a whole number of at most 64 bits',
  numeric: 'a decimal number',
  boolean: 'true or false',
  text: 'text',
  date: 'a date as YYYY-MM-DD',
  timestamptz: 'a date-time such as 2026-07-14T09:00:00+02:00',
  timestamp: 'a date-time such as 2026-07-14T09:00:00+02:00',
}

describe('refused, with what was expected, is', () => {
  const cases: Readonly<Partial<Record<ColumnType, readonly string[]>>> = {
    bigint: [
      '9223372036854775808',
      '-9223372036854775809',
      '"1 2"',
      '"x1"',
      '"1x"',
      '"1.0.5"',
      '"1.05"',
      '""',
      'true',
      '{}',
    ],
    numeric: ['"1x"', '"x1"', '"1.2.3"', '"."', '"+"', '"1e"', '"1e+x"', '"1e12345"', '""', 'false', '[1]'],
    boolean: ['"yes"', '0', '1', '""', '[]'],
    text: ['[]', '{"a":1}'],
    date: [
      '"2026-02-29"',
      '"1900-02-29"',
      '"2026-04-31"',
      '"2026-01-32"',
      '"2026-01-00"',
      '"2026-13-01"',
      '"2026-00-10"',
      '"0000-01-01"',
      '"2026-01-01x"',
      '"x2026-01-01"',
      '"26-01-01"',
      '20260101',
    ],
    timestamptz: [
      '"2026-01-01"',
      '"2026-02-30T10:00Z"',
      '"2026-01-01T24:00Z"',
      '"2026-01-01T10:60Z"',
      '"2026-01-01T10:00:61Z"',
      '"2026-01-01T23:59:60.x"',
      '"2026-01-01T10:00:00+24:00"',
      '"2026-01-01T10:00:00+02:75"',
      '"2026-01-01T10:00:00+2"',
      '"2026-01-01T10:00:00Zulu"',
      '" 2026-01-01T10:00:00Z"',
      '1767261600',
    ],
  }
  for (const [type, texts] of Object.entries(cases) as [ColumnType, readonly string[]][])
    for (const text of texts)
      it(`${text} as ${type}`, () => expect(convert(type, text)).toEqual({ ok: false, expected: expected[type] }))
})

describe('taken is', () => {
  const cases: readonly [ColumnType, string, string | null][] = [
    ['bigint', '-9223372036854775808', '-9223372036854775808'],
    ['bigint', '9223372036854775807', '9223372036854775807'],
    ['bigint', '" 007 "', '7'],
    ['bigint', '"12.000"', '12'],
    ['numeric', '" +5 "', '+5'],
    ['numeric', '".25"', '.25'],
    ['numeric', '"5."', '5.'],
    ['numeric', '"1.5E+12"', '1.5E+12'],
    ['numeric', '1e-1234', '1e-1234'],
    ['numeric', '12.50', '12.5'],
    ['boolean', 'true', 'true'],
    ['boolean', '"true"', 'true'],
    ['boolean', 'false', 'false'],
    ['boolean', '"false"', 'false'],
    ['text', 'true', 'true'],
    ['text', '" x "', ' x '],
    ['text', '0.50', '0.5'],
    ['date', '"2024-02-29"', '2024-02-29'],
    ['date', '"2000-02-29"', '2000-02-29'],
    ['date', '"2026-12-31T23:00:00-05:00"', '2026-12-31'],
    ['timestamptz', '"2026-01-01 23:59:60z"', '2026-01-01 23:59:60 Z'],
    ['timestamptz', '"2026-01-01T10:30"', '2026-01-01 10:30:00 Europe/Paris'],
    ['timestamptz', '"2026-01-01T19:00:00.123456789 +0530"', '2026-01-01 19:00:00.123456789 +0530'],
    ['timestamptz', '"2026-01-01T00:00:00-15:59"', '2026-01-01 00:00:00 -15:59'],
    ['timestamptz', '"2026-01-01t10:30:00z"', '2026-01-01 10:30:00 Z'],
    ['timestamptz', '"2026-01-01T23:59:60.5Z"', '2026-01-02 00:00:00.500000 Z'],
    ['timestamptz', '"2026-01-01T10:00:00.12345678901234567890Z"', '2026-01-01 10:00:00.123456789012345 Z'],
    ['timestamptz', '"2026-01-01T10:00:00+16:00"', '2025-12-31 18:00:00.000000 Z'],
    ['timestamptz', '"2026-01-01T00:00:00+02"', '2026-01-01 00:00:00 +02'],
    ['jsonb', '[1,{"a":12345678901234567890}]', '[1,{"a":12345678901234567890}]'],
    ['jsonb', 'null', null],
  ]
  for (const [type, text, result] of cases)
    it(`${text} as ${type}`, () => expect(convert(type, text)).toEqual({ ok: true, text: result }))

  it('a number of a thousand digits, and of no more', () => {
    expect(taken('numeric', '1'.repeat(1_000))).toBe('1'.repeat(1_000))
    expect(taken('numeric', '1'.repeat(1_001))).toBeUndefined()
  })

  it('every day of the calendar and no other', () => {
    const parts = fc.tuple(fc.integer({ min: 1, max: 9999 }), fc.nat({ max: 13 }), fc.nat({ max: 32 }))
    fc.assert(
      fc.property(parts, ([year, month, day]) => {
        const text = [String(year).padStart(4, '0'), String(month).padStart(2, '0'), String(day).padStart(2, '0')].join(
          '-',
        )
        const instant = Date.parse(`${text}T00:00:00Z`)
        const exists = !Number.isNaN(instant) && new Date(instant).toISOString().startsWith(text)
        expect(taken('date', text)).toBe(exists ? text : undefined)
      }),
      { numRuns: 1_000 },
    )
  })

  /** Ways to write a whole number: moved by an exponent, with zeros behind the point. */
  const spellings = (number: bigint, shift: number, zeros: number): readonly string[] => {
    const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(String(number)) ?? []
    const cut = Math.max(1, digits.length - shift)
    const moved = `${sign}${digits.slice(0, cut)}.${digits.slice(cut)}${'0'.repeat(zeros + 1)}`
    const short = digits.replace(/0+$/, '')
    return [
      `${number}`,
      `${number}.${'0'.repeat(zeros + 1)}`,
      `${moved}e${digits.length - cut}`,
      `${moved}E+${digits.length - cut}`,
      `${number}${'0'.repeat(zeros)}e-${zeros}`.replace(/^(-?0)0+/, '$1'),
      ...(short === '' ? [] : [`${sign}${short}E+${digits.length - short.length}`]),
    ]
  }

  it('every whole number of 64 bits, however it is written, and no larger one', () => {
    const numbers = fc.oneof(fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }), fc.bigInt({ min: -999n, max: 999n }))
    fc.assert(
      fc.property(numbers, fc.nat({ max: 20 }), fc.nat({ max: 3 }), (number, shift, zeros) => {
        const fits = BigInt.asIntN(64, number) === number
        for (const text of spellings(number, shift, zeros))
          for (const written of [text, `"${text}"`])
            expect(convert('bigint', written)).toEqual(
              fits ? { ok: true, text: `${number}` } : { ok: false, expected: expected.bigint },
            )
      }),
    )
  })

  it('the same key in every spelling, for the scan of a page, the memory of pages and the row', () => {
    const countries = streamNamed('countries')
    const users = streamNamed('users')
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
        fc.nat({ max: 20 }),
        fc.nat({ max: 3 }),
        (id, shift, zeros) => {
          for (const text of spellings(id, shift, zeros)) {
            const page = readPage(Buffer.from(`[{"id":${text},"code":${text}}]`))
            if (page === null) throw new Error(`no page: ${text}`)
            const { elements } = page
            expect(keysOf([elements.head(0)], () => elements.values())).toEqual([String(id)])
            for (const record of [elements.head(0), elements.value(0), elements.decoded(0).value]) {
              expect(keyOf(users, record, 'UTC')).toEqual([String(id)])
              expect(keyOf(countries, record, 'UTC')).toEqual([String(id)])
              expect(contentKeys([record])).toEqual([String(id)])
            }
          }
        },
      ),
    )
  })
})
