// Consumers of the feed: where each goes on, who may have it, what is refused, and what happens when one falls behind or dies.

import pg from 'pg'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { consumerStatus } from '../../src/inspect/feed.ts'
import { pruneHistory } from '../../src/mirror/history.ts'
import { isFull } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { feedSettled, openMirror, placeOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeAll(async () => {
  await mirror.all('create table public.done (place bigserial, seq bigint)')
})
beforeEach(() => mirror.all('truncate mirror.change_log, sync.consumer_positions, public.done'))

type Change = { cursor: string; seq: string; key: { id: number } }

const log = async (count: number, daysAgo = 0): Promise<void> => {
  await mirror.all(
    `insert into mirror.change_log (stream, key, operation, diff, changed_at)
     select 'x', jsonb_build_object('id', n), 'insert', '{}', now() - make_interval(days => $2)
     from generate_series(1, $1) n`,
    [count, daysAgo],
  )
  await feedSettled(mirror)
}
const next = (max = 100, name = 'crm'): Promise<Change[]> =>
  mirror.all<Change>('select * from mirror.next_changes($1, $2)', [name, max])
const ack = (cursor: string | undefined, name = 'crm') =>
  mirror.all('select mirror.ack_changes($1, $2)', [name, cursor ?? null])
const reset = (cursor: string | null, name = 'crm') =>
  mirror.all('select mirror.reset_consumer($1, $2)', [name, cursor])
const ids = (changes: readonly Change[]): number[] => changes.map(({ key }) => key.id)
const consumer = async () => (await mirror.all("select *, behind > interval '1 hour' as late from sync.consumers"))[0]

describe('a consumer', () => {
  it('begins at the start, goes on where it acknowledged, and is moved by nothing else', async () => {
    await log(5)
    expect(ids(await next(2))).toEqual([1, 2])
    const [, second] = await next(2)
    await ack(second?.cursor)
    expect(ids(await next())).toEqual([3, 4, 5])
    expect(await consumer()).toMatchObject({ name: 'crm', cursor: placeOf(second?.cursor), late: false, lost: false })
  })

  it('is never moved backwards by an acknowledgement, but by a reset: to a cursor, to the start, to now', async () => {
    await log(3)
    const [first, second, third] = await next()
    await ack(second?.cursor)
    await ack(first?.cursor)
    expect(ids(await next())).toEqual([3])
    await reset(first?.cursor ?? '')
    expect(ids(await next())).toEqual([2, 3])
    await reset('now')
    expect(await next()).toEqual([])
    expect(await consumer()).toMatchObject({ cursor: placeOf(third?.cursor) })
    await reset(null)
    expect(ids(await next())).toEqual([1, 2, 3])
  })

  it('goes on where it was when the transaction that acknowledged is rolled back', async () => {
    await log(2)
    const [first] = await next()
    const rolledBack = mirror.db.transaction(async (client) => {
      await client.query('select mirror.ack_changes($1, $2)', ['crm', first?.cursor])
      throw new Error('no')
    })
    await expect(rolledBack).rejects.toThrow('no')
    expect(ids(await next())).toEqual([1, 2])
  })

  it('reads in a read-only transaction once it is registered', async () => {
    await log(1)
    const readOnly = () =>
      mirror.db.transaction(
        async (client) => (await client.query<Change>(`select * from mirror.next_changes('crm')`)).rows,
        { readOnly: true },
      )
    await expect(readOnly()).rejects.toThrow('a read-only transaction cannot register it')
    await next()
    expect(ids(await readOnly())).toEqual([1])
  })

  it('starts over with a restored log, and with cursors of former times', async () => {
    await log(3)
    const changes = await next()
    await ack(changes[1]?.cursor)
    await mirror.all('update mirror.change_log set epoch = 1; update sync.consumer_positions set epoch = 1')
    await log(1)
    const again = await next()
    expect(ids(again)).toEqual([1, 2, 3, 1])
    await expect(ack(changes[2]?.cursor)).rejects.toMatchObject({ code: '22023' })
    await ack(again[1]?.cursor)
    expect(ids(await next())).toEqual([3, 1])
    await ack(again[3]?.cursor)
    expect(await next()).toEqual([])
  })
})

describe('what is refused', () => {
  const refused: readonly (readonly [string, string, (name: string) => Promise<unknown>])[] = [
    ['a cursor of another log', '22023', () => ack('1.12345.1.1')],
    ['a cursor that was never given', '22023', async () => ack(`${placeOf((await next())[0]?.cursor)}999`)],
    ['the place of an entry that is another now', '22023', async () => ack(`${placeOf((await next())[0]?.cursor)}.1`)],
    ['a text that is no cursor', '22023', () => ack('yesterday')],
    ['no cursor', '22023', () => ack(undefined)],
    ['an acknowledgement of nobody', '22023', async () => ack((await next())[0]?.cursor, 'nobody')],
    ['a reset to what never was', '22023', () => reset('1.2.3.4')],
    ['a name with blanks', '22023', () => next(1, 'a b')],
    ['no name', '22023', () => mirror.all('select * from mirror.next_changes(null)')],
  ]
  for (const [what, code, call] of refused)
    it(what, async () => {
      await log(1)
      await next()
      await expect(call('crm')).rejects.toMatchObject({ code })
      expect(ids(await next())).toEqual([1])
    })

  it('a cursor above the oldest running transaction: what commits late would be skipped', async () => {
    await log(1)
    await next()
    await mirror.db.transaction(async (late) => {
      await late.query('select pg_current_xact_id()')
      await mirror.all(
        `insert into mirror.change_log (stream, key, operation, diff) values ('x', '{"id": 2}', 'insert', '{}')`,
      )
      const forged = `select mirror.ack_changes('crm', '1.' || epoch || '.' || xid || '.' || seq)
        from mirror.change_log where key = '{"id": 2}'`
      await expect(mirror.all(forged)).rejects.toMatchObject({ code: '22023' })
    })
  })

  it('other roles, but for those who may write the table of consumers', async () => {
    await log(1)
    await mirror.all('drop role if exists crm_of_tests, other_of_tests')
    await mirror.all(
      'create role crm_of_tests in role boat_mirror_partner; create role other_of_tests in role boat_mirror_partner',
    )
    const as = async (role: string, sql: string): Promise<unknown> =>
      mirror.db
        .transaction(async (client) => {
          await client.query(`set local role ${role}`)
          return (await client.query(sql)).rowCount
        })
        .catch((error: { cause?: { code?: string } }) => error.cause?.code)
    const calls = [
      `select * from mirror.next_changes('crm')`,
      `select mirror.ack_changes('crm', (select cursor from mirror.changes_since(null, 1)))`,
      `select mirror.reset_consumer('crm')`,
      `select mirror.drop_consumer('crm')`,
    ]
    await mirror.all(`set role crm_of_tests; select mirror.reset_consumer('crm'); reset role`)
    for (const sql of calls) expect(await as('other_of_tests', sql), sql).toBe('42501')
    expect(await as('boat_mirror_reader', 'select cursor, behind, lost from sync.consumers')).toBe(1)
    expect(await as('boat_mirror_reader', calls[0] ?? '')).toBe('42501')
    for (const sql of calls) expect(await as('crm_of_tests', sql), sql).toBe(1)
    await as('crm_of_tests', calls[2] ?? '')
    expect(ids(await next())).toEqual([1])
    await mirror.all('drop role crm_of_tests, other_of_tests')
  })
})

describe('retention', () => {
  it('loses a consumer with what it had not acknowledged, and no other; a reset begins again', async () => {
    await log(3, 40)
    const changes = await next()
    for (const [name, last] of [
      ['crm', 1],
      ['other', 2],
    ] as const) {
      await next(1, name)
      await ack(changes[last]?.cursor, name)
    }
    await next(1, 'new')
    await log(1)
    expect(await mirror.all("select name, behind > interval '39 days' as late from sync.consumers order by 1")).toEqual(
      [
        { name: 'crm', late: true },
        { name: 'new', late: true },
        { name: 'other', late: false },
      ],
    )
    const states = async () => (await consumerStatus(mirror.db.pool, 30)).map(({ state }) => state)
    expect(await states()).toEqual(['late', 'late', 'following'])
    await pruneHistory(mirror.db.pool, { historyDays: 30, batch: 2 })
    expect(await states()).toEqual(['lost', 'lost', 'following'])
    expect(await mirror.all('select name, lost from sync.consumers order by 1')).toEqual([
      { name: 'crm', lost: true },
      { name: 'new', lost: true },
      { name: 'other', lost: false },
    ])
    expect(ids(await next(9, 'other'))).toEqual([1])
    for (const call of [() => next(), () => ack(changes[2]?.cursor)])
      await expect(call()).rejects.toMatchObject({
        code: '55000',
        message: expect.stringContaining(`select mirror.reset_consumer('crm', 'now')`),
      })
    await expect(reset(changes[2]?.cursor ?? '')).rejects.toMatchObject({ code: '22023' })
    await reset(null)
    expect(ids(await next())).toEqual([1])
  })
})

// In full for `npm run chaos`.
const [size, wantedKills] = isFull ? [25_000, 20] : [500, 4]
describe('a consumer that is killed', () => {
  it('is given every change, in order, and has applied each once, while writers roll back', async () => {
    let running = 4
    const writer = async (number: number): Promise<void> => {
      const client = new pg.Client(mirror.url)
      await client.connect()
      for (let n = 1; n <= size / 4; n++) {
        await client.query('begin')
        await client.query(
          `insert into mirror.change_log (stream, key, operation, diff) values ($1, '{"id": 1}', 'update', '{}')`,
          [`w${number}`],
        )
        await client.query(n % 5 === 0 ? 'rollback' : 'commit')
      }
      await client.end()
      running -= 1
    }
    let kills = 0
    /** Reads, applies and acknowledges until nothing is left; now and then it dies before, or just after, it commits. */
    const follow = async (name: string): Promise<void> => {
      for (let turn = 0; ; turn++) {
        const last = running === 0
        const client = new pg.Client(mirror.url)
        client.on('error', () => undefined)
        await client.connect()
        const dies = turn % 3 === 1 && kills < wantedKills
        if (dies) kills += 1
        await client.query('begin')
        const { rows } = await client.query(
          `with read as materialized (select * from mirror.next_changes($1, 40)),
             applied as (insert into public.done (seq) select seq from read)
           select cursor from read`,
          [name],
        )
        if (rows.length > 0) await client.query('select mirror.ack_changes($1, $2)', [name, rows.at(-1).cursor])
        if (dies)
          await mirror.all('select pg_terminate_backend($1)', [(client as unknown as { processID: number }).processID])
        await client.query('commit').catch(() => undefined) // it was killed
        await client.end().catch(() => undefined)
        if (last && rows.length === 0 && !dies) return
      }
    }
    // Two of one name: each transaction has the consumer to itself.
    await Promise.all([...[1, 2, 3, 4].map(writer), follow('crm'), follow('crm')])
    await feedSettled(mirror)
    await follow('crm')
    expect(kills).toBe(wantedKills)
    const applied = await mirror.all<{ seq: string }>('select seq from public.done order by place')
    const written = await mirror.all<{ seq: string }>('select seq from mirror.change_log order by xid, seq')
    expect(applied).toEqual(written)
    expect(written).toHaveLength(size * 0.8)
  })
})
