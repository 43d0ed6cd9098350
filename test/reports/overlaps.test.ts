// report.overlaps against examples worked out by hand, and against a plain comparison of everything with everything.

import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Queryable } from '../../src/database/sql.ts'
import { overlapsToCome } from '../../src/inspect/report-queries.ts'
import { noteFleets } from '../../src/sync/details/readers/slots.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { rowOf, tableOf } from '../helpers/rows.ts'
import { openReports } from './support.ts'

const reports = opened(() => openReports())
beforeAll(async () => {
  await reports.add('companies', { id: 1, company_brand_name: 'Azur' })
  await reports.add(
    'resources',
    { id: 'a', name: 'Alizé', boat_id: 9, company_id: 1 },
    { id: 'b', name: 'Alizé', boat_id: 9, company_id: 1 },
    { id: 'c', name: 'Brise', boat_id: 10, company_id: 1 },
    { id: 'lone', name: 'Cap', company_id: 1 },
    { id: 'fleet', name: 'Jets', boat_id: 11, company_id: 1 },
  )
  await reports.pool.query(`insert into sync.fleets (resource_id) values ('fleet')`)
})
beforeEach(async () => {
  await reports.pool.query('truncate mirror.rentals, mirror.resource_unavailabilities')
  await reports.pool.query(`delete from sync.fleets where resource_id <> 'fleet'`)
})

const time = (hour: number): string => new Date(Date.UTC(2030, 0, 1, hour)).toISOString()
type Extra = Readonly<Record<string, string>>
const rental = (id: number, resource: string, from: number, to: number, more: Extra = {}) =>
  reports.add('rentals', {
    ...{ id, resource_id: resource, company_id: 1, status: 'VALIDATED' },
    ...{ departure_datetime: time(from), arrival_datetime: time(to) },
    ...more,
  })
const block = (
  key: string,
  resource: string,
  from: number,
  to: number,
  more: Readonly<Record<string, string | object>> = {},
) =>
  reports.add('resource_unavailabilities', {
    ...{ resource_id: resource, key, start_datetime: time(from), end_datetime: time(to) },
    ...more,
  })
const pairs = async (): Promise<string[]> =>
  (
    await reports.rows<{ pair: string }>(
      `select concat_ws(' ', rental_id, other_kind, other_rental_id) as pair from report.overlaps order by 1`,
    )
  ).map(({ pair }) => pair)

describe('two rentals overlap', () => {
  it('of one boat, in whichever of its harbours, with the time that both take', async () => {
    await rental(1, 'a', 10, 20)
    await rental(2, 'b', 18, 30)
    await rental(3, 'c', 10, 20)
    expect(
      await reports.rows(`select boat_id, resource_id, resource_name, company_name, rental_id, other_kind, other_rental_id,
        other_resource_id, overlap_from, overlap_to from report.overlaps`),
    ).toEqual([
      {
        ...{ boat_id: '9', resource_id: 'a', resource_name: 'Alizé', company_name: 'Azur', rental_id: '1' },
        ...{ other_kind: 'rental', other_rental_id: '2', other_resource_id: 'b' },
        ...{ overlap_from: new Date(time(18)), overlap_to: new Date(time(20)) },
      },
    ])
  })

  it('not where one begins as the other ends, was called off, is pending, gone, or of a fleet; a resource without boat is one', async () => {
    await rental(1, 'a', 10, 20)
    await rental(2, 'a', 20, 30)
    await rental(3, 'a', 12, 14, { status: 'CANCELED_BY_CLIENT' })
    await rental(4, 'a', 12, 14, { status: 'PENDING' })
    await rental(5, 'a', 12, 14, { _deleted_at: time(0) })
    await rental(6, 'fleet', 10, 20)
    await rental(7, 'fleet', 10, 20)
    expect(await pairs()).toEqual([])
    await rental(8, 'lone', 10, 20)
    await rental(9, 'lone', 11, 12)
    expect(await pairs()).toEqual(['8 rental 9'])
  })

  it('exactly where a comparison of all with all finds it', async () => {
    const stays = fc.record({
      resource: fc.constantFrom('a', 'b', 'c', 'lone', 'fleet'),
      from: fc.integer({ min: 0, max: 30 }),
      hours: fc.integer({ min: 0, max: 6 }),
      status: fc.constantFrom('VALIDATED', 'VALIDATED', 'PENDING', 'CANCELED_PAYMENT', 'SOMETHING_NEW'),
    })
    const boatOf: Readonly<Record<string, string>> = { a: '9', b: '9', c: '10', lone: 'lone', fleet: '' }
    await fc.assert(
      fc.asyncProperty(fc.array(stays, { maxLength: 12 }), async (all) => {
        await reports.pool.query('truncate mirror.rentals')
        for (const [id, { resource, from, hours, status }] of all.entries())
          await rental(id, resource, from, from + hours, { status })
        const taking = all
          .map((stay, id) => ({ ...stay, id, to: stay.from + stay.hours, boat: boatOf[stay.resource] }))
          .filter(({ status, hours, boat }) => !/^(PENDING|CANCELED)/.test(status) && hours > 0 && boat !== '')
        const expected = taking.flatMap((a) =>
          taking
            .filter((b) => b.id > a.id && b.boat === a.boat && a.from < b.to && b.from < a.to)
            .map((b) => `${a.id} rental ${b.id}`),
        )
        expect(await pairs()).toEqual(expected.sort())
      }),
      { numRuns: runsOf(40) },
    )
  })
})

describe('a rental and an unavailability overlap', () => {
  it('not where it is the only own block, of another harbour, gone, beside it, or has no ends', async () => {
    await rental(1, 'a', 10, 20)
    await rental(2, 'a', 30, 40, { status: 'PENDING' })
    await block('own', 'a', 10, 20)
    await block('harbour', 'b', 9, 21)
    await block('gone', 'a', 9, 21, { _deleted_at: time(0) })
    await block('beside', 'a', 20, 21)
    await block('turned', 'a', 21, 9)
    await reports.add('resource_unavailabilities', { resource_id: 'a', key: 'empty' })
    expect(await pairs()).toEqual([])
    await block('maintenance', 'a', 9, 11)
    expect(await pairs()).toEqual(['1 unavailability'])
  })

  it('whatever it says that it is, unless it has the form of most', async () => {
    await rental(1, 'a', 10, 20)
    await block('own', 'a', 10, 20)
    await block('said', 'a', 9, 21, { _payload: { reason: 'RENTAL' } })
    await block('named', 'a', 8, 21, { _payload: { rentalId: 1 } })
    expect(
      await reports.rows('select rental_id, other_rental_id, other_key from report.overlaps order by other_key'),
    ).toEqual([
      { rental_id: '1', other_rental_id: null, other_key: 'named' },
      { rental_id: '1', other_rental_id: null, other_key: 'said' },
    ])
  })

  it('in whole days, though one rental alone proves no form', async () => {
    await rental(1, 'a', 10, 20)
    await block('day', 'a', 0, 24)
    expect(await pairs()).toEqual(['1 unavailability'])
    await rental(2, 'lone', 34, 46)
    await block('day', 'lone', 24, 48)
    expect(await pairs()).toEqual([])
  })
})

it('a rental without arrival overlaps with what contains its departure, and is named once', async () => {
  const open = { arrival_datetime: null } as const
  await rental(1, 'a', 10, 20)
  await reports.add('rentals', { id: 2, resource_id: 'b', company_id: 1, departure_datetime: time(12), ...open })
  await rental(3, 'a', 30, 40)
  await block('owner', 'lone', 0, 48)
  await reports.add('rentals', { id: 4, resource_id: 'lone', company_id: 1, departure_datetime: time(47), ...open })
  await reports.add('rentals', {
    id: 5,
    resource_id: 'c',
    company_id: 1,
    departure_datetime: time(47),
    arrival_datetime: time(46),
  })
  expect(await pairs()).toEqual(['1 rental 2', '4 unavailability'])
  expect((await overlapsToCome(fresh())).withoutArrival).toEqual(['2', '4', '5'])
})

it('two boats are two, though the number of one is the name of the other', async () => {
  await reports.add('resources', { id: '9', name: 'Dune', company_id: 1 })
  await rental(1, 'a', 10, 20)
  await rental(2, '9', 10, 20)
  expect(await pairs()).toEqual([])
  await reports.pool.query(`delete from mirror.resources where id = '9'`)
})

/** A reader that has counted nothing yet. */
const fresh = (): Queryable => ({ query: (text, values) => reports.pool.query(text, values) })

it('is known since both parts are, as they take the boat now', async () => {
  const log = (id: number, at: string, operation: string, diff: object) =>
    reports.pool.query(
      `insert into mirror.change_log (epoch, xid, stream, key, operation, changed_at, diff)
       values (1, '1', 'rentals', jsonb_build_object('id', $1::bigint), $2, $3, $4)`,
      [id, operation, at, diff],
    )
  await rental(1, 'a', 10, 20)
  await rental(2, 'b', 15, 30)
  await log(1, '2026-05-01T10:00:00Z', 'insert', {})
  await log(2, '2026-05-02T10:00:00Z', 'insert', {})
  await log(1, '2026-05-03T10:00:00Z', 'update', { total_paid: [1, 2] })
  expect((await overlapsToCome(fresh())).since).toEqual(new Date('2026-05-02T10:00:00Z'))
  await log(2, '2026-05-04T10:00:00Z', 'update', { arrival_datetime: [time(9), time(30)] })
  expect((await overlapsToCome(fresh())).since).toEqual(new Date('2026-05-04T10:00:00Z'))
  await reports.pool.query('truncate mirror.rentals')
  expect((await overlapsToCome(fresh())).since).toBeNull()
})

it('what needs a person is what is not over', async () => {
  const days = async (from: number, to: number) => ({
    departure_datetime: `${await reports.day(from)}T00:00:00Z`,
    arrival_datetime: `${await reports.day(to)}T00:00:00Z`,
  })
  await rental(1, 'a', 0, 1, await days(-9, -5))
  await rental(2, 'a', 0, 1, await days(-6, 3))
  expect(await overlapsToCome(reports.pool)).toMatchObject({ rentals: 0, boats: 0 })
  await rental(3, 'b', 0, 1, await days(2, 5))
  await rental(4, 'lone', 0, 1, await days(2, 5))
  await rental(5, 'lone', 0, 1, await days(1, 3))
  await rental(6, 'lone', 0, 1, await days(2, 9))
  expect(await overlapsToCome(reports.pool)).toMatchObject({ rentals: 3, boats: 2 })
})

describe('a resource stands for several boats', () => {
  type Slot = readonly [resource: string, id: string, free: number | null, hour?: number]
  /** What was read of some resources. */
  const read = async (slots: readonly Slot[], ...complete: readonly string[]) => {
    await reports.pool.query('truncate mirror.resource_slots')
    const rows = slots.map(([resource, id, free, hour = 0]) =>
      rowOf('resource_slots', {
        ...{ resource_id: resource, id, nb_resources_available: free },
        ...{ departure_datetime: time(hour), arrival_datetime: time(hour + 8) },
      }),
    )
    for (const [resource, id, , hour = 0] of slots)
      await reports.add('resource_slots', {
        ...{ resource_id: resource, id, departure_datetime: time(hour), arrival_datetime: time(hour + 8) },
      })
    const replace = complete.map((resource) => ({ columns: ['resource_id'], values: [resource] }))
    await noteFleets(reports.pool, [{ ...tableOf('resource_slots', 1, rows), replace }])
    const { rows: left } = await reports.pool.query(
      `select resource_id from sync.fleets where resource_id <> 'fleet' order by 1`,
    )
    return left.map((row) => row.resource_id)
  }

  it('from the first slot on that shows more than one free', async () => {
    const slots: Slot[] = [
      ['a', '1', 1],
      ['b', '2', 2],
      ['b', '3', 1],
      ['c', '4', null],
      ['lone', '5', 0],
    ]
    expect(await read(slots)).toEqual(['b'])
    await noteFleets(reports.pool, [tableOf('companies', 1, [rowOf('companies', { id: 5 })])])
    expect(await read([], 'b')).toEqual(['b'])
  })

  it('until a complete reading shows one in a slot in which no boat is taken', async () => {
    await rental(1, 'a', 0, 8)
    await rental(2, 'a', 4, 30)
    await block('x', 'b', 100, 110)
    const twice = ['1 rental 2']
    expect(await pairs()).toEqual(twice)
    expect(await read([['b', '1', 2]], 'b')).toEqual(['b'])
    expect(await pairs()).toEqual([])
    expect((await overlapsToCome(fresh())).fleets.map(({ resourceId }) => resourceId)).toEqual(['a', 'b', 'fleet'])
    for (const { slots, complete = ['b'] } of [
      { slots: [['b', '1', 1, 60]], complete: [] },
      { slots: [] },
      {
        slots: [
          ['b', '1', 0, 60],
          ['b', '2', null, 70],
        ],
      },
      {
        slots: [
          ['b', '1', 1, 60],
          ['b', '2', 2, 70],
        ],
      },
      {
        slots: [
          ['b', '1', 1, 4],
          ['b', '2', 1, 20],
          ['b', '3', 1, 104],
          ['b', '4', 0, 60],
        ],
      },
    ] as readonly { slots: readonly Slot[]; complete?: readonly string[] }[])
      expect(await read(slots, ...complete)).toEqual(['b'])
    expect(
      await read(
        [
          ['b', '1', 0, 4],
          ['b', '2', 1, 60],
        ],
        'b',
      ),
    ).toEqual([])
    expect(await pairs()).toEqual(twice)
  })
})

it('counts those to come again only after a change', async () => {
  let counts = 0
  const db: Queryable = {
    query: ((text: string, values?: unknown[]) => {
      if (text.includes('report.overlaps')) counts += 1
      return reports.pool.query(text, values)
    }) as Queryable['query'],
  }
  await rental(1, 'a', 0, 10)
  await rental(2, 'b', 5, 15)
  expect(await overlapsToCome(db)).toMatchObject({ rentals: 1, boats: 1 })
  // A minute may end between two looks.
  for (let look = 0; look < 5; look++) await overlapsToCome(db)
  expect(counts).toBeLessThanOrEqual(2)
  await rental(3, 'c', 0, 10)
  await rental(4, 'c', 5, 15)
  expect(await overlapsToCome(db)).toMatchObject({ rentals: 2, boats: 2 })
  await reports.pool.query('delete from sync.fleets')
  await rental(5, 'fleet', 0, 10)
  await rental(6, 'fleet', 5, 15)
  expect(await overlapsToCome(db)).toMatchObject({ rentals: 3, boats: 3 })
  await reports.pool.query(`insert into sync.fleets (resource_id) values ('fleet')`)
  expect(await overlapsToCome(db)).toMatchObject({ rentals: 2, boats: 2 })
})
