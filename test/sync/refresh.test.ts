// Requests to read something now: one record with its details, or a stream; who may ask, how often, and what becomes of it.

import pg from 'pg'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { askRefresh } from '../../src/sync/due/refreshes.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const mirror = opened(() => openTestMirror({ size: 20 }, { SLOT_DAYS: '0' }))
beforeAll(async () => {
  await mirror.sync()
})
beforeEach(async () => {
  await rows('delete from sync.requests where finished_at is not null')
  mirror.sandbox.resetRequests()
})

type Row = Record<string, unknown>
const rows = async (query: string, values: unknown[] = []): Promise<Row[]> => await mirror.all(query, values)
const ask = (stream: string, key: Row | null = null): Promise<string> =>
  askRefresh(mirror.app.database.pool, stream, key as Readonly<Record<string, unknown>> | null)
const refreshes = (id: string): Promise<Row[]> => rows('select * from sync.refreshes where id = $1', [id])

/** What became of a refresh; a worker finds it by the clock. */
async function ended(id: string): Promise<Row | undefined> {
  await expect.poll(() => refreshes(id)).toMatchObject([{ finished_at: expect.any(Date) }])
  return (await refreshes(id))[0]
}
const refreshed = async (stream: string, key: Row | null = null) => ended(await ask(stream, key))

/** Calendars follow rentals, and are nobody's detail here. */
const differences = async () => (await mirror.differences()).filter((each) => each.startsWith('rental'))

const someRental = async (): Promise<string> => {
  const [row] = await rows(
    `select r.id::text as id from mirror.rentals r join mirror.rental_payments p on p.rental_id = r.id
     where r._deleted_at is null and p._deleted_at is null order by r.id limit 1`,
  )
  return String(row?.id)
}

describe('a record that is asked for', () => {
  it('is read with all its details and with nothing else, whatever was left out or is not due', async () => {
    const id = await someRental()
    mirror.sandbox.mutate([
      { record: 'rentals', op: 'update', id, set: { message: 'changed just now' } },
      { record: 'rental_payments', op: 'insert', parent: id },
    ])
    const before = await rows(`select as_of, last_run_id from sync.streams where stream = 'rentals'`)
    expect(await refreshed('rentals', { id: Number(id) })).toMatchObject({ state: 'done', error: null, key: id })
    expect(await differences()).toEqual([])
    const paths = mirror.sandbox.requests().map(({ path }) => path.split('?')[0])
    expect(new Set(paths.map((path) => path?.split('/')[3]))).toEqual(new Set([id]))
    for (const below of ['', '/user', '/resource', '/options', '/payments', '/crewMembers'])
      expect(paths).toContain(`/v3/rentals/${id}${below}`)
    // One record says nothing of its stream.
    expect(await rows(`select as_of, last_run_id from sync.streams where stream = 'rentals'`)).toEqual(before)
    expect(
      await rows('select updated >= 1 and inserted >= 1 as counted from sync.runs order by id desc limit 1'),
    ).toEqual([{ counted: true }])
  })

  it('is there although the mirror never heard of it', async () => {
    const [made] = mirror.sandbox.mutate([{ record: 'rentals', op: 'insert' }])
    const id = made?.id
    expect(await refreshed('rentals', { id })).toMatchObject({ state: 'done' })
    expect(await differences()).toEqual([])
  })

  it('is deleted when the API has it no more, and an error when nobody knows it', async () => {
    const id = await someRental()
    mirror.sandbox.mutate([{ record: 'rentals', op: 'delete', id }])
    expect(await refreshed('rentals', { id })).toMatchObject({ state: 'done' })
    expect(await differences()).toEqual([])
    expect(await refreshed('rentals', { id: 999_999_999 })).toMatchObject({
      state: 'failed',
      error: 'Neither the API nor the mirror has rentals 999999999.',
    })
  })

  it('below another is read as its parent shows it, and as deep as it goes', async () => {
    const [year] = await rows('select resource_id, year from mirror.resource_availability_years order by 1, 2 limit 1')
    expect(await refreshed('resource_availability_years', year)).toMatchObject({ state: 'done' })
    expect(new Set(mirror.sandbox.requests().map(({ path }) => path.split('?')[0]))).toEqual(
      new Set([`/v3/resources/${year?.resource_id}/availabilities`]),
    )
    expect(await refreshed('rental_payments', { rental_id: 999_999_999, id: 1 })).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('boat-mirror refresh rentals 999999999'),
    })
  })

  it('goes on where a killed worker left it, beside a complete run of its stream', async () => {
    await mirror.stopWorker()
    const id = await ask('companies', { id: (await rows('select id from mirror.companies limit 1'))[0]?.id })
    const whole = await ask('companies')
    await mirror.restart()
    expect(await Promise.all([ended(id), ended(whole)])).toMatchObject([{ state: 'done' }, { state: 'done' }])
    const runs = await rows(`select trigger, record_key is null as whole from sync.runs order by id desc limit 2`)
    expect(runs).toEqual(
      expect.arrayContaining([
        { trigger: 'refresh', whole: true },
        { trigger: 'refresh', whole: false },
      ]),
    )
  })
})

describe('asking', () => {
  it('for a stream reads it and what it hangs below; one that is switched off says so', async () => {
    expect(await refreshed('rental_payments')).toMatchObject({ state: 'done', key: null })
    const read = await rows(
      `select stream from sync.runs where trigger = 'refresh' and record_key is null order by id desc limit 2`,
    )
    expect(new Set(read.map(({ stream }) => stream))).toEqual(new Set(['rentals', 'rental_payments']))
    expect(await refreshed('resource_slots')).toMatchObject({
      state: 'failed',
      error: 'The configuration turns off resource_slots.',
    })
  })

  it('for the same while it is open is asking once; a partner may, sixty times a minute, and is heard at once', async () => {
    await mirror.stopWorker()
    const listener = new pg.Client(mirror.app.databaseUrl)
    await listener.connect()
    try {
      const heard = new Promise((resolve) => listener.once('notification', ({ channel }) => resolve(channel)))
      await listener.query('listen boat_mirror_refresh; set role boat_mirror_partner')
      const number = async (key: string): Promise<unknown> =>
        (await listener.query('select mirror.refresh($1, $2) as id', ['rentals', key])).rows[0]?.id
      const first = await number('{"id": 1}')
      expect(await heard).toBe('boat_mirror_refresh')
      expect(await number('{"id": "1"}')).toBe(first)
      expect(await ask('rentals', { id: 1 }), 'another role').toBe(first)
      for (let id = 2; id <= 60; id++) expect(await number(`{"id": ${id}}`)).not.toBe(first)
      await expect(number('{"id": 61}')).rejects.toMatchObject({
        code: '53400',
        message: expect.stringContaining('asked for 60 refreshes within a minute'),
      })
      expect(await number('{"id": 60}'), 'what is open costs nothing').toBeTruthy()
      expect(await listener.query('select state, role from sync.refreshes where id = $1', [first])).toMatchObject({
        rows: [{ state: 'waiting', role: 'boat_mirror_partner' }],
      })
    } finally {
      await listener.end()
      await rows(`delete from sync.requests where role = 'boat_mirror_partner'`)
      await mirror.restart()
    }
  })

  const refused = [
    ['rental', { id: 1 }, "There is no stream 'rental'. Streams are named after their tables"],
    ['rentals', { id: 'x' }, 'The key is {"id": "x"}. It must be an object with id bigint as in the change log'],
    ['rentals', { id: null }, 'The key is {"id": null}'],
    ['rentals', { id: 1, more: 2 }, 'It must be an object with id bigint'],
    ['rental_payments', { id: 1 }, 'It must be an object with rental_id bigint, id'],
  ] as const
  for (const [stream, key, message] of refused)
    it(`for ${stream} ${JSON.stringify(key)} is refused`, async () => {
      await expect(ask(stream, key)).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining(message) })
    })
})
