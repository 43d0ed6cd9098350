// Answers that say nothing below records: lists that are suddenly empty, 404, and null. They take nothing away that is there.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { makeDue } from '../../src/mirror/records.ts'
import { entries, readEntry } from '../../src/profile/profile.ts'
import { createRequest } from '../../src/sync/due/requests.ts'
import { streamsToRead } from '../../src/sync/plan.ts'
import { listRuns, type Run } from '../../src/sync/runs/runs.ts'
import { firstOf, isQuick } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const parts = { rental_options: 'options', rental_payments: 'payments', rental_crew_members: 'crewMembers' } as const
type Part = keyof typeof parts
const streams = Object.keys(parts) as Part[]
const list = (stream: Part): string => `GET /v3/rentals/{rentalId}/${parts[stream]}`
const nothing = { status: 200, body: '[]' }
const notFound = { status: 404, body: '{}' }

let mirror: TestMirror
afterEach(() => mirror?.[Symbol.asyncDispose]())

const living = async (stream: string): Promise<number> =>
  (
    await mirror.all<{ count: number }>(`select count(*)::int as count from mirror.${stream} where _deleted_at is null`)
  )[0]?.count ?? 0

async function read(stream: string, how: { readonly full?: boolean } = { full: true }): Promise<Run | undefined> {
  return (await mirror.sync({ streams: [stream], ...how })).find((run) => run.stream === stream)
}

describe('a document that each record of its kind has', () => {
  const nothings = [
    ['null', { status: 200, body: 'null' }],
    ['204', { status: 204, body: '' }],
    ['404', notFound],
  ] as const
  it.each(firstOf(nothings))(
    'is a failed read where it is answered with %s: it stays, and the run says so',
    async (_, respond) => {
      mirror = await openTestMirror({ size: 6 })
      await read('rental_resources')
      const before = await living('rental_resources')
      mirror.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}/resource', respond })
      const run = await read('rental_resources')
      expect(run).toMatchObject({ deleted: '0', error: expect.stringMatching(/rental_resources \d+: /) })
      expect(run?.status).not.toBe('done')
      expect(await living('rental_resources')).toBe(before)
      mirror.sandbox.clearFaults()
      expect(await read('rental_resources')).toMatchObject({ status: 'done', read: String(before) })
    },
  )
})

describe('all lists below rentals that are empty for an hour', () => {
  it('take nothing from an account of few rows: who is asked for one by one is there', async () => {
    mirror = await openTestMirror({ size: 8 })
    await mirror.sync({ streams })
    const before = await Promise.all(streams.map(living))
    for (const stream of streams) mirror.sandbox.fault({ op: list(stream), respond: nothing })
    for (const full of [true, false]) {
      for (const run of (await mirror.sync({ streams, full })).filter(({ stream }) => stream in parts))
        expect(run).toMatchObject({ status: 'held', deleted: '0' })
      expect(await Promise.all(streams.map(living))).toEqual(before)
    }
    mirror.sandbox.clearFaults()
    for (const run of await mirror.sync({ streams })) expect(run).toMatchObject({ status: 'done', deleted: '0' })
    expect(await Promise.all(streams.map(living))).toEqual(before)
  })
})

describe('rows that are gone', () => {
  it('go in the same run, however few are left: each is asked for and answers 404', async () => {
    mirror = await openTestMirror({ size: 8 })
    await mirror.sync({ streams: ['rental_payments'] })
    const rows = await mirror.all<{ rental_id: string; id: string }>(
      'select rental_id, id from mirror.rental_payments where _deleted_at is null',
    )
    expect(new Set(rows.map((row) => row.rental_id)).size).toBeGreaterThan(1)
    mirror.sandbox.mutate(
      rows.map(({ rental_id, id }) => ({ record: 'rental_payments', op: 'delete', parent: String(rental_id), id })),
    )
    expect(await read('rental_payments')).toMatchObject({ status: 'done', deleted: String(rows.length), held: '0' })
    expect(await living('rental_payments')).toBe(0)
    expect(await mirror.all('select from sync.held')).toEqual([])
  })

  it('of one record go unasked', async () => {
    mirror = await openTestMirror({ size: 8 })
    await mirror.sync({ streams: ['rental_options'] })
    const [row] = await mirror.all<{ id: string; count: string }>(
      'select rental_id as id, count(*) from mirror.rental_options where _deleted_at is null group by 1 order by 2, 1',
    )
    mirror.sandbox.fault({ op: list('rental_options'), match: { rentalId: String(row?.id) }, respond: nothing })
    expect(await read('rental_options')).toMatchObject({ status: 'done', deleted: row?.count })
  })
})

describe('a worker that is replaced while lists below rentals are empty', () => {
  it('leaves what it found missing to the next one, which decides about all of it', async () => {
    mirror = await openTestMirror({ size: 30 }, { API_CONCURRENCY: '1' })
    await mirror.sync({ streams: ['rental_payments'] })
    const before = await living('rental_payments')
    mirror.sandbox.fault({ op: list('rental_payments'), respond: { ...nothing, delayMs: 100 } })
    await createRequest(mirror.app.database.pool, {
      ...{ trigger: 'test', streams: streamsToRead(['rental_payments'], mirror.config), full: true, hot: false },
    })
    await vi.waitUntil(
      async () => (await mirror.all(`select from sync.held where released_at = '-infinity'`)).length > 0,
      {
        timeout: 60_000,
      },
    )
    await mirror.restart()
    mirror.sandbox.clearFaults()
    mirror.sandbox.fault({ op: list('rental_payments'), respond: nothing })
    let run: Run | undefined
    await vi.waitUntil(
      async () => {
        run = (await listRuns(mirror.app.database.pool, { stream: 'rental_payments', limit: 1 }))[0]
        return run?.status !== 'running'
      },
      { timeout: 60_000 },
    )
    expect(run).toMatchObject({ status: 'held', held: String(before), deleted: '0' })
    expect(await living('rental_payments')).toBe(before)
  })
})

describe('an API that answers 404 for each list below a rental that is empty', () => {
  const answer404 = async (): Promise<void> => {
    for (const stream of streams)
      for (const { id } of await mirror.all<{ id: string }>('select id from mirror.rentals where _deleted_at is null'))
        if ((await (await fetch(`${mirror.sandbox.url}/v3/rentals/${id}/${parts[stream]}`)).text()) === '[]')
          mirror.sandbox.fault({ op: list(stream), match: { rentalId: String(id) }, respond: notFound })
  }

  it('is understood by the first sync; the last payment of a rental goes', async () => {
    mirror = await openTestMirror({ size: 20 })
    await mirror.sync({ streams: ['rentals'] })
    await answer404()
    for (const run of (await mirror.sync({ streams })).filter(({ stream }) => stream in parts))
      expect(run).toMatchObject({ status: 'done' })
    expect(await readEntry(mirror.app.database.pool, entries.notFound, 'rental_payments')).toBeDefined()
    const [row] = await mirror.all<{ rental_id: string; id: string }>(
      `select rental_id, min(id) as id from mirror.rental_payments where _deleted_at is null group by 1 having count(*) = 1 order by 1`,
    )
    const rentalId = String(row?.rental_id)
    mirror.sandbox.mutate([{ record: 'rental_payments', op: 'delete', parent: rentalId, id: String(row?.id) }])
    mirror.sandbox.fault({ op: list('rental_payments'), match: { rentalId }, respond: notFound })
    expect(await read('rental_payments')).toMatchObject({ status: 'done', deleted: '1' })

    // One that is still there is not taken away by the 404 of its list.
    const [other] = await mirror.all<{ id: string }>(
      'select min(rental_id) as id from mirror.rental_payments where _deleted_at is null',
    )
    mirror.sandbox.fault({ op: list('rental_payments'), match: { rentalId: String(other?.id) }, respond: notFound })
    expect(await read('rental_payments')).toMatchObject({ status: 'held', deleted: '0' })

    // An empty list contradicts it: 404 is a failure again.
    mirror.sandbox.clearFaults()
    await read('rental_payments')
    mirror.sandbox.fault({ op: list('rental_payments'), match: { rentalId: String(other?.id) }, respond: notFound })
    expect(await read('rental_payments')).toMatchObject({ status: 'partial', deleted: '0' })
    expect(await readEntry(mirror.app.database.pool, entries.notFound, 'rental_payments')).toBeUndefined()
  })

  it('is not believed while all of them answer 404', async () => {
    mirror = await openTestMirror({ size: 8 })
    await mirror.sync({ streams: ['rentals'] })
    mirror.sandbox.fault({ op: list('rental_options'), respond: notFound })
    expect(await read('rental_options')).toMatchObject({ error: expect.stringContaining('answered 404 for 8 records') })
    mirror.sandbox.clearFaults()
    expect(await read('rental_options', {})).toMatchObject({ status: 'done' })
    expect(await mirror.differences().then((all) => all.filter((each) => each.startsWith('rental_options ')))).toEqual(
      [],
    )
  })
})

describe('rows that were held once', () => {
  // Three whole syncs.
  it.skipIf(isQuick)(
    'count no more after a complete run that read them, nor when they went with the record above them',
    async () => {
      mirror = await openTestMirror({ size: 40 }, { MIRROR_DOCUMENTS: 'on' })
      const { pool } = mirror.app.database
      await mirror.sync({ streams: ['rental_options'] })
      mirror.sandbox.fault({ op: list('rental_options'), respond: nothing })
      expect(await read('rental_options')).toMatchObject({ status: 'held', deleted: '0' })
      mirror.sandbox.clearFaults()
      expect(await read('rental_options')).toMatchObject({ status: 'done', deleted: '0' })

      const options = await mirror.all<{ rental_id: string; id: string }>(
        'select rental_id, id from mirror.rental_options where _deleted_at is null order by 1, 2',
      )
      const rentals = [...new Set(options.map((each) => String(each.rental_id)))]
      await makeDue(pool, ['rental_options'], rentals)
      const { rental_id: parent, id } = options[0] ?? { rental_id: '', id: '' }
      mirror.sandbox.mutate([
        { record: 'rental_options', op: 'delete', parent: String(parent), id: String(id) },
        ...rentals.slice(1, 15).map((id) => ({ record: 'rentals', op: 'delete', id }) as const),
      ])
      for (const run of await mirror.sync({ streams: ['rental_options'] }))
        expect([run.stream, run.status, run.held]).toEqual([run.stream, 'done', '0'])
    },
  )
})
