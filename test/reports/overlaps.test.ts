// report.overlaps against examples worked out by hand, and against a plain comparison of everything with everything.

import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Queryable } from '../../src/database/sql.ts'
import { overlapsToCome } from '../../src/inspect/report-queries.ts'
import { fleetsIn } from '../../src/sync/details/fleets.ts'
import { runsOf } from '../helpers/extent.ts'
import { rowOf, tableOf } from '../helpers/rows.ts'
import { openReports, type Reports } from './support.ts'

let reports: Reports
beforeAll(async () => {
  reports = await openReports()
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
afterAll(() => reports[Symbol.asyncDispose]())
beforeEach(() => reports.pool.query('truncate mirror.rentals, mirror.resource_unavailabilities'))

const time = (hour: number): string => new Date(Date.UTC(2030, 0, 1, hour)).toISOString()
type Extra = Readonly<Record<string, string>>
const rental = (id: number, resource: string, from: number, to: number, more: Extra = {}) =>
  reports.add('rentals', {
    ...{ id, resource_id: resource, company_id: 1, status: 'VALIDATED' },
    ...{ departure_datetime: time(from), arrival_datetime: time(to) },
    ...more,
  })
const block = (key: string, resource: string, payload: object, more: Extra = {}) =>
  reports.add('resource_unavailabilities', { resource_id: resource, key, _payload: payload, ...more })
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
  const spelt = [
    { name: 'date-times', payload: { startDatetime: time(18), endDatetime: time(40) } },
    { name: 'other names', payload: { start: time(18), end: time(40) } },
    { name: 'days, of which the last counts', payload: { from: '2029-12-30', to: '2030-01-01' } },
    { name: 'a zone of its own', payload: { from: '2030-01-01T20:30:00+02:00', to: '2030-01-02' } },
    { name: 'no offset, which is TIME_ZONE', payload: { from: '2030-01-01 19:59:59', to: '2030-01-03 00:00' } },
  ]
  for (const { name, payload } of spelt)
    it(`written as ${name}`, async () => {
      await rental(1, 'a', 10, 20)
      await block('x', 'a', payload)
      expect(await pairs()).toEqual(['1 unavailability'])
    })

  it('not where it is its own block, of another harbour, gone, beside it, or cannot be read', async () => {
    await rental(1, 'a', 10, 20)
    await rental(2, 'a', 30, 40, { status: 'PENDING' })
    await block('own', 'a', { startDatetime: time(10), endDatetime: time(20) })
    await block('said', 'a', { startDatetime: time(9), endDatetime: time(21), reason: 'RENTAL' })
    await block('named', 'a', { startDatetime: time(9), endDatetime: time(21), rentalId: 1 })
    await block('harbour', 'b', { startDatetime: time(9), endDatetime: time(21) })
    await block('gone', 'a', { startDatetime: time(9), endDatetime: time(21) }, { _deleted_at: time(0) })
    await block('beside', 'a', { startDatetime: time(20), endDatetime: time(21) })
    for (const [key, ends] of [
      ['2030-13-01', 'x'],
      ['now', 'infinity'],
      ['2030-01-01T00:00:00+99:00', 5],
    ].entries())
      await block(String(key), 'a', { from: ends[0], to: ends[1] })
    await block('empty', 'a', {})
    expect(await pairs()).toEqual([])
    await block('maintenance', 'a', { startDatetime: time(9), endDatetime: time(11), reason: 'MAINTENANCE' })
    expect(await pairs()).toEqual(['1 unavailability'])
  })
})

it('what needs a person is what is not over', async () => {
  const days = async (from: number, to: number) => ({
    departure_datetime: `${await reports.day(from)}T00:00:00Z`,
    arrival_datetime: `${await reports.day(to)}T00:00:00Z`,
  })
  await rental(1, 'a', 0, 1, await days(-9, -5))
  await rental(2, 'a', 0, 1, await days(-6, 3))
  expect(await overlapsToCome(reports.pool)).toEqual({ rentals: 0, boats: 0 })
  await rental(3, 'b', 0, 1, await days(2, 5))
  await rental(4, 'lone', 0, 1, await days(2, 5))
  await rental(5, 'lone', 0, 1, await days(1, 3))
  await rental(6, 'lone', 0, 1, await days(2, 9))
  expect(await overlapsToCome(reports.pool)).toEqual({ rentals: 3, boats: 2 })
})

it('a resource stands for several boats from the first slot on that shows more than one free', () => {
  const slot = (resource: string, id: string, free: number | null) =>
    rowOf('resource_slots', { resource_id: resource, id, nb_resources_available: free })
  const slots = [slot('a', '1', 1), slot('b', '2', 2), slot('b', '3', 1), slot('c', '4', null), slot('d', '5', 0)]
  expect(fleetsIn([tableOf('resource_slots', 1, slots)])).toEqual(['b'])
  expect(fleetsIn([tableOf('companies', 1, [rowOf('companies', { id: 5 })])])).toEqual([])
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
  expect(await overlapsToCome(db)).toEqual({ rentals: 1, boats: 1 })
  // A minute may end between two looks.
  for (let look = 0; look < 5; look++) await overlapsToCome(db)
  expect(counts).toBeLessThanOrEqual(2)
  await rental(3, 'c', 0, 10)
  await rental(4, 'c', 5, 15)
  expect(await overlapsToCome(db)).toEqual({ rentals: 2, boats: 2 })
  await reports.pool.query('delete from sync.fleets')
  await rental(5, 'fleet', 0, 10)
  await rental(6, 'fleet', 5, 15)
  expect(await overlapsToCome(db)).toEqual({ rentals: 3, boats: 3 })
  await reports.pool.query(`insert into sync.fleets (resource_id) values ('fleet')`)
  expect(await overlapsToCome(db)).toEqual({ rentals: 2, boats: 2 })
})
