// Rows that are gone: by key, by a complete answer that did not bring them, with their parent; and how they come back.

import { beforeEach, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { Scope } from '../../src/mirror/rows.ts'
import { opened } from '../helpers/opened.ts'
import { at, changeLog, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeEach(async () => {
  await mirror.db.pool.query(`truncate mirror.rentals, mirror.rental_payments, mirror.rental_options, mirror.resources,
    mirror.resource_slots, mirror.resource_slot_options, mirror.resource_options, mirror.resource_pricetable,
    mirror.harbours, mirror.change_log`)
})

const gone = (stream: string, minute: number, ...keys: string[][]) => ({
  tombstones: [{ stream: streamNamed(stream), keys, source: `GET /v3/${stream}/{id}`, readAt: at(minute) }],
})

const alive = async (table: string): Promise<unknown[]> => {
  const key = streamNamed(table).key.join(` || '/' || `)
  const rows = await mirror.all<{ key: string }>(
    `select (${key})::text as key from mirror.${table} where _deleted_at is null order by 1`,
  )
  return rows.map((row) => row.key)
}

const payment = (rental: number, id: number) => rowOf('rental_payments', { rental_id: rental, id, price: '10' })
const ofRental = (id: number): Scope => ({ columns: ['rental_id'], values: [String(id)] })

describe('a tombstone', () => {
  it('keeps the row, says when and by what, and is one deletion in the log', async () => {
    await mirror.write({ tables: [tableOf('harbours', 1, [rowOf('harbours', { id: 1, name: 'Brest' })])] })
    const counts = await mirror.write(gone('harbours', 2, ['1']))
    expect(counts.get('harbours')?.deleted).toBe(1)
    const [row] = await mirror.all<{ name: string; _source: string; _read_at: Date; _deleted_at: Date }>(
      'select name, _source, _read_at, _deleted_at from mirror.harbours',
    )
    expect(row).toMatchObject({ name: 'Brest', _source: 'GET /v3/harbours/{id}', _read_at: at(2) })
    const [, logged] = await changeLog(mirror)
    expect(logged).toMatchObject({
      operation: 'delete',
      key: { id: 1 },
      diff: { _deleted_at: [null, expect.any(String)] },
    })
    expect(new Date(String(logged?.diff._deleted_at?.[1]))).toEqual(row?._deleted_at)
  })

  it('is not made of a row that was read later, nor twice, nor of an unknown key', async () => {
    await mirror.write({ tables: [tableOf('harbours', 5, [rowOf('harbours', { id: 1 })])] })
    expect((await mirror.write(gone('harbours', 4, ['1'], ['2']))).get('harbours')).toBeUndefined()
    await mirror.write(gone('harbours', 5, ['1']))
    expect((await mirror.write(gone('harbours', 6, ['1']))).get('harbours')).toBeUndefined()
    expect(await changeLog(mirror)).toHaveLength(2)
  })

  it('that is confirmed again is not revived by a read from in between', async () => {
    const row = rowOf('harbours', { id: 1 })
    await mirror.write({ tables: [tableOf('harbours', 1, [row])] })
    await mirror.write(gone('harbours', 2, ['1']))
    await mirror.write(gone('harbours', 6, ['1']))
    await mirror.write({ tables: [tableOf('harbours', 4, [row])] })
    expect(await alive('harbours')).toEqual([])
    expect(await changeLog(mirror)).toHaveLength(2)
  })

  it('is revived by a later read, which the log calls an insert of everything', async () => {
    const row = rowOf('harbours', { id: 1, name: 'Brest' })
    await mirror.write({ tables: [tableOf('harbours', 1, [row])] })
    await mirror.write(gone('harbours', 3, ['1']))
    expect((await mirror.write({ tables: [tableOf('harbours', 2, [row])] })).get('harbours')?.inserted).toBe(0)
    expect((await mirror.write({ tables: [tableOf('harbours', 4, [row])] })).get('harbours')?.inserted).toBe(1)
    expect(await alive('harbours')).toEqual(['1'])
    expect((await changeLog(mirror)).at(-1)).toEqual({
      stream: 'harbours',
      key: { id: 1 },
      operation: 'insert',
      diff: { id: [null, 1], name: [null, 'Brest'] },
    })
  })
})

describe('what hangs below a gone record', () => {
  it('goes with it at any depth, and nothing else does', async () => {
    const slot = (resource: string) => rowOf('resource_slots', { resource_id: resource, id: 's1', date: '2026-07-14' })
    const option = (resource: string) => rowOf('resource_slot_options', { resource_id: resource, slot_id: 's1', id: 7 })
    await mirror.write({
      tables: [
        tableOf('resources', 1, [rowOf('resources', { id: 'a/b:c' }), rowOf('resources', { id: 'd' })]),
        tableOf('resource_slots', 1, [slot('a/b:c'), slot('d')]),
        tableOf('resource_slot_options', 1, [option('a/b:c'), option('d')]),
        tableOf('resource_options', 1, [rowOf('resource_options', { resource_id: 'a/b:c', id: 1 })]),
      ],
    })
    const counts = await mirror.write(gone('resources', 2, ['a/b:c']))
    expect(Object.fromEntries([...counts].map(([name, each]) => [name, each.deleted]))).toEqual({
      resources: 1,
      resource_slots: 1,
      resource_slot_options: 1,
      resource_options: 1,
    })
    expect(await alive('resources')).toEqual(['d'])
    expect(await alive('resource_slot_options')).toEqual(['d/s1/7'])
  })

  it('is not brought back by an answer that is older than the tombstone', async () => {
    await mirror.write({ tables: [tableOf('rentals', 1, [rowOf('rentals', { id: 1 })])] })
    await mirror.write(gone('rentals', 5, ['1']))
    const late = await mirror.write({ tables: [tableOf('rental_payments', 4, [payment(1, 1)])] })
    expect(late.get('rental_payments')).toEqual({ inserted: 0, updated: 0, unchanged: 1, deleted: 0 })
    expect(await alive('rental_payments')).toEqual([])
  })
})

describe('a complete answer', () => {
  it('replaces its scope: what it did not bring goes, other scopes stay', async () => {
    await mirror.write({
      tables: [tableOf('rental_payments', 1, [payment(1, 1), payment(1, 2), payment(2, 1), payment(3, 1)])],
    })
    const counts = await mirror.write({
      tables: [tableOf('rental_payments', 2, [payment(1, 2), payment(1, 3)], { replace: [ofRental(1), ofRental(3)] })],
    })
    expect(counts.get('rental_payments')).toEqual({ inserted: 1, updated: 0, unchanged: 1, deleted: 2 })
    expect(await alive('rental_payments')).toEqual(['1/2', '1/3', '2/1'])
  })

  it('that is empty empties its scope', async () => {
    await mirror.write({ tables: [tableOf('rental_payments', 1, [payment(1, 1)])] })
    await mirror.write({ tables: [tableOf('rental_payments', 2, [], { replace: [ofRental(1)] })] })
    expect(await alive('rental_payments')).toEqual([])
  })

  it('leaves rows that were read after it', async () => {
    await mirror.write({ tables: [tableOf('rental_payments', 3, [payment(1, 1)])] })
    await mirror.write({ tables: [tableOf('rental_payments', 2, [], { replace: [ofRental(1)] })] })
    expect(await alive('rental_payments')).toEqual(['1/1'])
  })

  it('about some days replaces those days only, both ends included', async () => {
    const price = (date: string) => rowOf('resource_pricetable', { resource_id: 'a', date, duration: 'DAYS,1' })
    const days = ['2026-07-13', '2026-07-14', '2026-07-15', '2026-07-16', '2026-07-17']
    await mirror.write({ tables: [tableOf('resource_pricetable', 1, days.map(price))] })
    const scope = {
      columns: ['resource_id'],
      values: ['a'],
      from: { column: 'date', value: days[1] ?? '', to: days[3] ?? '' },
    }
    await mirror.write({ tables: [tableOf('resource_pricetable', 2, [price('2026-07-15')], { replace: [scope] })] })
    expect(await alive('resource_pricetable')).toEqual([
      'a/2026-07-13/DAYS,1',
      'a/2026-07-15/DAYS,1',
      'a/2026-07-17/DAYS,1',
    ])
  })

  it('takes what hung below a vanished element along', async () => {
    await mirror.write({
      tables: [
        tableOf('resource_slots', 1, [rowOf('resource_slots', { resource_id: 'a', id: 's1', date: '2026-07-14' })]),
        tableOf('resource_slot_options', 1, [
          rowOf('resource_slot_options', { resource_id: 'a', slot_id: 's1', id: 7 }),
        ]),
      ],
    })
    const scope = { columns: ['resource_id'], values: ['a'] }
    await mirror.write({ tables: [tableOf('resource_slots', 2, [], { replace: [scope] })] })
    expect(await alive('resource_slot_options')).toEqual([])
  })

  it('among others in one write counts with its own reading time and source, for what hangs below it too', async () => {
    const slot = (resource: string) => rowOf('resource_slots', { resource_id: resource, id: 's1', date: '2026-07-14' })
    const option = (resource: string) => rowOf('resource_slot_options', { resource_id: resource, slot_id: 's1', id: 7 })
    for (const [resource, minute] of [
      ['a', 1],
      ['b', 4],
      ['c', 1],
    ] as const)
      await mirror.write({
        tables: [
          tableOf('resource_slots', minute, [slot(resource)]),
          tableOf('resource_slot_options', minute, [option(resource)]),
        ],
      })
    const empty = (resource: string, minute: number) =>
      tableOf('resource_slots', minute, [], {
        source: `read at ${minute}`,
        replace: [{ columns: ['resource_id'], values: [resource] }],
      })
    const counts = await mirror.write({ tables: [empty('c', 2), empty('b', 3), empty('a', 5), empty('c', 6)] })
    expect(counts.get('resource_slots')?.deleted).toBe(2)
    expect(await alive('resource_slots')).toEqual(['b/s1'])
    for (const table of ['resource_slots', 'resource_slot_options'])
      expect(
        await mirror.all(
          `select resource_id, _source, _read_at from mirror.${table} where _deleted_at is not null order by 1`,
        ),
      ).toEqual([
        { resource_id: 'a', _source: 'read at 5', _read_at: at(5) },
        { resource_id: 'c', _source: 'read at 6', _read_at: at(6) },
      ])
  })

  it('about a whole table needs no columns', async () => {
    const harbours = [1, 2].map((id) => rowOf('harbours', { id }))
    await mirror.write({ tables: [tableOf('harbours', 1, harbours)] })
    await mirror.write({
      tables: [tableOf('harbours', 2, harbours.slice(1), { replace: [{ columns: [], values: [] }] })],
    })
    expect(await alive('harbours')).toEqual(['2'])
  })
})
