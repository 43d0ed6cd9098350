// Calendars over HTTP, of a mirror of the sandbox, read by another library and compared with the API's own records.

import Fastify, { type FastifyInstance } from 'fastify'
import ICAL from 'ical.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wrongTokenLimit } from '../../../src/serve/access/limit.ts'
import { createCalendarKey, revokeCalendarKey } from '../../../src/serve/access/secrets.ts'
import { type CalendarContext, registerCalendars } from '../../../src/serve/calendars/calendars.ts'
import { openTestMirror, type TestMirror } from '../../helpers/mirror.ts'
import { openMirror, rowOf, tableOf } from '../../helpers/rows.ts'

let mirror: TestMirror
let app: FastifyInstance
const servers: FastifyInstance[] = []
beforeAll(async () => {
  mirror = await openTestMirror({ size: 30 }, { CALENDAR_YEARS: '2' })
  await mirror.sync({ streams: [...readByCalendars, 'resources', 'rental_resources', 'resource_slots', 'users'] })
  app = serve()
})
afterAll(async () => {
  for (const each of servers) await each.close()
  await mirror[Symbol.asyncDispose]()
})

function serve(settings: Partial<CalendarContext['settings']> = {}, database = mirror.app.database): FastifyInstance {
  const server = Fastify()
  const { clock } = mirror.app
  const wrongTokens = wrongTokenLimit(20)
  const all = { timeZone: 'UTC', calendarYears: 2, serveRateLimit: null, ...settings }
  registerCalendars(server, { sync: { database, clock }, wrongTokens, settings: all })
  servers.push(server)
  return server
}

/** What a calendar stands on. */
const readByCalendars = ['rentals', 'resource_availability_years', 'resource_unavailabilities'] as const

const newKey = async (resource: string): Promise<string> =>
  (await createCalendarKey(mirror.app.database.pool, resource)) ?? ''
const addressOf = (resource: string, key: string): string =>
  `/calendars/${encodeURIComponent(resource)}.ics?key=${encodeURIComponent(key)}`

type Event = { readonly from: number; readonly to: number; readonly status: unknown; readonly summary: string }
const eventsIn = (text: string): readonly Event[] =>
  new ICAL.Component(ICAL.parse(text)).getAllSubcomponents('vevent').map((each) => {
    const { startDate, endDate, summary } = new ICAL.Event(each)
    const ms = (time: ICAL.Time): number =>
      time.isDate ? Date.UTC(time.year, time.month - 1, time.day) : time.toUnixTime() * 1_000
    return { from: ms(startDate), to: ms(endDate), summary, status: each.getFirstPropertyValue('status') }
  })

it('is 503 until everything it stands on was read, and 501 where calendars are switched off', async () => {
  await using unread = await openMirror()
  await unread.write({ tables: [tableOf('resources', 1, [rowOf('resources', { id: 'a' })])] })
  const address = addressOf('a', (await createCalendarKey(unread.db.pool, 'a')) ?? '')
  const early = serve({}, unread.db)
  const statusOf = async (): Promise<number> => (await early.inject(address)).statusCode
  expect((await early.inject(address)).headers['retry-after']).toBe('60')
  await unread.all('update sync.streams set as_of = now()')
  expect(await statusOf()).toBe(503)
  const year = new Date().getUTCFullYear()
  await unread.write({
    tables: [
      tableOf('resource_availability_years', 1, [rowOf('resource_availability_years', { resource_id: 'a', year })]),
    ],
  })
  expect(await statusOf()).toBe(200)
  await unread.all(`update sync.streams set as_of = null where stream = 'rentals'`)
  expect(await statusOf()).toBe(503)
  const off = await serve({ calendarYears: 0 }, unread.db).inject(address)
  expect([off.statusCode, off.json().detail]).toEqual([501, expect.stringContaining('CALENDAR_YEARS')])
})

describe('a calendar', () => {
  it('says of every boat what the API says: each rental of the boat and each full day, and nothing that is free', async () => {
    const truth = mirror.sandbox.truth({ days: 1, durations: 1, priceDays: 3, calendarYears: 2 })
    const bookedBy = new Map(
      (truth.rental_resources ?? []).map(({ key, record }) => [
        String(key.rental_id),
        String((record.resource as { boatId: unknown }).boatId),
      ]),
    )
    const today = Date.parse(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`)
    const fleets = (truth.resource_slots ?? [])
      .filter(({ record }) => Number(record.nbResourcesAvailable) > 1)
      .map(({ key }) => key.resource_id)
    expect(fleets.length).toBeGreaterThan(0)
    let [rentals, fulls, frees] = [0, 0, 0]
    for (const { record: resource } of truth.resources ?? []) {
      const id = String(resource.id)
      const { statusCode, body, headers } = await app.inject(addressOf(id, await newKey(id)))
      expect([statusCode, headers['content-type']]).toEqual([200, 'text/calendar; charset=utf-8'])
      const events = eventsIn(body)
      for (const { record } of truth.rentals ?? []) {
        const [from, to] = [Date.parse(String(record.departureDatetime)), Date.parse(String(record.arrivalDatetime))]
        const ofBoat = bookedBy.get(String(record.id)) === String(resource.boatId)
        if (!ofBoat || to < today || String(record.status).startsWith('CANCELED') || fleets.includes(id)) continue
        rentals++
        const status = record.status === 'PENDING' ? 'TENTATIVE' : 'CONFIRMED'
        expect(events.filter((event) => event.from === from && event.to === to)).toMatchObject([{ status }])
      }
      if (resource.isRentable !== true) continue
      for (const { key, record } of truth.resource_availability_years ?? []) {
        if (key.resource_id !== id) continue
        for (const [place, sign] of [...String(record.bitstring)].entries()) {
          const from = Date.UTC(Number(key.year), 0, 1 + place)
          const to = from + 86_400_000
          if (from < today) continue
          const covering = events.filter((event) => event.from <= from && event.to >= to)
          if (sign === '1') {
            fulls++
            expect(covering.length, `${id} ${new Date(from).toISOString()}`).toBeGreaterThan(0)
          } else {
            frees++
            expect(covering.filter(({ summary }) => summary !== 'Booked')).toEqual([])
          }
        }
      }
      expect(Math.max(...events.map(({ to }) => to))).toBeGreaterThan(Date.UTC(new Date().getUTCFullYear() + 8, 0, 1))
    }
    expect([rentals > 3, fulls > 50, frees > 500]).toEqual([true, true, true])
  })

  it('says nothing of a person', async () => {
    const { rows } = await mirror.app.database.pool.query<{ id: string; text: string }>(
      `select r.resource_id as id, jsonb_path_query(u._payload, '$.** ? (@.type() == "string")') #>> '{}' as text
       from mirror.rentals r join mirror.users u on u.id = r.user_id
       where r.resource_id is not null and r.arrival_datetime > now() limit 400`,
    )
    const texts = new Map<string, string>()
    for (const id of new Set(rows.map((row) => row.id)))
      texts.set(id, (await app.inject(addressOf(id, await newKey(id)))).body.replace(/^UID:.*$/gm, ''))
    expect(rows.length).toBeGreaterThan(20)
    for (const { id, text } of rows) if (text.length > 5) expect(texts.get(id), text).not.toContain(text)
  })

  it('shows a rental without a status as tentative, as the API shows new pending ones', async () => {
    const { pool } = mirror.app.database
    const { rows } = await pool.query<{ id: string; resource: string; status: string }>(
      `select id, resource_id as resource, status from mirror.rentals r where status = 'VALIDATED' and departure_datetime > now()
         and resource_id is not null and not exists (select from sync.fleets f where f.resource_id = r.resource_id) limit 1`,
    )
    const [{ id, resource, status } = { id: '', resource: '', status: '' }] = rows
    const address = addressOf(resource, await newKey(resource))
    const setTo = (value: string | null) =>
      pool.query('update mirror.rentals set status = $1 where id = $2', [value, id])
    const shown = async () => {
      const events = (await app.inject(address)).body.split('BEGIN:VEVENT')
      return events.find((event) => event.includes(`rental-${id}@`))?.match(/^(STATUS|SUMMARY):.*\b/gm)
    }
    expect(await shown()).toEqual(['SUMMARY:Booked', 'STATUS:CONFIRMED'])
    for (const value of [null, '']) {
      await setTo(value)
      expect(await shown()).toEqual(['SUMMARY:On hold', 'STATUS:TENTATIVE'])
    }
    await setTo(status)
  })

  it('has a tag that stays while nothing changes, and then is another', async () => {
    const { pool } = mirror.app.database
    const { rows } = await pool.query<{ id: string; resource: string }>(
      `select id, resource_id as resource from mirror.rentals r where status = 'VALIDATED' and departure_datetime > now()
         and resource_id is not null and not exists (select from sync.fleets f where f.resource_id = r.resource_id) limit 1`,
    )
    const [{ id, resource } = { id: '', resource: '' }] = rows
    const address = addressOf(resource, await newKey(resource))
    const { etag, 'x-as-of': asOf, 'cache-control': caching } = (await app.inject(address)).headers
    expect([Number.isNaN(Date.parse(String(asOf))), caching]).toEqual([false, 'private, no-cache'])
    await mirror.sync({ full: true, streams: [...readByCalendars] })
    const ask = (tag: string) => app.inject({ url: address, headers: { 'if-none-match': tag } })
    for (const tag of [String(etag), `W/${etag}`, `"x", ${etag}`, '*']) {
      const same = await ask(tag)
      expect([same.statusCode, same.body, same.headers.etag], tag).toEqual([304, '', etag])
    }
    mirror.sandbox.mutate([{ record: 'rentals', op: 'update', id: Number(id), set: { status: 'CANCELED_BY_CLIENT' } }])
    await mirror.sync({ full: true, streams: [...readByCalendars] })
    const changed = await ask(String(etag))
    expect(changed.statusCode).toBe(200)
    expect(changed.body).not.toContain(`rental-${id}@`)
  })
})

describe('the key of a calendar', () => {
  it('opens one boat until it is revoked or another one is made; everything else is 404', async () => {
    const { pool } = mirror.app.database
    const { rows } = await pool.query<{ id: string }>('select id from mirror.resources order by id limit 2')
    const [one, two] = rows.map(({ id }) => id)
    if (one === undefined || two === undefined) throw new Error('The sandbox has too few boats.')
    const [first, second] = [await newKey(one), await newKey(two)]
    const statusOf = async (address: string) => (await app.inject(address)).statusCode
    expect(await statusOf(addressOf(one, first))).toBe(200)
    const wrong = [
      ...[addressOf(one, second), addressOf(one, ''), addressOf('nothing', first), `/calendars/${one}.ics`],
      ...[`/calendars/${one}?key=${first}`, `/calendars/${one}.ics?key=${first}&key=${first}`],
      `/calendars/..%2F${one}.ics?key=${first}`,
    ]
    for (const address of wrong) expect(await statusOf(address), address).toBe(404)
    const next = await newKey(one)
    expect([await statusOf(addressOf(one, first)), await statusOf(addressOf(one, next))]).toEqual([404, 200])
    expect(await revokeCalendarKey(pool, one)).toBe(true)
    expect([await statusOf(addressOf(one, next)), await statusOf(addressOf(two, second))]).toEqual([404, 200])
    expect(JSON.stringify((await pool.query('select * from sync.calendar_keys')).rows)).not.toContain(second)
    expect(await newKey('nothing')).toBe('')
  })

  it('is refused with 429 for a while after too many wrong ones, a right one never; and each may ask so often', async () => {
    const [{ id } = { id: '' }] = (
      await mirror.app.database.pool.query<{ id: string }>('select id from mirror.resources order by id limit 1')
    ).rows
    const key = await newKey(id)
    const limited = serve({ serveRateLimit: 2 })
    const wrong = await Promise.all(Array.from({ length: 40 }, () => limited.inject(addressOf(id, `${key}x`))))
    expect(new Set(wrong.map(({ statusCode }) => statusCode))).toEqual(new Set([404, 429]))
    expect((await limited.inject(addressOf(id, key))).statusCode).toBe(200)
    const often = await Promise.all(Array.from({ length: 20 }, () => limited.inject(addressOf(id, key))))
    expect(often.some(({ statusCode, headers }) => statusCode === 429 && Number(headers['retry-after']) > 0)).toBe(true)
  })
})
