// From JSON to Postgres: no digit lost, what Postgres cannot take refused with what was expected, and nothing else.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, parseJson } from '../../src/api/wire/json.ts'
import type { ColumnType } from '../../src/catalog/types.ts'
import { convertValue } from '../../src/sync/records/convert.ts'

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

  it('every whole number of 64 bits, however it is written, and no larger one', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }), (number) => {
        const fits = BigInt.asIntN(64, number) === number
        for (const text of [`${number}`, `"${number}"`, `"${number}.0"`])
          expect(convert('bigint', text).ok).toBe(fits && `${number}`.replace('-', '').length < 20)
        if (fits) expect(convert('bigint', `${number}`)).toEqual({ ok: true, text: `${number}` })
      }),
    )
  })
})
