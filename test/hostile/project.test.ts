// From any record to a row or a reason: every column type, and every stream with random and with mutated records.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { beforeAll, describe, it } from 'vitest'
import { convertValue } from '../../src/api/wire/convert.ts'
import { type Json, parseJson, stringifyJson } from '../../src/api/wire/json.ts'
import { streams } from '../../src/catalog/catalog.ts'
import type { ColumnType, StreamDef } from '../../src/catalog/types.ts'
import { embeddedRecords } from '../../src/sync/details/embeds.ts'
import { missingInList, overlay } from '../../src/sync/lists/summary.ts'
import { contentKeys, keyOf, projectRecord, type RequestValues } from '../../src/sync/records/project.ts'
import { unshownFields } from '../../src/sync/records/unknown-fields.ts'
import { settingsOf } from './draw.ts'
import { digits, jsonText, text } from './generators.ts'
import { type Example, exampleRecords, mutations } from './records.ts'

const types: readonly ColumnType[] = [
  'text',
  'bigint',
  'numeric',
  'boolean',
  'date',
  'timestamptz',
  'timestamp',
  'jsonb',
]

/** What Postgres takes for each type; stricter than Postgres, so that nothing needs luck. */
const shapes: Readonly<Record<ColumnType, RegExp>> = {
  text: /^[\s\S]*$/,
  bigint: /^-?\d{1,19}$/,
  numeric: /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$/,
  boolean: /^(true|false)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  timestamptz: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})? (Z|[+-]\d\d(:?\d\d)?|Europe\/Paris)$/,
  timestamp: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,15})? Z$/,
  jsonb: /^[\s\S]+$/,
}

describe('a value', () => {
  it('becomes a text its column takes, or a sentence about what was expected', () => {
    const value = fc.oneof(
      jsonText,
      digits,
      fc.oneof(text, digits).map((each) => JSON.stringify(each)),
    )
    fc.assert(
      fc.property(fc.constantFrom(...types), value, (type, source) => {
        const converted = convertValue(type, parseJson(source).value, 'Europe/Paris')
        if (converted.ok)
          assert(converted.text === null || shapes[type].test(converted.text), `${type} ${converted.text}`)
        else assert(converted.expected.length > 3)
      }),
      settingsOf(12_000),
    )
  })
})

/** All pure steps a record passes; the answer must be a row with the whole record, or a reason that fits into a line. */
function passes(stream: StreamDef, record: Json, request: RequestValues): void {
  const projected = projectRecord(stream, record, request, 'UTC')
  if (projected.ok) {
    assert.equal(projected.row.payload, stringifyJson(record))
    assert.equal(projected.row.values.length, stream.columns.length)
    assert(projected.row.key.length === stream.key.length && projected.row.key.every((part) => part !== ''))
    const own = keyOf(stream, record, 'UTC')
    if (own !== null) assert.deepEqual(own, projected.row.key)
  } else {
    assert(projected.key.length > 0)
    assert(projected.reason.length > 10 && projected.reason.length < 400, projected.reason)
  }
  const holder = { stream, record, endpoint: 'GET /v3/x', readAt: new Date(0) }
  for (const each of embeddedRecords([holder], [], 'UTC')) assert.equal(each.key.length, each.stream.key.length)
  for (const path of unshownFields(stream, record).unknown.keys()) assert.equal(typeof path, 'string')
  const keys = contentKeys([record, record, overlay(record, record)])
  assert.equal(new Set(keys).size, 3)
  assert.equal(stringifyJson(overlay(record, record)), stringifyJson(record))
  assert.deepEqual(missingInList(record, record), [])
}

describe('a record', () => {
  let examples: ReadonlyMap<string, readonly Example[]>
  beforeAll(async () => {
    examples = await exampleRecords()
  })

  for (const stream of streams) {
    it(`of ${stream.name} may be any JSON`, () => {
      fc.assert(
        fc.property(jsonText, (source) => {
          const [example] = examples.get(stream.name) ?? []
          passes(stream, parseJson(source).value, example?.request ?? {})
        }),
        settingsOf(10_500, streams.length),
      )
    })

    it(`of ${stream.name} may be changed at any place`, () => {
      const known = examples.get(stream.name) ?? []
      assert(known.length > 0)
      fc.assert(
        fc.property(fc.constantFrom(...known), mutations, ({ record, request }, mutate) =>
          passes(stream, parseJson(mutate(record)).value, request),
        ),
        settingsOf(7_000, streams.length),
      )
    })
  }
})
