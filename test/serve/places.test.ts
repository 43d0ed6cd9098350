// Pages far into a list and totals are those of a count row by row, whatever comes and goes meanwhile.

import { beforeAll, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { openDatabase } from '../../src/database/database.ts'
import { createLogger } from '../../src/log.ts'
import { listQuery, orderSql } from '../../src/serve/reads/list-query.ts'
import { createPlaces } from '../../src/serve/reads/places.ts'
import { Query } from '../../src/serve/reads/query.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const rentals = streamNamed('rentals')
const log = createLogger('silent')
const caller = { role: null }

const mirror = opened(() => openMirror())
const database = opened(() => openDatabase({ url: mirror.url, applicationName: 'test', max: 3, log }))
beforeAll(async () => {
  const rows = Array.from({ length: 6_000 }, (_, index) => rentalRow(1_000 + index * 2, index))
  await mirror.write({ tables: [tableOf('rentals', 1, rows)] })
})

/** A rental whose creation does not follow its number. */
const rentalRow = (id: number, index: number): ReturnType<typeof rowOf> =>
  rowOf('rentals', {
    id,
    creation_datetime: new Date(1_700_000_000_000 + ((index * 7_919) % 6_007) * 60_000).toISOString(),
  })

type Order = Readonly<Record<string, string>>

/** The first ids of a page, by a remembered place. */
async function pageAt(places: ReturnType<typeof createPlaces>, order: Order, offset: number) {
  const asked = listQuery(rentals, new Query(order))
  const start = await places.start({ stream: rentals, caller, asked, offset, counts: true })
  const after = start.after === null ? '' : `and ${start.afterSql(start.after.map((_, index) => `$${index + 1}`))}`
  const rows = await mirror.all<{ id: string }>(
    `select id from mirror.rentals t where ${asked.where} ${after} order by ${orderSql(rentals, asked)} limit 5 offset ${start.skip}`,
    [...(start.after ?? [])],
  )
  return { ids: rows.map(({ id }) => id), start }
}

/** The same, counted from the beginning. */
async function counted(order: Order, offset: number): Promise<readonly string[]> {
  const asked = listQuery(rentals, new Query(order))
  const rows = await mirror.all<{ id: string }>(
    `select id from mirror.rentals t where ${asked.where} order by ${orderSql(rentals, asked)} limit 5 offset ${offset}`,
  )
  return rows.map(({ id }) => id)
}

const orders: readonly Order[] = [{}, { order: 'creationDateAsc' }, { order: 'creationDateDesc' }]

it.each(orders)('finds the page of any offset by its place, in order %o', async (order) => {
  const places = createPlaces(database, log)
  await pageAt(places, order, 5_000) // has the places looked for
  await expect.poll(async () => (await pageAt(places, order, 5_000)).start.after).not.toBeNull()
  for (const offset of [0, 1_999, 2_000, 2_001, 3_500, 4_999, 5_998, 6_500])
    expect([offset, (await pageAt(places, order, offset)).ids]).toEqual([offset, await counted(order, offset)])

  // Somewhere in the middle one goes, and one comes.
  const [gone] = await counted(order, 2_500)
  await mirror.write({ tombstones: [{ stream: rentals, keys: [[gone ?? '']], source: 'test', readAt: new Date() }] })
  for (const offset of [2_000, 2_400, 2_600, 5_500])
    expect([offset, (await pageAt(places, order, offset)).ids]).toEqual([offset, await counted(order, offset)])
  await mirror.write({ tables: [tableOf('rentals', 2, [rentalRow(Number(gone) + 1, Number(gone))])] })
  for (const offset of [2_000, 2_400, 2_600, 5_500])
    expect([offset, (await pageAt(places, order, offset)).ids]).toEqual([offset, await counted(order, offset)])
})

it('remembers a total until something changes', async () => {
  const places = createPlaces(database, log)
  const total = async (): Promise<number | null> => (await pageAt(places, {}, 0)).start.total
  const { start } = await pageAt(places, {}, 0)
  expect(start.total).toBeNull()
  start.learn(77)
  expect(await total()).toBe(77)
  await mirror.write({ tables: [tableOf('rentals', 3, [rentalRow(1, 1)])] })
  expect(await total()).toBeNull()
})

it('remembers nothing of another history: of a copy that took the place of the database', async () => {
  const places = createPlaces(database, log)
  await pageAt(places, {}, 5_000)
  await expect.poll(async () => (await pageAt(places, {}, 5_000)).start.after).not.toBeNull()
  ;(await pageAt(places, {}, 0)).start.learn(77)
  await mirror.all('update sync.log_identity set number = number + 1')
  const { start } = await pageAt(places, {}, 5_000)
  expect(start).toMatchObject({ total: null, after: null })
})

it('holds for nothing that a transaction wrote that had begun before', async () => {
  const places = createPlaces(database, log)
  const client = await mirror.db.pool.connect()
  await client.query('begin')
  await client.query('select pg_current_xact_id()')
  const { start } = await pageAt(places, {}, 0)
  start.learn(77)
  await client.query(
    `insert into mirror.change_log (stream, key, operation, diff) values ('rentals', '{"id": 1000}', 'update', '{}')`,
  )
  await client.query('commit')
  client.release()
  expect((await pageAt(places, {}, 0)).start.total).toBeNull()
})
