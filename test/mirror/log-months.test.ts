// The months of the change log: every entry finds a place, a month that is old goes as a whole, and consumers of the log are informed.

import { beforeEach, expect, it } from 'vitest'
import type { Queryable } from '../../src/database/sql.ts'
import { messageOf } from '../../src/errors.ts'
import { pruneHistory } from '../../src/mirror/history.ts'
import { dropLogMonths, makeLogMonths } from '../../src/mirror/log-months.ts'
import { createTestPool } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { feedSettled, openMirror } from '../helpers/rows.ts'

const mirror = opened(openMirror)

/** The first day of the month so many months from now. */
const month = (offset: number): string => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)).toISOString()
}
const middle = (offset: number): string => new Date(Date.parse(month(offset)) + 14 * 86_400_000).toISOString()
const names = async (): Promise<readonly string[]> =>
  (await mirror.all<{ name: string }>(`select partition::text as name from mirror.log_partitions() order by ends`)).map(
    ({ name }) => name,
  )
const nameOf = (offset: number): string => `mirror_log.change_log_${month(offset).slice(0, 7).replace('-', '_')}`
const log = async (at: string, id = 1, operation = 'update', whole = true): Promise<void> => {
  await mirror.all(
    `insert into mirror.change_log (stream, key, operation, diff, changed_at, whole) values ('x', $1, $2, '{}', $3, $4)`,
    [{ id }, operation, at, whole],
  )
}
/** Where the entries stand. */
const places = async (): Promise<readonly string[]> =>
  (
    await mirror.all<{ place: string }>('select tableoid::regclass::text as place from mirror.change_log order by seq')
  ).map(({ place }) => place)

/** Only the default, and months from the given one to the one before this. */
beforeEach(async () => {
  await mirror.all('truncate mirror.change_log, sync.consumer_positions')
  for (const name of await names()) await mirror.all(`drop table ${name}`)
  for (const offset of [-4, -3, -2, -1])
    await mirror.all(
      `create table ${nameOf(offset)} partition of mirror.change_log (primary key (seq)) for values from ('${month(offset)}') to ('${month(offset + 1)}')`,
    )
})

const old = [-4, -3].map(nameOf)
const kept = [-2, -1].map(nameOf)
/** As many days as make the first two months old, and no later one. */
const days = Math.floor((Date.now() - Date.parse(month(-2))) / 86_400_000) - 1

const drop = (db: Queryable): Promise<number> =>
  dropLogMonths(db, days, (month, error) => {
    throw new Error(`${month}: ${messageOf(error)}`)
  })

it('keeps an entry of whatever time, and makes the months to come before they begin', async () => {
  for (const at of ['0001-01-01Z', month(1), '9999-12-31Z']) await log(at)
  expect(new Set(await places())).toEqual(new Set(['mirror_log.change_log_default']))
  await makeLogMonths(mirror.db.pool)
  // One of which the default has an entry stays there.
  expect(await names()).toEqual([...old, ...kept, nameOf(0), nameOf(2)])
  await log(month(0))
  await log(month(1))
  expect(await places()).toEqual([
    ...Array(3).fill('mirror_log.change_log_default'),
    nameOf(0),
    'mirror_log.change_log_default',
  ])
  await makeLogMonths(mirror.db.pool)
  expect(await names()).toHaveLength(6)
})

it('are made once by many at once', async () => {
  await Promise.all(Array.from({ length: 6 }, () => makeLogMonths(mirror.db.pool)))
  expect(await names()).toEqual([...old, ...kept, ...[0, 1, 2].map(nameOf)])
})

it('goes as a whole when it is old: no row is deleted, and who had not acknowledged it is lost', async () => {
  for (const offset of [-4, -3, -2, -1]) for (const id of [1, 2]) await log(middle(offset), id)
  await mirror.all('create table public.deleted (rows bigint)')
  await mirror.all(`create function public.note() returns trigger language plpgsql as $$ begin
    insert into public.deleted values (1); return null; end $$;
    create trigger note after delete on mirror.change_log for each row execute function public.note()`)
  await feedSettled(mirror)
  const given = await mirror.all<{ cursor: string }>('select cursor from mirror.changes_since()')
  for (const [name, last] of [
    ['first', 0],
    ['all of the old', 3],
    ['beyond', 5],
  ] as const) {
    const consumer = name.replaceAll(' ', '-')
    await mirror.all('select mirror.reset_consumer($1, $2)', [consumer, given[last]?.cursor])
  }
  await mirror.all(`select mirror.reset_consumer('none')`)
  expect(await pruneHistory(mirror.db.pool, { historyDays: days })).toEqual({ 'months of mirror.change_log': 2 })
  expect(await names()).toEqual(kept)
  expect(await mirror.all('select * from public.deleted')).toEqual([])
  expect(await mirror.all(`select name from sync.consumers where lost order by name`)).toEqual([
    { name: 'first' },
    { name: 'none' },
  ])
  expect(await mirror.all('select cursor from mirror.changes_since()')).toEqual(given.slice(4))
  await mirror.all('drop trigger note on mirror.change_log; drop function public.note; drop table public.deleted')
})

it('loses rows that are old while it still has younger ones', async () => {
  await log(new Date(Date.parse(month(-1)) + 1_000).toISOString())
  await log(new Date(Date.parse(month(0)) - 1_000).toISOString())
  const between = Math.floor((Date.now() - Date.parse(month(0))) / 86_400_000) + 2
  expect(await pruneHistory(mirror.db.pool, { historyDays: between })).toMatchObject({
    'months of mirror.change_log': 3,
    'mirror.change_log': 1,
  })
  expect(await places()).toEqual([nameOf(-1)])
})

it('stays while a younger one has the first entry of a record of which it has a later one', async () => {
  await log(middle(-2), 7, 'insert', false)
  await log(middle(-3), 7)
  expect(await drop(mirror.db.pool)).toBe(1)
  expect(await names()).toEqual([nameOf(-3), ...kept])
  await mirror.all('truncate mirror.change_log')
  await log(middle(-2), 8, 'insert', false)
  await log(middle(-3), 7)
  expect(await drop(mirror.db.pool)).toBe(1)
})

it('is named with what stands on it when it cannot go: its rows go one by one, and younger ones once they are gone', async () => {
  const [blocked = '', next = ''] = old
  // The first entry of a record of which only the next month has a later one.
  await log(middle(-4), 3, 'insert', false)
  await log(middle(-3), 3)
  for (const offset of [-3, -2, -1]) for (const id of [1, 2]) await log(middle(offset), id)
  await mirror.all(`create view public.july as select * from ${blocked}; select mirror.reset_consumer('none')`)
  const prune = async () => {
    const failed: unknown[] = []
    const onFailure = (table: string, reason: string) => void failed.push([table, reason])
    return [await pruneHistory(mirror.db.pool, { historyDays: days, onFailure }), failed] as const
  }
  try {
    const inTheWay = [[blocked, expect.stringContaining(`july depends on table ${blocked}`)]]
    expect(await prune()).toEqual([{ 'mirror.change_log': 4 }, inTheWay])
    expect(await names()).toEqual([...old, ...kept])
    expect(new Set(await places())).toEqual(new Set(kept))
    expect(await mirror.all('select name from sync.consumers where lost')).toEqual([{ name: 'none' }])
    expect(await prune()).toEqual([{ 'months of mirror.change_log': 1 }, inTheWay])
    expect(await names()).not.toContain(next)
  } finally {
    await mirror.all('drop view public.july')
  }
  expect(await prune()).toEqual([{ 'months of mirror.change_log': 1 }, []])
  expect(await names()).toEqual(kept)
})

it('is left to its owner, and to later while somebody uses it', async () => {
  await mirror.all(`create role months_of_tests; grant usage on schema mirror to months_of_tests`)
  const client = await mirror.db.pool.connect()
  await client.query('begin; set local role months_of_tests')
  expect(await drop(client)).toBe(0)
  await client.query('reset role; select from mirror.change_log')
  const other = createTestPool(mirror.url, 1)
  expect(await drop(other)).toBe(0)
  await client.query('rollback')
  client.release()
  await other.end()
  await mirror.all('drop owned by months_of_tests; drop role months_of_tests')
  expect(await drop(mirror.db.pool)).toBe(2)
})
