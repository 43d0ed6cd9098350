// Hot runs: the newest rentals and those that depart soon, read beside the complete sweeps; and an API that does not know
// the filter, or the order.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addDays, dateIn } from '../../src/clock.ts'
import { scheduleFacts, tick } from '../../src/jobs/schedule.ts'
import { entries, readEntry } from '../../src/profile/profile.ts'
import { listRuns, type Run } from '../../src/sync/runs/runs.ts'
import { heldRuns } from '../../src/sync/runs/sweeps.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const today = dateIn('UTC', new Date())
/** The first day that is asked for: seven days ago, and one more. */
const firstDay = addDays(today, -8)
const aWindow = { op: 'GET /v3/rentals', match: { departureMinDate: firstDay } } as const

let mirror: TestMirror
/** Live rentals: their departures, by id. */
async function rentals(): Promise<ReadonlyMap<string, string>> {
  const { rows } = await mirror.app.database.pool.query<{ id: string; day: string }>(
    `select id, to_char(departure_datetime at time zone 'utc', 'YYYY-MM-DD') as day from mirror.rentals
     where _deleted_at is null order by id`,
  )
  return new Map(rows.map(({ id, day }) => [id, day]))
}
const isSoon = (day: string): boolean => day >= addDays(today, -7) && day <= addDays(today, 250)
const soon = async (): Promise<string[]> => [...(await rentals())].filter(([, day]) => isSoon(day)).map(([id]) => id)

async function hotRun(): Promise<Run | undefined> {
  mirror.sandbox.resetRequests()
  return (await mirror.sync({ streams: ['rentals'], hot: true }))[0]
}
const asked = (): readonly string[] =>
  mirror.sandbox.requests().map(({ path, query }) => `${path} ${query.order ?? ''}`)
const honoured = () => readEntry(mirror.app.database.pool, entries.windows, 'rentals')
const touch = (id: string, set: Readonly<Record<string, unknown>>) => ({
  record: 'rentals',
  op: 'update' as const,
  id,
  set,
})

beforeAll(async () => {
  // Whatever the season, more than twenty rentals depart within this time.
  mirror = await openTestMirror({ size: 200 }, { API_PAGE_BASE: '1', API_PAGE_SIZE: '20', HOT_WINDOW: '250d' })
  await mirror.sync({ streams: ['rentals'] })
  expect((await soon()).length).toBeGreaterThan(20)
})
afterAll(() => mirror[Symbol.asyncDispose]())
beforeEach(async () => {
  mirror.sandbox.clearFaults()
  await mirror.app.database.pool.query(`delete from sync.pinned where key = 'windows:rentals'`)
  await mirror.sync({ streams: ['rentals'] })
})

describe('the first hot run after a complete run', () => {
  it('reads the newest page alone; what other reads brought since ends nothing', async () => {
    await using fresh = await openTestMirror({ size: 60 }, { API_PAGE_BASE: '1', API_PAGE_SIZE: '10' })
    // Which boat a rental is of, its details fill in.
    await fresh.sync({ streams: ['rental_resources'] })
    const newestPages = async (): Promise<number> => {
      fresh.sandbox.resetRequests()
      await fresh.sync({ streams: ['rentals'], hot: true })
      return fresh.sandbox.requests().filter(({ query }) => query.order === 'creationDateDesc').length
    }
    const { pool } = fresh.app.database
    const { rows } = await pool.query<{ asOf: Date | null }>(
      `select hot_as_of as "asOf" from sync.streams where stream = 'rentals'`,
    )
    expect(await newestPages()).toBe(1)
    // As after the complete run, except for ten rentals that something else brought.
    await pool.query(`update sync.streams set hot_as_of = $1 where stream = 'rentals'`, [rows[0]?.asOf])
    await pool.query(`with brought as (update mirror.rentals set _changed_at = clock_timestamp() where id in
      (select id from mirror.rentals order by creation_datetime desc limit 10) returning id::text)
      delete from sync.records where stream = 'rentals' and key in (select id from brought)`)
    expect(await newestPages()).toBe(2)
  })
})

describe('a hot run', () => {
  it('reads what is new, what departs soon and what left the window, and nothing else', async () => {
    const [changed = '', gone = '', moved = ''] = await soon()
    const past = [...(await rentals())].find(([, day]) => day < addDays(today, -30))?.[0] ?? ''
    const later = `${addDays(today, 300)}T09:00:00Z`
    const [added] = mirror.sandbox.mutate([
      { record: 'rentals', op: 'insert' },
      touch(changed, { message: 'hot' }),
      touch(moved, { departureDatetime: later, arrivalDatetime: later }),
      touch(past, { message: 'not hot' }),
      { record: 'rentals', op: 'delete', id: gone },
    ])
    const state = `select as_of, hot_as_of from sync.streams where stream = 'rentals'`
    const { pool } = mirror.app.database
    const before = (await pool.query<{ as_of: Date; hot_as_of: Date }>(state)).rows[0]
    const run = await hotRun()
    expect(run).toMatchObject({ status: 'done', hot: true, inserted: '1', updated: '2', deleted: '1' })
    const after = (await pool.query<{ as_of: Date; hot_as_of: Date }>(state)).rows[0]
    expect(after).toEqual({ as_of: before?.as_of, hot_as_of: run?.started_at })
    const { rows } = await pool.query('select id, message from mirror.rentals where id = any($1) order by id', [
      [changed, past],
    ])
    expect(rows).toContainEqual({ id: changed, message: 'hot' })
    expect(rows).not.toContainEqual({ id: past, message: 'not hot' })
    const live = await rentals()
    expect([live.has(added?.id ?? ''), live.has(gone), live.get(moved)]).toEqual([true, false, later.slice(0, 10)])
    // One page of the newest, which shows the new one, and one that shows that the rest is known.
    expect(asked().filter((line) => line === '/v3/rentals creationDateDesc')).toHaveLength(2)
    expect(asked()).toContain(`/v3/rentals/${gone} `)
    expect(await honoured()).toEqual({ honoured: true })
    await hotRun() // is not sure of what the last one found
    await hotRun()
    expect(asked().filter((line) => line === '/v3/rentals creationDateDesc')).toHaveLength(1)
    expect(asked().filter((line) => !line.startsWith('/v3/rentals '))).toEqual([])
    await mirror.sync({ streams: ['rentals'] })
    expect((await mirror.differences()).filter((each) => each.startsWith('rentals '))).toEqual([])
  })

  it('is asked for before each complete sweep and in its own turn, and lets that be as rare as it costs', async () => {
    await hotRun()
    const { app } = mirror
    const { pages } = await scheduleFacts(app.database, 10)
    expect(pages).toEqual(new Map([['rentals', expect.closeTo(10, 0)]]))
    await mirror.stopWorker()
    const context = { ...app.syncContext, onTasks: () => {} }
    await app.database.pool.query(
      `update sync.streams set interval_s = 60, hot_interval_s = 60, next_due_at = now(), hot_next_due_at = now() where stream = 'rentals'`,
    )
    const waiting = async (): Promise<unknown[]> => {
      const { rows } = await app.database.pool.query(
        `select hot from sync.requests where finished_at is null and trigger = 'schedule' order by id`,
      )
      return rows.map(({ hot }) => hot)
    }
    expect([await tick(context, 'rentals', app.log), await waiting()]).toEqual(['asked', [true, false]])
    expect([await tick(context, 'rentals.hot', app.log), await waiting()]).toEqual(['waiting', [true, false]])
    await app.database.pool.query(`delete from sync.requests where finished_at is null`)
    await mirror.restart()
  })

  const lies = [
    {
      of: 'a filter that is ignored',
      fault: { ...aWindow, respond: { status: 200, body: [{ id: 1, departureDatetime: '2001-01-01T09:00:00Z' }] } },
      says: /returned a record of 2001-01-01/,
    },
    { of: 'a filter that is refused', fault: { ...aWindow, respond: { status: 400, body: {} } }, says: /400/ },
    {
      of: 'a window that is suddenly empty',
      fault: { ...aWindow, respond: 'empty' },
      says: /The API omitted \d+ records from the requested window/,
    },
    {
      of: 'an order that is ignored',
      fault: {
        op: 'GET /v3/rentals',
        match: { order: 'creationDateDesc' },
        respond: {
          status: 200,
          body: ['2020', '2022'].map((year, id) => ({ id, creationDatetime: `${year}-01-01T00:00:00Z` })),
        },
      },
      says: /not ordered from newest/,
    },
    {
      of: 'an order that hides what is new',
      fault: {
        op: 'GET /v3/rentals',
        match: { order: 'creationDateDesc' },
        respond: { status: 200, body: [{ id: 1, creationDatetime: '2001-01-01T00:00:00Z' }] },
      },
      says: /newer than the first one listed/,
    },
  ] as const
  for (const { of, fault, says } of lies)
    it(`of ${of} deletes and holds nothing, and is not asked for again for an hour`, async () => {
      const before = [...(await rentals()).keys()]
      mirror.sandbox.fault(fault)
      expect(await hotRun()).toMatchObject({ status: 'partial', error: expect.stringMatching(says), deleted: '0' })
      const { app } = mirror
      expect(await honoured()).toEqual({ honoured: false, reason: expect.stringMatching(says) })
      expect([...(await rentals()).keys()]).toEqual(expect.arrayContaining(before))
      expect(await heldRuns(app.database.pool)).toEqual([])
      expect((await scheduleFacts(app.database, 10)).pages.size).toBe(0)
      await app.database.pool.query(
        `update sync.streams set hot_interval_s = 60, hot_next_due_at = now() where stream = 'rentals'`,
      )
      expect(await tick({ ...app.syncContext, onTasks: () => {} }, 'rentals.hot', app.log)).toBe('waiting')
      const [last] = await listRuns(app.database.pool, { stream: 'rentals', limit: 1 })
      expect(last?.hot).toBe(true)
    })

  it('holds deletions when more are gone than may go', async () => {
    mirror.sandbox.fault({ ...aWindow, respond: 'empty' })
    mirror.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}', respond: { status: 404, body: {} } })
    const run = await hotRun()
    expect(run).toMatchObject({ status: 'held', deleted: '0' })
    // The newest ones were seen.
    expect(Number(run?.held)).toBeGreaterThan((await soon()).length - 21)
    const held = [{ stream: 'rentals', held: Number(run?.held) }]
    expect(await heldRuns(mirror.app.database.pool)).toMatchObject(held)
    mirror.sandbox.clearFaults()
    await mirror.sync({ streams: ['rentals'] })
    expect(await heldRuns(mirror.app.database.pool), 'a complete run has not settled it').toMatchObject(held)
    expect(await hotRun()).toMatchObject({ status: 'done' })
    expect(await heldRuns(mirror.app.database.pool)).toEqual([])
  })
})
