// A rental's company is that of its boat, in the commit in which the boat's changes: access by company hangs on it.

import type { PoolClient } from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { MirrorWrites, SourcedRow } from '../../src/mirror/rows.ts'
import { mostSentRows } from '../../src/mirror/staging.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { at, changeLog, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeEach(() => mirror.all('truncate mirror.rentals, mirror.resources, mirror.change_log'))

const boat = (id: string, company: number | null, payload: unknown = { id, company: company && { id: company } }) =>
  rowOf('resources', { id, company_id: company }, payload)

const boats = (minute: number, rows: readonly SourcedRow[], extra = {}): MirrorWrites => ({
  tables: [tableOf('resources', minute, rows, extra)],
})

const rentals = (minute: number, ...ids: number[]): MirrorWrites => ({
  tables: [
    tableOf(
      'rentals',
      minute,
      ids.map((id) => rowOf('rentals', { id })),
    ),
  ],
})

/** What an answer says of the boat and the company of rentals. */
const filled = (minute: number, resource: string, company: number, ...ids: number[]): MirrorWrites => ({
  filled: [
    {
      stream: streamNamed('rentals'),
      readAt: at(minute),
      rows: ids.map((id) => ({
        key: [String(id)],
        values: { resource_id: resource, company_id: String(company) },
      })),
    },
  ],
})

const gone = (stream: string, minute: number, ...keys: string[]): MirrorWrites => ({
  tombstones: [
    { stream: streamNamed(stream), keys: keys.map((key) => [key]), source: 'GET /v3/x', readAt: at(minute) },
  ],
})

const companies = async (): Promise<Record<string, number | null>> =>
  Object.fromEntries(
    (
      await mirror.all<{ id: string; company: number }>('select id, company_id::int as company from mirror.rentals')
    ).map(({ id, company }) => [id, company]),
  )

async function twoBoats(): Promise<void> {
  await mirror.write(rentals(1, 1, 2, 3))
  await mirror.write(boats(1, [boat('a', 7), boat('b', 7)]))
  await mirror.write(filled(2, 'a', 7, 1, 2))
  await mirror.write(filled(2, 'b', 7, 3))
  await mirror.all('truncate mirror.change_log')
}

describe('when a boat changes its company, its rentals', () => {
  it('follow in the same commit, each with an entry in the log, and no others', async () => {
    await twoBoats()
    await mirror.write(boats(3, [boat('a', 8), boat('b', 7)]))
    expect(await companies()).toEqual({ 1: 8, 2: 8, 3: 7 })
    const log = (await changeLog(mirror)).filter(({ stream }) => stream === 'rentals')
    expect(log.map(({ key, operation, diff }) => [key.id, operation, diff])).toEqual([
      [1, 'update', { company_id: [7, 8] }],
      [2, 'update', { company_id: [7, 8] }],
    ])
    const [row] = await mirror.all('select count(distinct xid)::int as commits from mirror.change_log')
    expect(row).toEqual({ commits: 1 })
  })

  it('follow as well where many boats are read at once', async () => {
    await twoBoats()
    const many = Array.from({ length: mostSentRows }, (_, index) => boat(`x${index}`, 7))
    await mirror.write(boats(3, [...many, boat('a', 8), boat('b', 9)]))
    expect(await companies()).toEqual({ 1: 8, 2: 8, 3: 9 })
  })

  it('follow a boat that was not known, or only from inside another record', async () => {
    await mirror.write(rentals(1, 1, 2))
    await mirror.write(filled(2, 'a', 7, 1))
    await mirror.write(filled(2, 'b', 7, 2))
    await mirror.write(boats(3, [boat('a', 8)], { newKeys: true }))
    await mirror.write(
      boats(3, [boat('b', 9)], { mode: 'stub', source: 'GET /v3/rentals/{rentalId}/resource#resource' }),
    )
    expect(await companies()).toEqual({ 1: 8, 2: 9 })
  })

  it('lose theirs where the boat is said to have none, and keep it where nothing is said of it', async () => {
    await twoBoats()
    await mirror.write(boats(3, [boat('a', null), boat('b', null, { id: 'b' })]))
    expect(await companies()).toEqual({ 1: null, 2: null, 3: 7 })
  })

  it('stay as they are while they are gone, and follow when they come back', async () => {
    await twoBoats()
    await mirror.write(gone('rentals', 3, '2'))
    await mirror.write(boats(4, [boat('a', 8)]))
    expect(await companies()).toEqual({ 1: 8, 2: 7, 3: 7 })
    await mirror.write(rentals(5, 2))
    expect(await companies()).toEqual({ 1: 8, 2: 8, 3: 7 })
    expect((await changeLog(mirror)).at(-1)).toMatchObject({ key: { id: 2 }, diff: { company_id: [7, 8] } })
  })
})

it("what an answer about a rental says of its boat's company gives way to what the boat says", async () => {
  await twoBoats()
  await mirror.write(boats(3, [boat('a', 8)]))
  await mirror.write(filled(4, 'a', 7, 1))
  await mirror.write(filled(4, 'a', 7, 3))
  await mirror.write(filled(4, 'unknown', 7, 2))
  expect(await companies()).toEqual({ 1: 8, 2: 7, 3: 8 })
})

it('the two agree after all orders in which boats and rentals are written at the same time, and nobody waits for ever', async () => {
  const ids = [1, 2, 3, 4, 5, 6]
  await mirror.write(rentals(0, ...ids))
  await mirror.write(boats(0, [boat('a', 1), boat('b', 1), boat('c', 1)]))
  const links = (seed: number): MirrorWrites => ({
    filled: ids
      .filter((id) => (id * seed) % 3 === 0)
      .flatMap((id) => filled(seed, ['a', 'b', 'c'][(seed + id) % 3] ?? 'a', 1, id).filled ?? []),
  })
  const sold = (seed: number): MirrorWrites => boats(seed, [boat('a', seed % 4), boat('b', seed % 5), boat('c', 1)])
  const lane = async (from: number): Promise<void> => {
    for (let seed = from; seed <= 120; seed += 4) {
      const client: PoolClient = await mirror.db.pool.connect()
      await client.query('begin')
      await applyWrites(client, seed % 2 === 0 ? links(seed) : sold(seed))
      await client.query('commit') // without the repetition of `transaction`: a deadlock would end it
      client.release()
    }
  }
  await Promise.all([1, 2, 3, 4].map(lane))
  expect(
    await mirror.all(
      `select t.id, t.company_id, r.company_id as boats from mirror.rentals t join mirror.resources r on r.id = t.resource_id
       where t.company_id is distinct from r.company_id`,
    ),
  ).toEqual([])
})

it('after a boat was sold, a sync of the boats alone takes its rentals from those who see its old company', async () => {
  await using whole = await openTestMirror({ size: 12 })
  const { pool } = whole.app.database
  await whole.sync({ streams: ['resources', 'rental_resources'] })
  const { rows } = await pool.query<{ boat: string; company: string; rentals: number }>(
    `select resource_id as boat, company_id as company, count(*)::int as rentals from mirror.rentals
     group by 1, 2 order by 3 desc limit 1`,
  )
  const [rented] = rows
  const { rows: others } = await pool.query<{ id: string }>('select id from mirror.companies where id <> $1 limit 1', [
    rented?.company,
  ])
  whole.sandbox.mutate([
    { record: 'resources', op: 'update', id: rented?.boat ?? '', set: { company: { id: Number(others[0]?.id) } } },
  ])
  const runs = await whole.sync({ streams: ['resources'] })
  expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'done'))
  const { rows: after } = await pool.query(
    'select company_id as company, count(*)::int as rentals from mirror.rentals where resource_id = $1 group by 1',
    [rented?.boat],
  )
  expect(after).toEqual([{ company: others[0]?.id, rentals: rented?.rentals }])
})
