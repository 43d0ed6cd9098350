// A run of the schedule asks few rows whether they are due, and finds the same as if it had asked all of them.

import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { noteDatabaseTime } from '../../src/database/database-clock.ts'
import { makeDue, saveRecords } from '../../src/mirror/records.ts'
import { hotSince, scheduledSince } from '../../src/sync/due/candidates.ts'
import { type DueSettings, dueKeys } from '../../src/sync/due/due.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror } from '../helpers/rows.ts'

const rentals = streamNamed('rentals')
const payments = streamNamed('rental_payments')
const slotOptions = streamNamed('resource_slot_options')
const calendars = streamNamed('resource_availability_years')
const day = 86_400_000
const dateOf = (offset: number): string => new Date(Date.now() + offset * day).toISOString().slice(0, 10)
const due = {
  ...{ scope: 'schedule' as const, maxAgeMs: day, before: null, leavesOut: true },
  ...{ from: dateOf(0), to: dateOf(10) },
}

const mirror = opened(openMirror)

const query = (text: string, values: unknown[] = []) => mirror.db.pool.query(text, values)

/** Forty rentals that depart around today, their payments, and slots: all read an hour ago, by runs that ended well. */
beforeEach(async () => {
  for (const statement of [
    'delete from mirror.rentals',
    'delete from mirror.resources',
    'delete from mirror.resource_slots',
    'delete from sync.records',
    'update sync.streams set last_run_id = null, as_of = null',
    'delete from sync.runs',
    'delete from sync.pinned',
    'delete from sync.reads',
    `insert into sync.reads (endpoint, same_as, state, since) values
       ('GET /v3/rentals/{rentalId}', 'GET /v3/rentals', 'needed', now() - interval '1 day'),
       ('GET /v3/rentals/{rentalId}/user', 'GET /v3/rentals#user', 'needed', now() - interval '1 day'),
       ('GET /v3/rentals/{rentalId}/payments/{paymentId}', 'GET /v3/rentals/{rentalId}/payments', 'needed', now() - interval '1 day')`,
    `insert into mirror.resources (id, _payload, _source, _read_at) select 'boat ' || n, '{}', 'test', now() from generate_series(1, 3) n`,
    `insert into mirror.rentals (id, resource_id, departure_datetime, arrival_datetime, _payload, _source, _read_at, _changed_at)
     select id, 'boat ' || id % 3 + 1, now() + (id - 20) * interval '5 days', now() + (id - 19) * interval '5 days', '{}', 'test',
       now() - interval '2 hours', now() - interval '2 hours' from generate_series(1, 40) id`,
    `insert into mirror.resource_slots (resource_id, id, date, _payload, _source, _read_at, _changed_at)
     select 'boat 1', 'slot ' || n, current_date + n - 5, '{}', 'test', now() - interval '2 hours', now() - interval '2 hours'
     from generate_series(1, 20) n`,
    `insert into sync.records (stream, key, list_hash, detail_hash, detail_read_at, changed_at)
     select stream, id::text, 'h', 'd', now() - interval '1 hour', now() - interval '2 hours'
     from unnest(array['rentals', 'rental_payments']) stream, generate_series(1, 40) id`,
    `insert into sync.records (stream, key, detail_hash, detail_read_at)
     select 'resource_slot_options', '["boat 1","slot ' || n || '"]', 'd', now() - interval '1 hour' from generate_series(1, 20) n`,
    `insert into sync.records (stream, key, detail_hash, detail_read_at)
     select 'resource_availability_years', id, 'd', now() - interval '1 hour' from mirror.resources`,
    `insert into sync.runs (stream, trigger, status) select stream, 'schedule', 'done' from sync.streams`,
    `update sync.streams s set as_of = now() - interval '30 minutes', last_run_id = r.id from sync.runs r where r.stream = s.stream`,
  ])
    await query(statement)
})

const keysOf = (found: readonly { readonly key: string }[]): readonly string[] => found.map(({ key }) => key).sort()

/** What a run finds; it asks few rows. */
async function found(stream: typeof rentals, settings: Partial<DueSettings> = {}): Promise<readonly string[]> {
  const since = await scheduledSince(mirror.db.pool, stream)
  expect(since).not.toBeNull()
  return keysOf(await dueKeys(mirror.db.pool, stream, { ...due, since, ...settings }))
}

describe('a run of the schedule', () => {
  const whole: readonly (readonly [string, string])[] = [
    ['until a complete run has ended well', 'update sync.streams set as_of = null'],
    ['when none has ended', 'update sync.streams set last_run_id = null'],
    [
      'when the last one began yesterday',
      `update sync.runs set started_at = date_trunc('day', now(), 'UTC') - interval '1 s'`,
    ],
    ['when the last one began later than now', `update sync.runs set started_at = now() + interval '1 hour'`],
    ['when the last good one began later than now', `update sync.streams set as_of = now() + interval '1 hour'`],
    ['when the verdict about one of its reads changed', 'update sync.reads set since = now()'],
  ]
  for (const [when, statement] of whole)
    it(`asks all rows ${when}`, async () => {
      expect(await scheduledSince(mirror.db.pool, payments)).not.toBeNull()
      await query(statement)
      expect(await scheduledSince(mirror.db.pool, payments)).toBeNull()
    })

  it('asks all rows after the clock was set back', async () => {
    await noteDatabaseTime(mirror.db)
    expect(await scheduledSince(mirror.db.pool, payments)).not.toBeNull()
    await query(`update sync.pinned set probed_at = now() + interval '1 hour'`)
    await noteDatabaseTime(mirror.db)
    expect(await scheduledSince(mirror.db.pool, payments)).toBeNull()
    await query(`update sync.runs set started_at = clock_timestamp()`)
    expect(await scheduledSince(mirror.db.pool, payments)).not.toBeNull()
  })

  for (const stream of [rentals, payments, slotOptions])
    it(`of ${stream.name} finds what was read too long ago, by whatever age is allowed`, async () => {
      expect(await found(stream)).toEqual([])
      const old = await found(stream, { maxAgeMs: 3_600_000 / 2 })
      expect(old.length).toBe(stream === slotOptions ? 11 : 40)
    })

  it('finds rentals that are about to depart or just back four times as soon', async () => {
    const soon = await found(payments, { maxAgeMs: 2 * 3_600_000 })
    expect(soon).toEqual(['18', '19', '20', '21', '22', '23', '24', '25', '26'].filter((key) => soon.includes(key)))
    expect(soon.length).toBeGreaterThanOrEqual(7)
  })

  it('finds what changed, wherever it is, until a run has ended well', async () => {
    await saveRecords(mirror.db.pool, [{ stream: 'rentals', key: '9', listHash: 'new', changed: true }])
    await makeDue(mirror.db.pool, ['rental_payments'], ['7'])
    expect(await found(rentals)).toEqual(['9'])
    expect([await found(payments), await found(payments)]).toEqual([
      ['7', '9'],
      ['7', '9'],
    ])
  })

  it('finds a row of which nothing is remembered once it asks all of them', async () => {
    await query(`delete from sync.records where key = '6'`)
    expect(await found(payments)).toEqual([])
    await query(`update sync.runs set started_at = started_at - interval '1 day'`)
    const since = await scheduledSince(mirror.db.pool, payments)
    expect(keysOf(await dueKeys(mirror.db.pool, payments, { ...due, since }))).toEqual(['6'])
  })

  it('takes keys that no row can have for what they are', async () => {
    await saveRecords(mirror.db.pool, [
      { stream: 'rentals', key: 'no number', listHash: '', changed: true },
      { stream: 'rentals', key: '99999999999999999999', listHash: '', changed: true },
    ])
    expect(await found(rentals)).toEqual([])
  })
})

it('a hot run of calendars finds the boats of rentals that changed, and no others', async () => {
  await query('update mirror.rentals set _changed_at = now(), _read_at = now() where id = 4')
  const since = await hotSince(mirror.db.pool, calendars)
  expect(keysOf(await dueKeys(mirror.db.pool, calendars, { ...due, scope: 'hot', since }))).toEqual(['boat 2'])
  await query('delete from sync.runs')
  expect(await hotSince(mirror.db.pool, calendars)).toBeNull()
})

describe('whatever happens', () => {
  const rental = fc.integer({ min: 1, max: 45 }).map(String)
  const hours = fc.integer({ min: 1, max: 40 })
  /** What happens may say how old details may be from then on, in milliseconds. */
  type Event = { readonly what: string; happen(): Promise<unknown> }
  const listed = (id: string, changed: boolean): Event => ({
    what: `${id} is ${changed ? 'changed' : 'compared'}`,
    happen: async () => {
      await query(
        `insert into mirror.rentals (id, departure_datetime, arrival_datetime, _payload, _source, _read_at, _changed_at)
         values ($1, now() + interval '3 days', now() + interval '9 days', '{}', 'test', now(), now()) on conflict do nothing`,
        [id],
      )
      const state = { stream: 'rentals', key: id, listHash: String(Math.random()), changed, listed: true }
      await saveRecords(mirror.db.pool, [state])
    },
  })
  /** Hours pass; the day stays the same, or else all rows would be asked. */
  const passed = (count: number): Event => ({
    what: `${count} hours pass`,
    happen: async () => {
      for (const [table, ...columns] of [
        ['sync.records', 'detail_read_at', 'changed_at', 'listed_at'],
        ['sync.streams', 'as_of'],
        ['sync.reads', 'since'],
        ['mirror.rentals', 'departure_datetime', 'arrival_datetime', '_changed_at'],
        ['mirror.resource_slots', '_changed_at'],
      ])
        await query(`update ${table} set ${columns.map((name) => `${name} = ${name} - $1::interval`).join(', ')}`, [
          `${count} hours`,
        ])
    },
  })
  const redundant = `exists (select from sync.reads where state = 'redundant')`
  const key = rental.map((id) => [id])
  /** An event that is a statement. */
  const said = (what: string, text: string, values: fc.Arbitrary<readonly unknown[]>): fc.Arbitrary<Event> =>
    values.map((given) => ({ what: `${what} ${given}`, happen: () => query(text, [...given]) }))
  const events: fc.Arbitrary<Event> = fc.oneof(
    fc.tuple(rental, fc.boolean()).map(([id, changed]) => listed(id, changed)),
    rental.map((id) => ({
      what: `payments of ${id} are lost`,
      happen: () => makeDue(mirror.db.pool, ['rental_payments'], [id]),
    })),
    hours.map(passed),
    hours.map((count) => ({ what: `${count} hours are allowed`, happen: async () => count * 3_600_000 })),
    said(
      'a verdict',
      'update sync.reads set state = $1, since = clock_timestamp()',
      fc.constantFrom('redundant', 'needed').map((state) => [state]),
    ),
    said(
      'left out of',
      `update sync.records set partly = true, detail_read_at = now() where key = $1 and ${redundant}`,
      key,
    ),
    said('gone is', 'update mirror.rentals set _deleted_at = now() where id = $1', key),
    said(
      'another slot',
      `update mirror.resource_slots set _changed_at = now() where id = 'slot ' || $1`,
      fc.integer({ min: 1, max: 20 }).map((n) => [n]),
    ),
  )

  it('few rows tell the same as all of them', async () => {
    let asked = 0
    const names = fc.constantFrom('rentals', 'rental_payments', 'resource_slot_options')
    const steps = fc.array(fc.tuple(events, names), { minLength: 8, maxLength: 14 })
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        let maxAgeMs = day
        for (const [event, name] of history) {
          const allowed = await event.happen()
          if (typeof allowed === 'number') maxAgeMs = allowed
          const { rows } = await query('select clock_timestamp() as now')
          const stream = streamNamed(name)
          const since = await scheduledSince(mirror.db.pool, stream)
          if (since !== null) asked += 1
          const all = keysOf(await dueKeys(mirror.db.pool, stream, { ...due, maxAgeMs, since: null }))
          const keys = keysOf(await dueKeys(mirror.db.pool, stream, { ...due, maxAgeMs, since }))
          expect(keys).toEqual(all)
          // A run reads them, and ends well.
          const read = { stream: name, detailHash: 'd', detailReadAt: new Date(), partly: false }
          await saveRecords(
            mirror.db.pool,
            keys.map((key) => ({ ...read, key })),
          )
          await query('update sync.streams set as_of = $2 where stream = $1', [name, rows[0]?.now])
        }
      }),
      { numRuns: runsOf(12) },
    )
    expect(asked).toBeGreaterThan(runsOf(20))
  })
})
