// The keys of records: as their table shows them, from their content where they have none, and for the quarantine.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, parseJson } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { contentKeys, keyOf, projectRecord, type RequestValues } from '../../src/sync/records/project.ts'

const json = (text: string): Json => parseJson(text).value

describe('the key of a list record', () => {
  const cases: readonly [string, string, string, readonly string[] | null][] = [
    ['is its id', 'rentals', '{"status":"PENDING","id":42}', ['42']],
    ['is its id to the last digit', 'rentals', '{"id":9007199254740993}', ['9007199254740993']],
    ['is its id as the table shows it', 'rentals', '{"id":" 042.0 "}', ['42']],
    ['is text where the table says so', 'resources', '{"id":7}', ['7']],
    ['is its code where the table says so', 'countries', '{"id":1,"code":"FR"}', ['FR']],
    ['is none when the record has no id', 'rentals', '{"status":"PENDING"}', null],
    ['is none when the id is null', 'rentals', '{"id":null}', null],
    ['is none when the id is empty', 'resources', '{"id":""}', null],
    ['is none when the id is of another type', 'rentals', '{"id":"A-7"}', null],
    ['is none when there is no record', 'rentals', '[1]', null],
    ['is none when a part stands in the path', 'rental_options', '{"id":5}', null],
  ]
  for (const [name, stream, record, key] of cases)
    it(name, () => expect(keyOf(streamNamed(stream), json(record), 'UTC')).toEqual(key))
})

describe('a record that cannot be mirrored is kept', () => {
  const kept = (stream: string, record: Json, request: RequestValues = {}) => {
    const projected = projectRecord(streamNamed(stream), record, request, 'UTC')
    return projected.ok ? null : { key: projected.key, reason: projected.reason }
  }

  it('under its content where its key is missing, so that two such records do not meet', () => {
    // No good version could have an id of letters.
    for (const texts of [
      ['{"name":"a"}', '{"name":"b"}', '{"name":"a"}'],
      ['{"id":"A-7"}', '{"id":"A-7","status":"PENDING"}', '{"id":"A-7"}'],
    ]) {
      const [a, b, again] = texts.map((text) => kept('rentals', json(text)))
      expect(a?.key).toMatch(/^#\S{22}$/)
      expect(again).toEqual(a)
      expect(b?.key).not.toBe(a?.key)
    }
    expect(kept('rental_options', json('{"quantity":1}'), { rental_id: '7' })?.key).toMatch(/^#/)
  })

  it('with the reason that its key is missing, be it null or empty', () => {
    expect(kept('rentals', json('{}'))?.reason).toBe('id: the key is missing.')
    expect(kept('resources', json('{"id":""}'))?.reason).toBe('id: the key is missing.')
    expect(kept('rental_options', json('{"id":5}'))?.reason).toBe('rental_id: the key is missing.')
  })

  it('with the reason that it is no record, and what it is in a hundred characters', () => {
    expect(kept('rentals', 5)?.reason).toBe('Expected an object, got 5.')
    expect(kept('rentals', null)?.reason).toBe('Expected an object, got null.')
    expect(kept('rentals', 'x'.repeat(500))?.reason).toBe(`Expected an object, got "${'x'.repeat(99)}.`)
  })
})

it('a record may be anything where every column stands in the request', () => {
  const request = { resource_id: 'a', year: '2026', days: '01' }
  const projected = projectRecord(streamNamed('resource_availability_years'), '01', request, 'UTC')
  expect(projected).toMatchObject({ ok: true, row: { key: ['a', '2026'], values: ['a', '2026', '01'] } })
})

it('a column that takes what it can get is empty where it gets something else', () => {
  const stream = streamNamed('resource_unavailabilities')
  const lenient = stream.columns.findIndex((column) => column.lenient === true && column.name === 'name')
  const request = Object.fromEntries(stream.key.map((name) => [name, '1']))
  const project = (name: Json) => projectRecord(stream, { name }, request, 'UTC')
  for (const [name, value] of [
    ['x', 'x'],
    [{ fr: 'x' }, null],
  ] as const) {
    const projected = project(name)
    expect(projected.ok && projected.row.values[lenient]).toBe(value)
  }
})

describe('the key of a record that has none', () => {
  const [empty, one] = contentKeys([json('{"id":"","a":1}'), json('{"a":1}')])
  it('is its id where it has one after all', () => {
    expect(contentKeys([json('{"id":12345678901234567890}'), json('{"id":"x"}'), json('{"id":"x"}')])).toEqual([
      '12345678901234567890',
      'x',
      'x~2',
    ])
    expect(empty).not.toBe('')
    expect(empty).not.toBe(one)
  })

  it('is the same whatever the order of its members, at any depth', () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, member]) => [name, reversed(member)]),
      )
    }
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-h]$/), fc.jsonValue()), (value) => {
        const text = JSON.stringify(value)
        expect(contentKeys([json(JSON.stringify(reversed(JSON.parse(text))))])).toEqual(contentKeys([json(text)]))
      }),
    )
  })

  it('is what it was in every release: rows and quarantine are found by it', () => {
    expect(contentKeys([json('{"b":[1,{"d":null,"c":"x"}],"a":1.5}')])).toEqual(['ZojjC99frMhTTY0TUpGuTQ'])
  })

  it('is another one for other content', () => {
    const others = ['{}', '{"a":null}', '{"a":[1,2]}', '{"a":[2,1]}', '{"a":[12]}', '{"a":{"b":1}}', '{"a":{"b":2}}']
    const more = ['{"b":1}', '{"a":"1"}', '{"a":1}', '[1,2]', '"a"', '{"a":1,"b":2}', '{"a":2,"b":1}', '{"a":{"0":1}}']
    const keys = contentKeys([...others, ...more].map(json))
    expect(new Set(keys.map((key) => key.split('~')[0])).size).toBe(keys.length)
  })
})
