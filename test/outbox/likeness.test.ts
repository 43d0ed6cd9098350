// When what the API shows can be what was sent to it, and that nothing an API makes of a record rules that record out.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, type JsonObject, LosslessNumber } from '../../src/api/wire/json.ts'
import type { BodyField, WriteDef } from '../../src/catalog/types.ts'
import { writes } from '../../src/catalog/writes.ts'
import { kindOf } from '../../src/outbox/kinds/kinds.ts'
import { instantsAlike, likeness, normalText } from '../../src/outbox/likeness.ts'

const field = (type: BodyField['type'], more: Partial<BodyField> = {}): BodyField => ({
  name: 'x',
  type,
  comment: '',
  ...more,
})
const text = field('string')
const price = field('number')
const method = field('object', { members: [{ name: 'id', type: 'integer', required: true, comment: '' }] })

describe('what is shown is, of what was sent,', () => {
  it.each<[BodyField, Json, Json | undefined, string]>([
    [text, 'Zoé  Le Goff ', 'ZOE\u0301 LE GOFF', 'same'],
    [text, 'Straße', 'STRASSE', 'same'],
    [text, 'ﬁn\u00a01', 'FIN 1', 'same'],
    [text, '0042', 42, 'same'],
    [text, 'booking-4711-deposit', 'Booking-4711', 'cut'],
    [text, 'booking-4711-é', 'booking-4711-e', 'cut'],
    [text, 'booking-4711-🚤', 'booking-4711-\ufffd', 'cut'],
    [text, 'booking', 'book', 'unsaid'],
    [text, 'booking', '', 'unsaid'],
    [text, 'booking', null, 'unsaid'],
    [text, 'booking', undefined, 'unsaid'],
    [text, 'booking', ['booking'], 'unsaid'],
    [text, 'booking', 'web', 'differs'],
    [text, 'EUR', { code: 'eur' }, 'same'],
    [field('email'), 'Ann@Example.com', ' ann@example.com', 'same'],
    [price, 12.345, '12.34', 'same'],
    [price, 12.345, 12.35, 'same'],
    [price, new LosslessNumber('12.340'), 12.34, 'same'],
    [price, 12.34, 12.35, 'differs'],
    [price, -0.001, 0, 'same'],
    [price, 12, 'twelve', 'unsaid'],
    [field('integer'), 2, '2.0', 'same'],
    [field('integer'), 2, 2.001, 'differs'],
    [method, { id: 1 }, { id: '1', name: 'Card' }, 'same'],
    [method, { id: 1 }, 1, 'same'],
    [method, { id: 1 }, { name: 'Card' }, 'unsaid'],
    [method, { id: 1 }, { id: 2 }, 'differs'],
    [field('object', { members: [{ name: 'a', type: 'integer', comment: '' }] }), { a: 1 }, { a: 2 }, 'unsaid'],
    [field('date'), '1990-05-01', '1990-05-01T00:00:00+02:00', 'same'],
    [field('date'), '1990-05-01', '1990-04-30T22:00:00Z', 'same'],
    [field('date'), '1990-05-01', '1990-05-02', 'differs'],
    [field('date'), '1990-05-01', '01.05.1990', 'unsaid'],
  ])('%#: %j of %j: %j is %s', (of, sent, shown, as) => expect(likeness(of, sent, shown, 'UTC')).toBe(as))
})

describe('a text in normal form', () => {
  const texts = fc.string({ unit: 'grapheme' })

  it('is its own normal form', () => {
    fc.assert(
      fc.property(texts, (given) => {
        expect(normalText(normalText(given))).toBe(normalText(given))
      }),
    )
  })

  it('is that of every spelling: composed or not, in capitals or not, with more white space', () => {
    const spellings = [
      (given: string) => given.normalize('NFC'),
      (given: string) => given.normalize('NFD'),
      (given: string) => given.normalize('NFKC'),
      (given: string) => given.toUpperCase(),
      (given: string) => given.toLowerCase(),
      (given: string) => `\t${given.replaceAll(' ', ' \u00a0 ')} `,
    ]
    fc.assert(
      fc.property(texts, fc.constantFrom(...spellings), (given, spell) => {
        expect(normalText(spell(given))).toBe(normalText(given))
      }),
    )
  })

  it('never differs from what is left of it, wherever it is cut off', () => {
    fc.assert(
      fc.property(texts, fc.nat(40), (given, length) => {
        expect(likeness(text, given, given.slice(0, length), 'UTC')).not.toBe('differs')
      }),
    )
  })
})

it('an amount never differs from what it is rounded to', () => {
  const roundings = [Math.round, Math.trunc, Math.ceil, Math.floor]
  // In ten thousandths: 18104.01 * 100 is 1810400.9999999998, which is cut off to another cent.
  const amounts = fc.integer({ min: -1_000_000_000, max: 1_000_000_000 })
  fc.assert(
    fc.property(amounts, fc.constantFrom(...roundings), (amount, round) => {
      expect(likeness(price, amount / 10_000, (round(amount / 100) / 100).toFixed(2), 'UTC')).toBe('same')
    }),
    { examples: [[181_040_100, Math.trunc]] },
  )
})

it('an instant never differs from any spelling of it, in whatever zone the clock without offset is', () => {
  const zones = ['UTC', 'Europe/Paris', 'Pacific/Auckland', 'America/Los_Angeles']
  const instants = fc.date({ min: new Date('2000-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(instants, fc.integer({ min: -12, max: 14 }), fc.constantFrom(...zones), (instant, hours, zone) => {
      const wall = new Date(instant.getTime() + hours * 3_600_000).toISOString().slice(0, -1)
      const offset = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}`
      const spellings = [`${wall}${offset}`, `${wall.replace('T', ' ')}${offset}:00`, `${wall}${offset}00`]
      for (const spelling of spellings) expect(instantsAlike(instant.toISOString(), spelling, zone)).toBe('same')
      expect(instantsAlike(instant.toISOString(), wall, zone)).not.toBe('differs')
    }),
  )
})

describe('a record that the API made of what was sent', () => {
  const making = writes.filter((write) => kindOf(write).makesRecord)

  const sampleOf = ({ type, values, members = [] }: BodyField): fc.Arbitrary<Json> => {
    if (values !== undefined) return fc.constantFrom(...values)
    if (type === 'integer') return fc.integer({ min: 1, max: 9_999 })
    if (type === 'number') return fc.integer({ min: 0, max: 9_999_999 }).map((n) => n / 1_000)
    if (type === 'boolean') return fc.boolean()
    if (type === 'date') return fc.constantFrom('1990-05-01', '2001-12-31')
    if (type === 'email') return fc.constantFrom('Ann@Example.com', 'zoe.le-goff@example.com')
    if (type === 'object') return bodyOf(members.filter(({ required }) => required))
    return fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.constantFrom('Le Goff', 'booking-4711-deposit-of-july'),
    )
  }
  const bodyOf = (fields: readonly BodyField[]): fc.Arbitrary<JsonObject> =>
    fc.record(Object.fromEntries(fields.map((each) => [each.name, sampleOf(each)])), {
      requiredKeys: fields.filter(({ required }) => required).map(({ name }) => name),
    }) as fc.Arbitrary<JsonObject>

  const day = (value: Json): Json => `${value}T00:00:00Z`
  const textRules: readonly ((value: string) => Json)[] = [
    (value) => value,
    (value) => value.toLowerCase(),
    (value) => value.toUpperCase(),
    (value) => value.replace(/\s+/gu, ' ').trim(),
    (value) => value.normalize('NFKC'),
    (value) => value.slice(0, 20),
    () => null,
  ]
  const numberRules: readonly ((value: number) => Json)[] = [
    (value) => value,
    (value) => Math.round(value * 100) / 100,
    (value) => (Math.trunc(value * 100) / 100).toFixed(2),
  ]
  /** What an API may make of a value. */
  function made({ type, members }: BodyField, value: Json, choice: number): Json {
    if (type === 'integer') return choice % 2 === 0 ? value : String(value)
    if (type === 'number') return numberRules[choice % numberRules.length]?.(Number(value)) ?? null
    if (type === 'date') return choice % 2 === 0 ? value : day(value)
    if (type === 'object')
      return choice % 2 === 0
        ? { ...(value as JsonObject), name: 'Name' }
        : ((value as JsonObject)[members?.[0]?.name ?? ''] ?? null)
    return type === 'string' || type === 'email'
      ? (textRules[choice % textRules.length]?.(String(value)) ?? null)
      : value
  }
  const recordOf = ({ body: fields }: WriteDef, body: JsonObject, choices: readonly number[]): JsonObject => {
    const record: JsonObject = { id: 7 }
    for (const [index, each] of fields.entries()) {
      const value = body[each.name]
      if (value === undefined || each.readPath === null) continue
      const stored = made(each, value, choices[index] ?? 0)
      const [owner, member] = (each.readPath ?? each.name).split('.')
      record[owner ?? ''] = member === undefined ? stored : { [member]: stored }
    }
    return record
  }
  const departure = '2026-07-14T07:00:00.000Z'
  const seen = (record: Json) => ({ record, exact: record, readAt: new Date(0), source: 'GET /v3' })
  const verdictOf = (write: WriteDef, body: JsonObject, now: readonly Json[]) => {
    const sent = { params: {}, body, applied: body, evidence: { ids: ['1'], departure }, warnings: [] }
    return kindOf(write).decide(write, sent, now.map(seen), 'UTC')
  }

  for (const write of making) {
    it(`of ${write.operation} is never ruled out`, () => {
      const choices = fc.array(fc.nat(100), { minLength: write.body.length, maxLength: write.body.length })
      const departs = fc.constantFrom(
        departure,
        '2026-07-14T07:00:00',
        '2026-07-14 09:00:00',
        '2026-07-14T09:00:00+02',
        null,
      )
      fc.assert(
        fc.property(bodyOf(write.body), choices, departs, fc.boolean(), (body, chosen, departureDatetime, crowded) => {
          fc.pre(write.operation !== 'user.create' || body.email !== undefined || body.lastName !== undefined)
          const record = { ...recordOf(write, body, chosen), departureDatetime }
          const others = crowded
            ? [
                { id: 1, ...body },
                { id: 8, firstName: 'Bo', departureDatetime: '2027-01-01T00:00:00Z' },
              ]
            : []
          const verdict = verdictOf(write, body, [record, ...others])
          expect(verdict.kind).not.toBe('not')
          if (verdict.kind === 'took') expect(verdict.seen?.record).toBe(record)
        }),
      )
    })

    it(`of ${write.operation} is told by fields that the operation has`, () => {
      const { shown = [], kept = [] } = write.identity ?? {}
      expect(write.identity).toBeDefined()
      expect(write.body.map(({ name }) => name)).toEqual(expect.arrayContaining([...shown, ...kept.flat()]))
    })
  }
})
