// What stands inside records: found at any depth, each record once, and stubs only of what was never read itself.

import { describe, expect, it } from 'vitest'
import { parseJson } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { Queryable } from '../../src/database/sql.ts'
import type { Embedded, EmbeddingRecord } from '../../src/sync/change-set.ts'
import { embeddedRecords, stubsOf } from '../../src/sync/details/embeds.ts'
import { StubCache } from '../../src/sync/details/stub-cache.ts'
import type { JsonObject } from '../../src/sync/records/project.ts'

const rental = (text: string, endpoint = 'GET /v3/rentals', readAt = new Date(0)): EmbeddingRecord => ({
  stream: streamNamed('rentals'),
  record: parseJson(text).value,
  endpoint,
  readAt,
})
const embedded = (stream: string, record: JsonObject, readAt = new Date(0)): Embedded => ({
  stream: streamNamed(stream),
  key: [String(record.id)],
  record,
  source: 'GET /v3/x#y',
  readAt,
})

describe('an embedded record', () => {
  it('without a key is passed over, and what stands inside it is found', () => {
    const found = embeddedRecords([rental('{"id":1,"departureHarbour":{"name":"?","city":{"id":3}}}')], [], 'UTC')
    expect(found.map(({ stream, key }) => [stream.name, ...key])).toEqual([['cities', '3']])
  })

  it('is taken from the first of two looks that say as much at the same instant', () => {
    const record = '{"id":1,"user":{"id":5,"firstName":"Ann"}}'
    const found = embeddedRecords([rental(record, 'GET /v3/a'), rental(record, 'GET /v3/b')], [], 'UTC')
    expect(found.map(({ source }) => source)).toEqual(['GET /v3/a#user'])
  })

  it('is taken from a later answer of its own, though that says less', () => {
    const found = embeddedRecords(
      [rental('{"id":1,"user":{"id":5,"firstName":"Ann"}}')],
      [embedded('users', { id: 5 }, new Date(1))],
      'UTC',
    )
    expect(found.map(({ record }) => record)).toEqual([{ id: 5 }])
  })
})

describe('stubs', () => {
  /** A mirror that knows these harbours: `true` for a stub. */
  const knowing = (known: Readonly<Record<string, boolean>>): Queryable =>
    ({
      query: async () => ({ rows: Object.entries(known).map(([key, stub]) => ({ stream: 'harbours', key, stub })) }),
    }) as unknown as Queryable

  it('are made of what is not known or known from inside only, apart, and of nothing that cannot be projected', async () => {
    const harbours = [1, 2, 3, 4].map((id) => embedded('harbours', { id, name: `h${id}` }, new Date(id)))
    const broken = embedded('harbours', { id: 5, latitude: 'north' })
    const city = embedded('cities', { id: 9, name: 'Brest' }, new Date(9))
    const { tables, warnings } = await stubsOf(knowing({ 2: true, 3: false }), [...harbours, broken, city], {
      timeZone: 'UTC',
      seen: new StubCache(),
    })
    expect(
      tables.map(({ stream, mode, source, readAt, newKeys, rows }) => ({
        as: [stream.name, mode, source, readAt.getTime(), newKeys],
        rows: rows.map((row) => [...row.key, row.source, row.readAt?.getTime()]),
      })),
    ).toEqual([
      {
        as: ['harbours', 'stub', 'GET /v3/x#y', 1, true],
        rows: [
          ['1', 'GET /v3/x#y', 1],
          ['4', 'GET /v3/x#y', 4],
        ],
      },
      { as: ['harbours', 'stub', 'GET /v3/x#y', 2, false], rows: [['2', 'GET /v3/x#y', 2]] },
      { as: ['cities', 'stub', 'GET /v3/x#y', 9, true], rows: [['9', 'GET /v3/x#y', 9]] },
    ])
    expect(warnings).toEqual([
      'harbours: a record inside GET /v3/x#y is not valid and is not shown. latitude: expected a decimal number',
    ])
  })

  it('are left out where the task wrote or compared the same before, and told from new ones while that is not committed', async () => {
    const seen = new StubCache()
    const stubs = async (known: Readonly<Record<string, boolean>>, name: string, at: number): Promise<unknown> => {
      const looks = [embedded('harbours', { id: 1, name }, new Date(at))]
      const { tables } = await stubsOf(knowing(known), looks, { timeZone: 'UTC', seen })
      return tables.map(({ newKeys, rows }) => [newKeys, ...rows.map(({ payload }) => JSON.parse(payload).name)])
    }
    expect(await stubs({}, 'Brest', 10)).toEqual([[true, 'Brest']])
    expect(await stubs({}, 'Brest', 12)).toEqual([])
    expect(await stubs({ 1: true }, 'Brest', 13)).toEqual([])
    expect(await stubs({}, 'Lorient', 14)).toEqual([[false, 'Lorient']])
    // An older look is left to the mirror to judge, and is not what the next ones are compared with.
    expect(await stubs({ 1: true }, 'Brest', 11)).toEqual([[false, 'Brest']])
    expect(await stubs({ 1: true }, 'Lorient', 15)).toEqual([])
    expect(await stubs({ 1: true }, 'Brest', 16)).toEqual([[false, 'Brest']])
    expect(await stubs({ 1: false }, 'Vannes', 17)).toEqual([])
    expect(await stubs({ 1: true }, 'Brest', 18)).toEqual([])
  })

  it('that were seen longest ago are compared once more', () => {
    const seen = new StubCache()
    const at = new Date(0)
    for (let id = 0; id <= 20_000; id++) expect(seen.saysNothingNew(`harbours ${id}`, '{}', at)).toBe(false)
    expect(seen.isNew('harbours 0')).toBe(true)
    expect(seen.saysNothingNew('harbours 1', '{}', at)).toBe(true)
  })
})
