// A run of the schedule looks at what changed and at one range of the rows: run after run that is all of them, and what
// changed is due at once.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { dueKeys } from '../../src/state/due.ts'
import { changedPortion, nextPortion, notePlanned } from '../../src/state/portions.ts'
import { makeDue, saveRecords } from '../../src/state/records.ts'
import { type Mirror, openMirror } from '../helpers/rows.ts'

const rentals = streamNamed('rentals')
const payments = streamNamed('rental_payments')
const due = {
  ...{ scope: 'schedule' as const, maxAgeMs: 86_400_000, before: null, changedSince: null, leavesOut: false },
  ...{ from: '2000-01-01', to: '2100-01-01' },
}

let mirror: Mirror
beforeAll(async () => {
  mirror = await openMirror()
})
afterAll(() => mirror[Symbol.asyncDispose]())

/** Ten rentals, and their payments, were read an hour ago; the last complete runs ended well half an hour ago. */
beforeEach(async () => {
  for (const statement of [
    'delete from mirror.rentals',
    'delete from mirror.resources',
    'delete from sync.records',
    'delete from sync.runs',
    `insert into mirror.resources (id, _payload, _source, _read_at) select 'boat ' || n, '{}', 'test', now() from generate_series(1, 3) n`,
    `insert into mirror.rentals (id, resource_id, _payload, _source, _read_at, _changed_at)
     select id, 'boat ' || id % 3 + 1, '{}', 'test', now() - interval '2 hours', now() - interval '2 hours' from generate_series(1, 10) id`,
    `insert into sync.records (stream, key, list_hash, detail_hash, detail_read_at, changed_at)
     select stream, id::text, 'h', 'd', now() - interval '1 hour', now() - interval '2 hours'
     from unnest(array['rentals', 'rental_payments']) stream, generate_series(1, 10) id`,
    `insert into sync.records (stream, key, detail_hash, detail_read_at)
     select 'resource_availability_years', id, 'd', now() - interval '1 hour' from mirror.resources`,
    `insert into sync.runs (stream, trigger, status, started_at) values
     ('resource_availability_years', 'schedule', 'done', now() - interval '1 hour')`,
    `update sync.streams set as_of = now() - interval '30 minutes', planned_to = null`,
  ])
    await mirror.db.pool.query(statement)
})

const keysOf = (found: readonly { readonly key: string }[]): readonly string[] => found.map(({ key }) => key).sort()

async function planned(stream: typeof rentals): Promise<readonly string[]> {
  const portion = await nextPortion(mirror.db.pool, stream, 4)
  if (portion === null) throw new Error('A complete run has ended well.')
  const keys = await dueKeys(mirror.db.pool, stream, { ...due, portion })
  await notePlanned(mirror.db.pool, stream, portion)
  return keysOf(keys)
}

describe('a portion', () => {
  it('is everything until a complete run has ended well', async () => {
    await mirror.db.pool.query('update sync.streams set as_of = null')
    expect(await nextPortion(mirror.db.pool, payments, 4)).toBeNull()
    await mirror.db.pool.query('delete from sync.runs')
    expect(await changedPortion(mirror.db.pool, streamNamed('resource_availability_years'))).toBeNull()
  })

  for (const stream of [rentals, payments])
    it(`of ${stream.name} is a range after the other, and begins anew after the last`, async () => {
      await mirror.db.pool.query(`update sync.records set detail_read_at = now() - interval '2 days'`)
      const runs = [await planned(stream), await planned(stream), await planned(stream), await planned(stream)]
      expect(runs).toEqual([
        ['1', '2', '3', '4'],
        ['5', '6', '7', '8'],
        ['10', '9'],
        ['1', '2', '3', '4'],
      ])
    })

  it('holds what changed, wherever it is, until a run has ended well', async () => {
    await saveRecords(mirror.db.pool, [{ stream: 'rentals', key: '9', listHash: 'new', changed: true }])
    await makeDue(mirror.db.pool, ['rental_payments'], ['7'])
    expect(await planned(rentals)).toEqual(['9'])
    expect([await planned(payments), await planned(payments)]).toEqual([
      ['7', '9'],
      ['7', '9'],
    ])
  })

  it('holds a new row of which nothing is remembered once its range is looked at', async () => {
    await mirror.db.pool.query(`delete from sync.records where key = '6'`)
    expect([await planned(payments), await planned(payments)]).toEqual([[], ['6']])
  })

  it('of calendars holds the boats of rentals that changed, and no others', async () => {
    await mirror.db.pool.query('update mirror.rentals set _changed_at = now(), _read_at = now() where id = 4')
    const calendars = streamNamed('resource_availability_years')
    const portion = await changedPortion(mirror.db.pool, calendars)
    expect(keysOf(await dueKeys(mirror.db.pool, calendars, { ...due, scope: 'hot', portion }))).toEqual(['boat 2'])
  })

  it('takes keys that no row can have for what they are', async () => {
    await saveRecords(mirror.db.pool, [
      { stream: 'rentals', key: 'no number', listHash: '', changed: true },
      { stream: 'rentals', key: '99999999999999999999', listHash: '', changed: true },
    ])
    expect(await planned(rentals)).toEqual([])
  })
})
