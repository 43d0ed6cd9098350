// What stands inside records: found at any depth, each record once, and stubs only of what was never read itself.

import { describe, expect, it } from 'vitest'
import { parseJson } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { Queryable } from '../../src/database/sql.ts'
import type { Embedded, EmbeddingRecord } from '../../src/sync/change-set.ts'
import { embeddedRecords, stubsOf } from '../../src/sync/details/embeds.ts'
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
    const writes = await stubsOf(knowing({ 2: true, 3: false }), [...harbours, broken, city], 'UTC')
    expect(
      writes.map(({ stream, mode, source, readAt, newKeys, rows }) => ({
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
  })
})
