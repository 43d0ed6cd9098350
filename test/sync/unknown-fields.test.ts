// Which fields count as known: columns, collections with tables of their own, embedded records, and what is
// documented without a column.

import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/api/wire/json.ts'
import { streamNamed, streams } from '../../src/catalog/catalog.ts'
import { unshownFields } from '../../src/sync/records/unknown-fields.ts'

const unknown = (stream: string, record: Json): readonly string[] => [
  ...unshownFields(streamNamed(stream), record).unknown.keys(),
]

describe('known', () => {
  const shown: readonly (readonly [string, Json])[] = [
    ['users', { language: { name: 'a' }, addressCountry: { name: 'b' }, nationality: { name: 'c' } }],
    ['resources', { durations: [{ unit: 'DAYS' }] }],
    ['rental_options', { option: { id: 1, anything: 2 } }],
    ['resource_slot_options', { option: { id: 1, anything: 2 } }],
    ['user_licenses', { type: { name: 'a' }, country: { name: 'b' } }],
    ['characteristics', { familyName: 'a', unit: 'm' }],
    ['equipments', { familyName: 'a', unit: 'm' }],
    ['resource_pricetable', { resourceId: '1', date: '2026-01-01', currency: 'EUR' }],
  ]
  for (const [stream, record] of shown)
    it(`is what is documented of ${stream} beside its columns`, () => expect(unknown(stream, record)).toEqual([]))

  it('is what stands in an embedded record of another stream, and no more', () => {
    const record = { user: { id: 1, firstName: 'a', language: { name: 'b', nick: 'c' } }, departureHarbour: { x: 1 } }
    expect(unknown('rentals', record)).toEqual(['user.language.nick', 'departureHarbour.x'])
  })

  for (const { name, parent = '', reads } of streams)
    if (reads.kind === 'inside')
      it(`is the collection of ${name} in its holder, and nowhere else`, () => {
        const [member = ''] = reads.path.split('.')
        const inner = reads.path.split('.').slice(1)
        const record = { [member]: inner.reduceRight<Json>((value, step) => ({ [step]: value }), [{ any: 1 }]) }
        expect(unknown(parent, record)).toEqual([])
        expect(unknown('countries', record)).not.toEqual([])
      })
})

describe('a field called odd', () => {
  const shapeless = streams.filter(({ keyed, reads }) => keyed === 'content' || reads.kind === 'calendar')
  it('is unknown in every stream whose shape is published, and in no other', () => {
    for (const { name } of streams)
      expect(unknown(name, { odd: 1 }), name).toEqual(shapeless.some((each) => each.name === name) ? [] : ['odd'])
    expect(shapeless.map(({ keyed, reads }) => keyed ?? reads.kind)).toEqual(
      expect.arrayContaining(['content', 'calendar']),
    )
  })

  it('comes with its value, null where it is absent', () => {
    expect([...unshownFields(streamNamed('harbours'), { odd: { a: 1 }, even: null }).unknown]).toEqual([
      ['odd', { a: 1 }],
      ['even', null],
    ])
  })
})
