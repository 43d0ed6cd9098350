// JSON in and out: no digit lost, no text that Postgres cannot store, no overflow.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  asRead,
  get,
  isObject,
  type Json,
  LosslessNumber,
  parseExact,
  parseJson,
  stringifyJson,
  textOf,
} from '../../src/api/wire/json.ts'

/** Any JSON without characters that are replaced, and with numbers of every length. */
const anyJson = fc
  .array(
    fc.oneof(
      fc.jsonValue({ maxDepth: 6 }),
      fc.bigInt().map((digits) => ({ __digits: String(digits) })),
    ),
  )
  .map((value) => parseJson(JSON.stringify(value).replace(/\{"__digits":"(-?\d+)"\}/g, '$1')).value)

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const kept = [
  '12345678901234567890',
  '9007199254740993',
  '-0.123456789012345678901234567890',
  '123456789.123456789',
  '1e400',
  '1E-400',
  '0.0000001',
  '100000000000000000000000000000000000000000',
  '0.000000000000000000000000000000000000001',
]

/** The same number in other spellings. */
const respelt: readonly (readonly [string, string])[] = [
  ['1E+1', '10'],
  ['-1.5e+3', '-1500'],
  ['1.0e1', '10'],
  ['10.0', '10'],
  ['2500e-2', '25'],
  ['1.25E1', '12.5'],
  ['0e5', '0'],
  ['-0', '0'],
  ['1.2345678901234567890e19', '12345678901234567890'],
  ['12345678901234567890.000', '12345678901234567890'],
  ['9007199254740993e0', '9007199254740993'],
]

describe('numbers', () => {
  for (const [digits, plain] of respelt)
    it(`${digits} is ${plain}, alone and among others`, () => {
      expect(parseJson(digits).value).toEqual(Object.is(Number(digits), -0) ? -0 : parseJson(plain).value)
      expect(stringifyJson(parseJson(`[${digits},1e400]`).value)).toBe(`[${plain},1e400]`)
      expect(stringifyJson(parseExact(`[${digits}]`))).toBe(`[${digits}]`)
    })

  for (const digits of kept)
    it(`${digits} keeps every digit, alone and among others`, () => {
      expect(stringifyJson(parseJson(digits).value)).toBe(digits)
      const text = `{"a":[${digits},1.5],"b":"x"}`
      expect(stringifyJson(parseJson(text).value)).toBe(text)
      expect(get(parseJson(text).value, 'b')).toBe('x')
    })

  for (const [digits, number] of [
    ['0', 0],
    ['-12.5', -12.5],
    ['123456789012345', 123456789012345],
    ['0.12345678901234', 0.12345678901234],
    ['0.00123456789012345', 0.00123456789012345],
    ['12345678901234.5', 12345678901234.5],
  ] as const)
    it(`${digits} is a plain number, also on a page read by the slow parser`, () => {
      expect(parseJson(digits).value).toBe(number)
      expect(parseJson(`[${digits},12345678901234567890]`).value).toEqual([
        number,
        new LosslessNumber('12345678901234567890'),
      ])
    })
})

describe('texts and keys', () => {
  for (const slow of ['', ',"n":1e5'])
    it(`the last of duplicate keys wins, and __proto__ is a key like any other${slow && ' (slow parser)'}`, () => {
      const { value } = parseJson(`{"a":1,"a":{"b":2},"__proto__":{"admin":true}${slow}}`)
      expect(get(value, 'a.b')).toBe(2)
      expect(Object.hasOwn(value as object, '__proto__')).toBe(true)
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(stringifyJson(value)).toContain('"__proto__":{"admin":true}')
    })

  for (const slow of ['', ',1e5'])
    it(`NUL and lone surrogates become U+FFFD, in texts and in keys, and are counted${slow && ' (slow parser)'}`, () => {
      const { value, sanitized } = parseJson(
        String.raw`[{"a\u0000":"x\ud800y","__proto__":"\udc00"},"\ud83d\ude00 ok","\\u0000"${slow}]`,
      )
      expect(sanitized).toBe(3)
      const [record, whole, escaped] = value as [Json, Json, Json]
      expect(Object.entries(record as object)).toEqual([
        ['a\ufffd', 'x\ufffdy'],
        ['__proto__', '\ufffd'],
      ])
      expect([whole, escaped]).toEqual(['😀 ok', '\\u0000'])
    })

  for (const half of ['ud800', 'uDBFF', 'udc00', 'uDfff', 'u0000'])
    it(`\\${half} is replaced where it is the only one`, () => {
      expect(parseJson(`["a\\${half}"]`)).toEqual({ value: ['a\ufffd'], sanitized: 1 })
    })

  it('lone surrogates that stand in the text unescaped are replaced too', () => {
    expect(parseJson('["a\ud800b"]')).toEqual({ value: ['a\ufffdb'], sanitized: 1 })
  })

  it('beside what is replaced everything stays what it was', () => {
    const { value } = parseJson('[{"a":"\\u0000","n":1,"b":true,"c":null,"d":12345678901234567890,"e":[]}]')
    expect(stringifyJson(value)).toBe('[{"a":"\ufffd","n":1,"b":true,"c":null,"d":12345678901234567890,"e":[]}]')
  })

  it('a byte order mark is no part of the JSON', () => {
    expect(parseJson('\ufeff[1]').value).toEqual([1])
  })
})

describe('limits', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

  it('64 levels are read, 65 are refused', () => {
    expect(parseJson(nested(64)).value).toEqual(JSON.parse(nested(64)))
    expect(() => parseJson(nested(65))).toThrow(
      expect.objectContaining({ code: 'API_TOO_LARGE', message: 'JSON nested deeper than 64 levels is refused.' }),
    )
  })

  it('what stands side by side is not deep', () => {
    for (const one of ['[]', '{}', '[{}]', '{"a":[]}']) {
      const text = `[${Array(500).fill(one).join(',')}]`
      expect(parseJson(text).value).toEqual(JSON.parse(text))
    }
  })

  it('a text ends at its quote, however many backslashes stand before', () => {
    for (const slashes of [2, 4, 40])
      expect(() => parseJson(`["a${'\\'.repeat(slashes)}",${nested(64)}]`)).toThrow(/deeper than 64/)
    for (const slashes of [1, 3, 41]) {
      const text = `["a${'\\'.repeat(slashes)}"${'['.repeat(500)}"]`
      expect(parseJson(text).value).toEqual(JSON.parse(text))
    }
  })

  for (const [name, text] of [
    ['a million brackets', '['.repeat(1_000_000)],
    ['a million braces', '{"a":'.repeat(1_000_000)],
    ['deep nesting beside a long number', `[12345678901234567890,${nested(100_000)}]`],
  ] as const)
    it(`${name} overflow no stack`, () => {
      expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'API_TOO_LARGE' }))
    })

  it('brackets and escaped quotes inside texts do not count', () => {
    const text = JSON.stringify({ a: `${'['.repeat(500)}"\\"${'{'.repeat(500)}\\` })
    expect(parseJson(text).value).toEqual(JSON.parse(text))
  })

  for (const text of ['', ' ', '{"a":1', '[1,]', '"abc', '<html>Jane Doe</html>', '{"a":1e}'])
    it(`${JSON.stringify(text)} is refused without being quoted`, () => {
      const error = thrownBy(() => parseJson(text))
      expect(error).toMatchObject({
        code: 'API_NOT_JSON',
        message: `The text (${text.length} characters) is not JSON, or is cut off.`,
      })
      expect(error).not.toHaveProperty('cause')
    })
})

describe('helpers', () => {
  it('texts of scalars are exact, others have none', () => {
    expect([42, true, 'x', new LosslessNumber('1.10'), null, [], {}, undefined].map(textOf)).toEqual([
      '42',
      'true',
      'x',
      '1.10',
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('paths lead through own keys of objects only', () => {
    const { value } = parseJson('{"a":{"b":[1]},"n":12345678901234567890}')
    expect(get(value, 'a.b')).toEqual([1])
    for (const path of ['a.b.length', 'a.toString', 'n.value', 'constructor', 'a.c.d', ''])
      expect(get(value, path), path).toBeUndefined()
  })

  it('a lossless number is no object', () => {
    expect([{}, [], null, new LosslessNumber('1'), 1].map(isObject)).toEqual([true, false, false, false, false])
  })
})

describe('read to be sent back', () => {
  const awkward = '{"a":"\\ud800x\\u0000","b":1.10,"c":1E+2,"d":-0,"e":12345678901234567890.50,"__proto__":{"f":[1.0]}}'

  it('every character and every digit stay as they came', () => {
    expect(stringifyJson(parseExact(awkward))).toBe(awkward)
    expect(stringifyJson(parseExact('\ufeff["\ud800"]'))).toBe('["\\ud800"]')
  })

  it('is what parseJson reads once it is made storable', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = stringifyJson(value)
        expect(asRead(parseExact(text))).toEqual(parseJson(text).value)
      }),
    )
    expect(asRead(parseExact(awkward))).toEqual(parseJson(awkward).value)
  })

  it('is refused as parseJson refuses', () => {
    expect(thrownBy(() => parseExact('{"a":'))).toMatchObject({ code: 'API_NOT_JSON' })
    expect(thrownBy(() => parseExact('['.repeat(65) + ']'.repeat(65)))).toMatchObject({ code: 'API_TOO_LARGE' })
  })
})
