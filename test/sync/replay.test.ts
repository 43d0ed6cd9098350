// A replay from quarantine asks nobody: the stored payload is mirrored as soon as nothing is wrong with it any more, and
// stays, with the reason, as long as something is.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { dateIn } from '../../src/clock.ts'
import { daysOf } from '../../src/sync/details/readers/calendar.ts'
import { listQuarantine, type QuarantineEntry } from '../../src/sync/quarantine.ts'
import { type Replayed, replayRecord } from '../../src/sync/replay.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

let year: number
let resourceId: string
const mirror = opened(() => openTestMirror({ size: 8 }))
beforeAll(async () => {
  await mirror.sync({ streams: ['resources', 'rentals'] })
  const { clock, settings } = mirror.app.syncContext
  year = Number(dateIn(settings.timeZone, clock.now()).slice(0, 4))
  const { rows } = await query<{ id: string }>('select id from mirror.resources order by id limit 1')
  resourceId = String(rows[0]?.id)
})
beforeEach(async () => {
  mirror.sandbox.clearFaults()
  await query('delete from sync.quarantine')
})

const query = <T extends object>(text: string, values: unknown[] = []) =>
  mirror.app.database.pool.query<T & Record<string, unknown>>(text, values)

/** Answers a read of the resource with this text, and syncs the stream. */
async function syncWith(stream: string, op: string, match: Record<string, string | number>, body: string) {
  mirror.sandbox.fault({ op, match: { resourceId, ...match }, respond: { status: 200, body } })
  await mirror.sync({ streams: [stream], full: true })
}

async function onlyEntry(stream: string): Promise<QuarantineEntry> {
  const entries = await listQuarantine(mirror.app.database.pool, { stream, limit: 10 })
  expect(entries).toHaveLength(1)
  return entries[0] as QuarantineEntry
}

/** Replays the only entry of a stream; the API must not hear of it. */
async function replay(stream: string): Promise<Replayed> {
  const before = mirror.sandbox.requests().length
  const replayed = await replayRecord({ ...mirror.app.syncContext, onTasks: () => {} }, await onlyEntry(stream))
  expect(mirror.sandbox.requests()).toHaveLength(before)
  return replayed
}

/** What a newer program would make of the payload is imitated by a payload that this one understands. */
const repair = (stream: string, payload: string) =>
  query('update sync.quarantine set payload = $1 where stream = $2', [payload, stream])

const left = async (): Promise<number> => (await query('select from sync.quarantine')).rowCount ?? 0

describe('a calendar', () => {
  const stream = 'resource_availability_years'
  const op = 'GET /v3/resources/{resourceId}/availabilities'
  const days = (count: number): string => '01'.repeat(183).slice(0, count)
  const mirrored = async (): Promise<unknown> =>
    (await query(`select days from mirror.${stream} where resource_id = $1 and year = $2`, [resourceId, year])).rows[0]

  it('stays while its days are not those of its year, and is mirrored once they are', async () => {
    await syncWith(stream, op, { year }, JSON.stringify('0101'))
    const reason = `days: expected ${daysOf(year)} characters of 0 and 1 for ${year}, got none.`
    expect(await replay(stream)).toEqual({ kind: 'refused', reason })
    await repair(stream, JSON.stringify({ bits: days(731 - daysOf(year)) }))
    expect(await replay(stream)).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/got 36[56]\.$/) })

    await repair(stream, JSON.stringify({ bits: days(daysOf(year)) }))
    expect(await replay(stream)).toEqual({ kind: 'mirrored', rows: 1 })
    expect(await mirrored()).toEqual({ days: days(daysOf(year)) })
    expect(await left()).toBe(0)
  })

  it('is kept to the last digit', async () => {
    await syncWith(stream, op, { year }, '{"days": 12345678901234567890.10}')
    expect((await onlyEntry(stream)).payload).toBe('{"days": 12345678901234567890.10}')
  })

  it('that the table refused is mirrored once the table takes it', async () => {
    await query(`alter table mirror.${stream} add constraint own check (days not like '0101%') not valid`)
    await syncWith(stream, op, { year }, JSON.stringify(days(daysOf(year))))
    expect(await replay(stream)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('"own"') })
    await query(`update mirror.${stream} set days = 'spoilt' where resource_id = $1`, [resourceId])
    await query(`alter table mirror.${stream} drop constraint own`)
    expect(await replay(stream)).toEqual({ kind: 'mirrored', rows: 1 })
    expect(await mirrored()).toEqual({ days: days(daysOf(year)) })
  })
})

describe('a price table', () => {
  const stream = 'resource_pricetable'
  const op = 'GET /v3/resources/{resourceId}/pricetable'
  const day = (date: string, ...prices: number[]) => ({
    date,
    pricetable: prices.map((price, index) => ({ duration: `DAYS,${index + 1}`, base_price: price })),
  })
  const mirrored = async (month: string): Promise<unknown> =>
    (
      await query(
        `select date::text, duration, base_price::text as price from mirror.${stream}
         where resource_id = $1 and date::text like $2 and _deleted_at is null order by 1, 2`,
        [resourceId, `${month}-%`],
      )
    ).rows

  it('in an unknown shape stays; understood, each of its prices becomes a row', async () => {
    await syncWith(stream, op, {}, '{"results": "none"}')
    const [entry] = await listQuarantine(mirror.app.database.pool, { stream, limit: 1 })
    expect(await left()).toBe(1)
    expect(entry?.key).toMatch(/^#/)
    expect((await replay(stream)).kind).toBe('refused')

    const results = [day('2000-01-01', 10, 20), day('2000-01-02', 30)]
    await repair(stream, JSON.stringify({ results, currency: 'EUR' }))
    expect(await replay(stream)).toEqual({ kind: 'mirrored', rows: 3 })
    expect(await mirrored('2000-01')).toEqual([
      { date: '2000-01-01', duration: 'DAYS,1', price: '10' },
      { date: '2000-01-01', duration: 'DAYS,2', price: '20' },
      { date: '2000-01-02', duration: 'DAYS,1', price: '30' },
    ])
    expect(await left()).toBe(0)
  })

  it('of which one price is bad keeps that price alone, and replays it alone', async () => {
    const prices = { date: '2000-02-01', pricetable: [{ duration: 'DAYS,1', base_price: 'free' }] }
    await syncWith(stream, op, {}, JSON.stringify({ results: [prices] }))
    expect(await replay(stream)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('base_price') })
    await repair(stream, '{"date": "2000-02-01", "duration": "DAYS,2", "base_price": 0}')
    expect(await replay(stream)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('Requested [') })
    await repair(stream, '{"date": "2000-02-01", "duration": "DAYS,1", "base_price": 0}')
    expect(await replay(stream)).toEqual({ kind: 'mirrored', rows: 1 })
    expect(await mirrored('2000-02')).toEqual([{ date: '2000-02-01', duration: 'DAYS,1', price: '0' }])
  })
})

describe('what jsonb cannot hold', () => {
  const isThere = async (): Promise<boolean> =>
    (await query('select from mirror.rentals where id = 900001')).rowCount === 1

  it('is kept as its text, and refused with what Postgres says', async () => {
    const text = '{"id":900001,"creationDatetime":"2020-01-01T00:00:00Z","newField":1e200000}'
    mirror.sandbox.raw({ record: 'rentals', id: '900001' }, text)
    await mirror.sync({ streams: ['rentals'] })
    expect(JSON.parse((await onlyEntry('rentals')).payload)).toBe(text)
    expect(await replay('rentals')).toMatchObject({ kind: 'refused', reason: expect.stringContaining('numeric') })
    expect([await left(), await isThere()]).toEqual([1, false])

    await repair('rentals', JSON.stringify(text.replace('1e200000', '1e2')))
    expect(await replay('rentals')).toMatchObject({ kind: 'mirrored' })
    expect([await left(), await isThere()]).toEqual([0, true])
  })

  it('is told from a record that was a text from the start', async () => {
    mirror.sandbox.raw({ record: 'rentals', id: '900001' }, '"words"')
    await mirror.sync({ streams: ['rentals'] })
    expect(await replay('rentals')).toEqual({ kind: 'refused', reason: 'Expected an object, got "words".' })
  })
})
