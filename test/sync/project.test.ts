import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, parseJson } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { EmbeddingRecord } from '../../src/sync/change-set.ts'
import { embeddedRecords } from '../../src/sync/details/embeds.ts'
import { missingInList, overlay } from '../../src/sync/lists/summary.ts'
import { projectRecord } from '../../src/sync/records/project.ts'

const json = (text: string): Json => parseJson(text).value

const holderOf = (stream: string, text: string, readAt = new Date(0)): EmbeddingRecord => ({
  stream: streamNamed(stream),
  record: json(text),
  endpoint: 'GET /v3/x',
  readAt,
})

describe('projection', () => {
  const rental =
    '{"id":1,"status":"PENDING","departureHarbour":{"id":7,"city":{"id":3}},"user":{"id":5,"email":"a@b.fr"},"new":{"x":1}}'

  it('names the field, the value and what was expected when a record cannot be mirrored', () => {
    const projected = projectRecord(streamNamed('rentals'), json('{"id":1,"crewAdults":"many"}'), {}, 'UTC')
    expect(projected).toEqual({
      ok: false,
      key: '1',
      reason: 'crewAdults: expected a whole number of at most 64 bits, got "many".',
    })
  })

  const documents: readonly { stream: string; record: string; reason: string | null }[] = [
    { stream: 'user_identities', record: '{"items":1}', reason: 'one of number, type, got {"items":1}.' },
    { stream: 'user_licenses', record: '{"country":{"name":"x"},"id":7}', reason: 'one of country.code, number, ' },
    { stream: 'rental_resources', record: '{}', reason: 'one of id, price, ' },
    { stream: 'user_identities', record: '{"number":null,"more":1}', reason: null },
    { stream: 'user_licenses', record: '{"type":{"id":2}}', reason: null },
  ]
  for (const { stream, record, reason } of documents)
    it(`${reason === null ? 'takes' : 'does not take'} ${record} for one of ${stream}`, () => {
      const request = { user_id: '9', rental_id: '9' }
      expect(projectRecord(streamNamed(stream), json(record), request, 'UTC')).toMatchObject(
        reason === null ? { ok: true } : { ok: false, key: '9', reason: expect.stringContaining(reason) },
      )
    })

  const many = '"crewAdults":"many"'
  const kept: readonly (readonly [name: string, stream: string, record: string, key: string])[] = [
    ['by its id to the last digit', 'rentals', `{"id":9007199254740993,${many}}`, '9007199254740993'],
    ['by its id as its table would show it', 'rentals', `{"id":" 42.0 ",${many}}`, '42'],
    ['by its own id and its holder’s', 'rental_options', '{"id":5,"quantity":"many"}', '["7","5"]'],
  ]
  for (const [name, stream, record, key] of kept)
    it(`keeps a record that cannot be mirrored ${name}, so that a good version of it clears it`, () => {
      const projected = projectRecord(streamNamed(stream), json(record), { rental_id: '7' }, 'UTC')
      expect(projected).toMatchObject({ ok: false, key })
    })

  it('takes a record for a record, whatever its members are called', () => {
    const harbour = json('{"id":1,"isLosslessNumber":true,"value":"2"}')
    expect(projectRecord(streamNamed('harbours'), harbour, {}, 'UTC')).toMatchObject({ ok: true, row: { key: ['1'] } })
  })

  it('flattens embedded records to references and finds them as stubs', () => {
    const stream = streamNamed('rentals')
    const projected = projectRecord(stream, json(rental), {}, 'UTC')
    if (!projected.ok) throw new Error(projected.reason)
    const value = (name: string): string | null | undefined =>
      projected.row.values[stream.columns.findIndex((column) => column.name === name)]
    expect([value('departure_harbour_id'), value('user_id'), value('status')]).toEqual(['7', '5', 'PENDING'])
    const found = embeddedRecords([holderOf('rentals', rental)], [], 'UTC')
    expect(found.map(({ stream, key, source }) => [stream.name, key, source])).toEqual([
      ['harbours', ['7'], 'GET /v3/x#departureHarbour'],
      ['cities', ['3'], 'GET /v3/x#departureHarbour.city'],
      ['users', ['5'], 'GET /v3/x#user'],
    ])
  })

  it('takes an embedded record once: as its latest holder shows it, and of one instant the look that says more', () => {
    const poor = '{"id":1,"user":{"id":5}}'
    const rich = '{"id":2,"user":{"id":5,"firstName":"Ann","addressCountry":{"code":"FR"}}}'
    const later = '{"id":3,"user":{"id":5,"firstName":"Anne"}}'
    const namesIn = (holders: readonly EmbeddingRecord[]): unknown[] =>
      embeddedRecords(holders, [], 'UTC').map(({ record }) => record.firstName ?? record.code)
    expect(namesIn([holderOf('rentals', poor), holderOf('rentals', rich)])).toEqual(['Ann', 'FR'])
    const both = [holderOf('rentals', rich), holderOf('rentals', later, new Date(1))]
    expect([namesIn(both)[0], namesIn([...both].reverse())[0]]).toEqual(['Anne', 'Anne'])
  })

  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(['id', 'name', 'latitude', 'longitude'], { minLength: 4 }), (order) => {
        const values = { id: 1, name: 'Brest', latitude: 48.38, longitude: -4.49 }
        const record = Object.fromEntries(order.map((name) => [name, values[name as keyof typeof values]]))
        const projected = projectRecord(streamNamed('harbours'), json(JSON.stringify(record)), {}, 'UTC')
        expect(projected.ok && projected.row.values).toEqual(['1', 'Brest', '48.38', '-4.49', null])
      }),
    )
  })
})

describe('summaries', () => {
  it('are recognised by what the single has and the list lacks', () => {
    expect(
      missingInList(
        json('{"id":1,"city":{"id":2}}'),
        json('{"id":1,"name":"x","city":{"id":2,"name":"y"},"gone":null}'),
      ),
    ).toEqual(['name', 'city.name'])
  })

  it('are not concluded from what is no record', () => {
    for (const [listed, single] of [
      ['{"a":null}', '{"a":{"b":1}}'],
      ['[]', '{"a":1}'],
      ['{"a":1}', '"x"'],
      ['{"a":1}', '["x"]'],
    ] as const)
      expect(missingInList(json(listed), json(single))).toEqual([])
  })

  it('never wipe what only the detail has', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.dictionary(fc.string(), fc.integer()),
        (detail, summary) => {
          const merged = overlay(json(JSON.stringify(detail)), json(JSON.stringify(summary))) as Record<string, Json>
          for (const name of Object.keys(JSON.parse(JSON.stringify(detail))))
            expect(Object.hasOwn(merged, name)).toBe(true)
          for (const [name, value] of Object.entries(summary)) expect(merged[name]).toEqual(value)
        },
      ),
    )
  })
})
