// Whatever stands in the body of an answer: it is read to the last digit, or refused with an error of ours.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLosslessNumber, isObject, type Json, parseJson, stringifyJson } from '../../src/api/wire/json.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { settingsOf } from './draw.ts'
import { brokenJsonText, digits, jsonText } from './generators.ts'

const storable = (text: string): string => text.replace(/\0|\p{Surrogate}/gu, '\ufffd')

/** What the platform's own parser says, cleaned as we promise: texts storable, own members only. */
function reference(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (Array.isArray(value)) return value.map(reference)
  if (typeof value !== 'object' || value === null) return value
  return new Map(Object.entries(value).map(([name, member]) => [storable(name), reference(member)]))
}

/** Our value in the same form; exact numbers as JavaScript would have rounded them. */
function comparable(value: Json): unknown {
  if (isLosslessNumber(value)) return Number(value.value)
  if (Array.isArray(value)) return value.map(comparable)
  if (!isObject(value)) return value
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  return new Map(Object.entries(value).map(([name, member]) => [name, comparable(member)]))
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Object.values(value).reduce((deepest: number, each) => Math.max(deepest, depthOf(each)), 0)
}

const native = (source: string): { readonly value: unknown } | null => {
  try {
    return { value: JSON.parse(source.startsWith('\ufeff') ? source.slice(1) : source) }
  } catch {
    return null
  }
}

describe('the text of an answer', () => {
  it('is read as JSON says, duplicate and prototype names included, or refused without being quoted', () => {
    const before = Object.getOwnPropertyNames(Object.prototype).join()
    fc.assert(
      fc.property(fc.oneof({ weight: 2, arbitrary: jsonText }, { weight: 1, arbitrary: brokenJsonText }), (source) => {
        const expected = native(source)
        try {
          const { value } = parseJson(source)
          assert.notEqual(expected, null)
          assert.deepEqual(comparable(value), reference(expected?.value))
          // Written and read again, nothing has changed: what is stored is what was received.
          assert.equal(stringifyJson(parseJson(stringifyJson(value)).value), stringifyJson(value))
        } catch (error) {
          if (!(error instanceof BoatMirrorError)) throw error
          if (error.code === 'API_TOO_LARGE') assert(expected === null || depthOf(expected.value) > 64)
          else assert.deepEqual([error.code, expected], ['API_NOT_JSON', null])
          assert.match(
            error.message,
            /^(The text \(\d+ characters\) is not JSON, or is cut off|JSON nested deeper than 64 levels is refused)\.$/,
          )
        }
      }),
      settingsOf(20_000),
    )
    expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(before)
  })
})

/** Sign, digits and exponent of a decimal, so that equal numbers are equal texts. */
function exactly(decimal: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(decimal) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  const significant = all.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${BigInt(exponent) - BigInt(fraction.length) + BigInt(all.length - significant.length)}`
}

describe('a number', () => {
  it('keeps every digit on its way through', () => {
    fc.assert(
      fc.property(digits, fc.constantFrom('', 'x', '{"a":1} '), (number, beside) => {
        const written = stringifyJson(parseJson(`{"n":${number},"beside":${JSON.stringify(beside)}}`).value)
        const [, found = ''] = /"n":([^,]*)/.exec(written) ?? []
        assert.equal(exactly(found), exactly(number))
      }),
      settingsOf(6_000),
    )
  })
})
