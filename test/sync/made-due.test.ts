// What others change without a trace in the record: read when a rental of the boat changes, else as often as its turn comes,
// and what changes without a rental is counted.

import { beforeAll, expect, it } from 'vitest'
import { scheduleFacts, tick, wantedIntervals } from '../../src/jobs/schedule.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const calendars = 'resource_availability_years'
const unavailabilities = 'resource_unavailabilities'

const mirror = opened(() => openTestMirror({ size: 20 }, { API_PAGE_BASE: '1', SLOT_DURATIONS: '1' }))
beforeAll(async () => {
  await mirror.sync()
  // Rentals learned their boats after the calendars were read, but were read themselves before.
  await mirror.all(`update mirror.rentals set _read_at = _read_at - interval '1 min', _changed_at = clock_timestamp()`)
})

const asked = (end: string): readonly string[] =>
  mirror.sandbox
    .requests()
    .map(({ path }) => path)
    .filter((path) => path.endsWith(end))

/** The hot turn of a stream that is due now. */
async function hotTurn(stream: string): Promise<string> {
  const { app } = mirror
  await mirror.all(
    `update sync.streams set hot_interval_s = 60, hot_next_due_at = now() - interval '1 s' where stream = $1`,
    [stream],
  )
  return await tick({ ...app.syncContext, onTasks: () => {} }, `${stream}.hot`, app.log)
}

async function boatOfRental(): Promise<{ readonly rental: string; readonly boat: string }> {
  const rows = await mirror.all<{ rental: string; boat: string }>(
    `select min(id)::text as rental, resource_id as boat from mirror.rentals where _deleted_at is null group by 2 order by 1 limit 1`,
  )
  return rows[0] ?? { rental: '', boat: '' }
}

it('a changed rental makes the calendar of its boat due, and no other', async () => {
  await mirror.sync({ streams: [calendars], hot: true })
  expect(await hotTurn(calendars)).toBe('fresh')
  const { rental, boat } = await boatOfRental()
  mirror.sandbox.mutate([{ record: 'rentals', op: 'update', id: rental, set: { message: 'later' } }])
  await mirror.all(
    `update sync.streams set hot_interval_s = 60, hot_next_due_at = now() + interval '1 h' where stream = $1`,
    [calendars],
  )
  await mirror.sync({ streams: ['rentals'], trigger: 'schedule' })
  const rows = await mirror.all('select hot_next_due_at <= now() as due from sync.streams where stream = $1', [
    calendars,
  ])
  expect(rows).toEqual([{ due: true }])
  await mirror.stopWorker()
  expect(await hotTurn(calendars)).toBe('asked')
  mirror.sandbox.resetRequests()
  await mirror.restart()
  await mirror.sync({ streams: [calendars], hot: true })
  expect(new Set(asked('/availabilities'))).toEqual(new Set([`/v3/resources/${boat}/availabilities`]))
  expect(await hotTurn(calendars)).toBe('fresh')
  expect(await hotTurn(unavailabilities)).toBe('asked')
  await mirror.sync({ streams: [unavailabilities], hot: true })
})

it('a rental that moves to another boat makes both boats due', async () => {
  const { rental, boat } = await boatOfRental()
  const rows = await mirror.all<{ id: string }>('select id from mirror.resources where id <> $1 limit 1', [boat])
  const former = rows[0]?.id ?? ''
  await mirror.all('update mirror.rentals set resource_id = $2 where id = $1', [rental, former])
  mirror.sandbox.mutate([{ record: 'rentals', op: 'update', id: rental, set: { message: 'moved' } }])
  await mirror.sync({ streams: ['rentals', 'rental_resources'], trigger: 'schedule' })
  mirror.sandbox.resetRequests()
  await mirror.sync({ streams: [calendars], hot: true })
  const of = (id: string): string => `/v3/resources/${id}/availabilities`
  expect(new Set(asked('/availabilities'))).toEqual(new Set([of(boat), of(former)]))
  await mirror.sync({ streams: [unavailabilities], hot: true })
})

it('what changes without a rental is counted, and read as often as before when that is too much', async () => {
  const { boat } = await boatOfRental()
  await mirror.sync({ streams: [unavailabilities] })
  mirror.sandbox.mutate([{ record: unavailabilities, op: 'insert', parent: boat }])
  const [run] = await mirror.sync({ streams: [unavailabilities], trigger: 'schedule' })
  expect(run).toMatchObject({ status: 'done', unexpected: '1' })
  const [again] = await mirror.sync({ streams: [unavailabilities], trigger: 'schedule' })
  expect(again).toMatchObject({ unexpected: '0' })
  const { database } = mirror.app
  const wanted = async () => wantedIntervals(mirror.config, await scheduleFacts(database, 10)).get(unavailabilities)
  expect(await wanted(), 'after a few reads nothing is said').toBe(6 * 3_600_000)
  await mirror.all('update sync.runs set total = 90 where id = $1', [run?.id])
  await mirror.all('update sync.runs set total = 9 where id = $1', [again?.id])
  expect(await wanted()).toBe(6 * 3_600_000)
  await mirror.all('update sync.runs set total = 10 where id = $1', [again?.id])
  expect(await wanted(), 'one of a hundred is allowed').toBe(6 * 3_600_000)
  await mirror.all('update sync.runs set unexpected = 2 where id = $1', [run?.id])
  expect(await wanted()).toBe(600_000)
})

it('options of slots are details on the schedule, and read whole by a one-off sync', async () => {
  const requests = async (trigger: string): Promise<number> => {
    mirror.sandbox.resetRequests()
    await mirror.sync({ streams: ['resource_slot_options'], trigger })
    return mirror.sandbox.requests().filter(({ path }) => /\/slots\/[^/]+\/options$/.test(path)).length
  }
  expect(await requests('schedule')).toBe(0)
  expect(await requests('test')).toBeGreaterThan(0)
})
