// What the conversion lets through, Postgres takes: a value that failed there would take its whole page with it.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { convertValue } from '../../src/api/wire/convert.ts'
import type { ColumnType } from '../../src/catalog/types.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'

const taken = (type: ColumnType, value: string): string | null | undefined => {
  const converted = convertValue(type, value, 'Europe/Paris')
  return converted.ok ? converted.text : undefined
}

describe('Postgres takes', () => {
  const database = opened(() => createTestDatabase({ migrated: false }))

  const digits = (max: number, length = 2) => fc.nat({ max }).map((number) => String(number).padStart(length, '0'))
  const mark = (...marks: string[]) => fc.constantFrom(...marks)
  const joined = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((each) => each.join(''))
  const offset = fc.oneof(mark('', 'Z', 'z'), joined(mark('+', '-'), digits(17), mark('', ':'), digits(70)))
  const day = joined(digits(9999, 4), mark('-'), digits(13), mark('-'), digits(32))
  const time = joined(digits(25), mark(':'), digits(61), mark('', ':00', ':59.999999999', ':60', ':61', ':60.5'))
  const nearly: readonly [ColumnType, fc.Arbitrary<string>][] = [
    ['date', day],
    ['timestamptz', joined(day, mark('T', ' '), time, mark('', ' '), offset)],
    ['numeric', joined(mark('', '-', '+'), digits(999, 0), mark('', '.', '.5'), mark('', 'e9', 'E-99', 'e+9999', 'e'))],
    ['bigint', joined(mark('', '-'), fc.bigInt({ min: 0n, max: 2n ** 65n }).map(String), mark('', '.0', '.5'))],
  ]
  for (const [type, texts] of nearly)
    it(`every ${type} that is not refused`, async () => {
      const accepted = fc.sample(texts, 2_000).flatMap((text) => taken(type, text) ?? [])
      expect(accepted.length).toBeGreaterThan(100)
      const { rows } = await database.pool.query(
        `select count(value::${type})::int as count from unnest($1::text[]) value`,
        [accepted],
      )
      expect(rows).toEqual([{ count: accepted.length }])
    })
})
