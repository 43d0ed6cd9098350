// The scan of a page against the parser of whole answers: they take the same bytes for JSON, and see the same records, keys
// and envelope in them.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readEnvelope } from '../../src/api/paging/envelope.ts'
import { Elements, elementsAt, hashOfBytes, readPage, readRecord } from '../../src/api/wire/elements.ts'
import { isObject, type Json, parseJson, stringifyJson } from '../../src/api/wire/json.ts'
import { scanPage } from '../../src/api/wire/scan.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { casesOf, seed, settingsOf } from './draw.ts'
import { brokenJsonText, digits, jsonText, names, objectText } from './generators.ts'

type Parsed = ReturnType<typeof parseJson>

function parsed(text: string): Parsed | null {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof BoatMirrorError) return null
    throw error
  }
}

const envelope = { itemsPath: null, nextPath: null, totalPath: null }

const envelopeOf = (body: Json): ReturnType<typeof readEnvelope> | string => {
  try {
    return readEnvelope(body, {}, envelope)
  } catch (error) {
    return String(error)
  }
}

/** What distinguishes a record from others: its `id` and `code`, or all of it. */
const toldBy = (record: Json): readonly (string | null)[] =>
  isObject(record)
    ? ['id', 'code'].map((name) => (Object.hasOwn(record, name) ? stringifyJson(record[name] ?? null) : null))
    : [stringifyJson(record)]

/** Every record as the parser of the whole answer reads it, from its own bytes. */
function compareRecords(elements: Elements, expected: readonly Json[]): void {
  assert.equal(elements.length, expected.length)
  for (const [index, record] of expected.entries()) {
    const { value, text } = elements.decoded(index)
    assert.equal(stringifyJson(value), stringifyJson(record))
    assert.equal(stringifyJson(elements.value(index)), stringifyJson(record))
    assert.deepEqual(toldBy(elements.head(index)), toldBy(record))
    assert.equal(stringifyJson(parseJson(text).value), stringifyJson(record))
    // Only members that stand twice, or in an order that JavaScript changes, make a difference to what we write.
    if (text !== stringifyJson(record)) assert(text.length >= stringifyJson(record).length)
  }
}

/** Whether it is JSON within our limits. @throws AssertionError where scan and parser differ */
function compare(text: string): boolean {
  const bytes = Buffer.from(text)
  const expected = parsed(bytes.toString())
  const page = readPage(bytes)
  assert.equal(page === null, expected === null)
  if (page === null || expected === null) return false
  // Of a member of the envelope that stands twice, both are counted: a warning more, never one less.
  if (Array.isArray(expected.value)) assert.equal(page.sanitized, expected.sanitized)
  else assert(page.sanitized >= expected.sanitized)
  const [seen, due] = [envelopeOf(page.body), envelopeOf(expected.value)]
  if (typeof seen === 'string' || typeof due === 'string') {
    assert.equal(seen, due)
    return true
  }
  assert.deepEqual({ ...seen, items: null }, { ...due, items: null })
  compareRecords(elementsAt(seen.items, page.elements), due.items)
  const whole = scanPage(bytes, text.startsWith('\ufeff') ? 3 : 0, true)
  assert(typeof whole !== 'number')
  compareRecords(new Elements(bytes, whole), [expected.value])
  return true
}

/** Records as lists have them, some with names that have a meaning, some twice, with any white space. */
const record = fc.oneof(
  objectText,
  jsonText,
  fc
    .array(
      fc.tuple(
        fc.constantFrom('"id"', '"code"', '"\\u0069d"', '"i\\u0064"', '"id" ', ' "code"', '"ID"', '"name"', '"1"'),
        fc.oneof(jsonText, digits, fc.constantFrom('"A-1"', '"é"', '"\\ud83d\\ude00"', '"\\u0000"', '1', '01', 'tru')),
      ),
      { maxLength: 4 },
    )
    .map((members) => `{${members.map((member) => member.join(':')).join(',')}}`),
)
const gap = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n', '\u00a0', ',')
const list = fc
  .tuple(fc.array(record, { maxLength: 5 }), gap)
  .map(([records, between]) => `[${records.join(`,${between}`)}${between}]`)
const envelopes = fc
  .array(
    fc.tuple(
      fc.constantFrom('data', 'items', 'total', 'next', 'meta', 'a', ...names),
      fc.oneof(list, jsonText, digits),
    ),
    { maxLength: 4 },
  )
  .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`)
const nested = fc
  .tuple(fc.constantFrom('data', 'items', '_embedded', 'x'), envelopes)
  .map(([name, value]) => `{"${name}":${value}}`)
const page = fc.oneof(
  { weight: 4, arbitrary: list },
  { weight: 3, arbitrary: envelopes },
  { weight: 1, arbitrary: nested },
  { weight: 1, arbitrary: jsonText },
  { weight: 2, arbitrary: brokenJsonText },
)

/** A page with a byte added, removed or changed. */
const damaged = fc
  .tuple(
    page,
    fc.nat(),
    fc.constantFrom(0, 1),
    fc.constantFrom('', '"', '\\', ',', ':', '[', ']', '{', '}', '-', '.', '0', 'e', '\n', '\u0001', ' '),
  )
  .map(([text, at, left, put]) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + put + text.slice(place + left)
  })

const tokens = [
  '"',
  '\\',
  ',',
  ':',
  '[',
  ']',
  '{',
  '}',
  '-',
  '.',
  '0',
  '00000',
  'e',
  '\n',
  '\u0001',
  ' ',
  '"id":',
  '"code":',
  'null',
  '\\u00',
  '\\ud8',
]

/** Pages of which pieces were removed, doubled, put in from others or replaced by what JSON consists of: fast, to draw millions. */
function* mixed(seed: number, count: number): Generator<string> {
  const drawn = fc.sample(page, { seed, numRuns: 3_000 }).filter((text) => text.length < 2_000)
  let state = (seed % 2_147_483_646) + 1
  const below = (limit: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % limit
  }
  const one = (): string => drawn[below(drawn.length)] ?? ''
  const piece = (text: string): string => {
    const from = below(text.length + 1)
    return text.slice(from, from + below(12))
  }
  for (let index = 0; index < count; index++) {
    let text = one()
    for (let changes = below(3); changes >= 0; changes--) {
      const [at, length] = [below(text.length + 1), below(4) === 0 ? below(12) : below(2)]
      const put = [tokens[below(tokens.length)] ?? '', piece(text), piece(one()), ''][below(4)] ?? ''
      text = text.slice(0, at) + put + text.slice(at + length)
    }
    yield text
  }
}

const mixedPages = casesOf(30_000)

describe('the scan of a page', () => {
  it('sees what the parser sees', () => {
    fc.assert(
      fc.property(fc.oneof(page, damaged), (text) => void compare(text)),
      settingsOf(6_000),
    )
  })

  it('sees what the parser sees in pages mixed from others', () => {
    let accepted = 0
    for (const text of mixed(seed, mixedPages))
      try {
        if (compare(text)) accepted++
      } catch (error) {
        throw new Error(`Seen otherwise: ${JSON.stringify(text)}`, { cause: error })
      }
    expect(accepted).toBeGreaterThan(mixedPages / 10)
    expect(accepted).toBeLessThan((mixedPages * 9) / 10)
  })

  for (const text of [
    '[]',
    '[[]]',
    '{"data":[]}',
    '{"data":[1],"data":[]}',
    '{"data":[],"data":[{"id":1}]}',
    '{"data":[1,2,3],"items":[1,2,3,4,5]}',
    '{"a":{"b":[{"id":1}]}}',
    '[{"id":1,"id":"x"},{"id":{"id":3}},{"code":"DE"},{"__proto__":{"id":9}},7,null,"id"]',
    '\ufeff[{"id":1}]',
    ' [ { "id" : 1 } , { "id" : 2 } ] ',
    '[1.0,-0,-0.0,1.50,0.0000001,1e5,123456789012345,1234567890123456,-12.5]',
    '["\\ud800","\\ud83d\\ude00","\\u0000","\\u0041","\\/"]',
    `${'['.repeat(64)}${']'.repeat(64)}`,
    `${'['.repeat(65)}${']'.repeat(65)}`,
    '[1,]',
    '{"a":1,}',
    '[1 2]',
    '[] []',
    '["\t"]',
    '{"a"}',
    '{1:2}',
    '[nul]',
    '',
  ])
    it(`reads ${JSON.stringify(text.slice(0, 60))} as the parser does`, () => void compare(text))

  it('counts values as the parser does', () => {
    const many = (count: number): string => `[${Array(count).fill('0').join(',')}]`
    expect(readPage(Buffer.from(many(1_999_999)))?.elements.length).toBe(1_999_999)
    expect(readPage(Buffer.from(many(2_000_000)))).toBeNull()
    expect(parsed(many(2_000_000))).toBeNull()
  })

  it('gives a record the same hash wherever it stands', () => {
    const record = '{"id":1,"name":"Ölçüdeniz"}'
    for (const text of [`[${record}]`, `[0,${record}]`, `{"data":[${record}],"total":1}`, `[ ${record} ]`]) {
      const elements = readPage(Buffer.from(text))?.elements
      expect(elements?.hash(elements.length - 1)).toBe(hashOfBytes(record))
    }
    expect(readRecord(Buffer.from(` ${record}\n`))?.elements.hash(0)).toBe(hashOfBytes(record))
  })

  it('takes for a record only what is an object', () => {
    for (const text of ['null', '[]', '"a"', '7', '{"id":1', '']) expect(readRecord(Buffer.from(text)), text).toBeNull()
    expect(readRecord(Buffer.from('{"\\u0069d":"\\ud800"}'))).toMatchObject({ body: undefined, sanitized: 1 })
  })
})
