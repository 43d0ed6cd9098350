// mirror.changes_since: skips nothing that commits late, repeats rather than misses after a restore, and NOTIFY.

import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { Queryable } from '../../src/database/sql.ts'
import { changesChannel, createChangeNotifier } from '../../src/mirror/change-notifier.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { opened } from '../helpers/opened.ts'
import { at, feedSettled, openMirror, quiet, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeEach(async () => {
  await mirror.db.pool.query('truncate mirror.change_log')
})

type Change = { cursor: string; seq: string; stream: string; key: { id: number }; operation: string }

const settled = (): Promise<void> => feedSettled(mirror)

const read = (cursor: string | null, max: number): Promise<Change[]> =>
  mirror.all<Change>('select * from mirror.changes_since($1, $2)', [cursor, max])

const write = (db: Queryable, id: number, stream = 'x'): Promise<unknown> =>
  db.query(
    `insert into mirror.change_log (stream, key, operation, diff) values ($1, jsonb_build_object('id', $2::int), 'insert', '{}')`,
    [stream, id],
  )

/** Reads to the end from a cursor, a few at a time. */
async function readAll(cursor: string | null, max = 7): Promise<Change[]> {
  const all: Change[] = []
  for (let from = cursor; ; ) {
    const some = await read(from, max)
    all.push(...some)
    const last = some.at(-1)
    if (last === undefined) return all
    from = last.cursor
  }
}

const ids = (changes: readonly Change[]): number[] => changes.map(({ key }) => key.id)

describe('mirror.changes_since', () => {
  it('gives everything from the beginning, and from a cursor what came after it', async () => {
    for (const id of [1, 2, 3]) await write(mirror.db.pool, id)
    await settled()
    const first = await read(null, 2)
    expect(ids(first)).toEqual([1, 2])
    expect(ids(await read(first[1]?.cursor ?? null, 2))).toEqual([3])
    expect(ids(await mirror.all<Change>('select * from mirror.changes_since(null)'))).toEqual([1, 2, 3])
    expect(Object.keys(first[0] ?? {})).toEqual(['cursor', 'seq', 'stream', 'key', 'operation', 'changed_at', 'diff'])
  })

  it('waits for what commits late, although others have committed after it', async () => {
    const late = await mirror.db.pool.connect()
    try {
      await late.query('begin')
      await write(late, 1)
      await write(mirror.db.pool, 2)
      const before = await readAll(null)
      expect(ids(before)).toEqual([])
      await late.query('commit')
      await settled()
      expect(ids(await readAll(before.at(-1)?.cursor ?? null))).toEqual([1, 2])
    } finally {
      late.release()
    }
  })

  it('gives the changes of a record in their order, also when an earlier transaction comes to it last', async () => {
    const harbours = streamNamed('harbours')
    const named = (minute: number, name: string) => ({
      tables: [tableOf('harbours', minute, [rowOf('harbours', { id: 1, name })])],
    })
    const gone = { tombstones: [{ stream: harbours, keys: [['1']], source: 'GET /v3/harbours/1', readAt: at(3) }] }
    await mirror.db.transaction(async (oldest) => {
      await oldest.query('select pg_current_xact_id()')
      await mirror.db.transaction(async (older) => {
        await older.query('select pg_current_xact_id()')
        await mirror.write(named(1, 'Brest'))
        await applyWrites(older, named(2, 'Roscoff'))
      })
      // Overtaken by one that was itself overtaken; and what was not overtaken keeps its place.
      await applyWrites(oldest, gone)
      await applyWrites(oldest, named(4, 'Camaret'))
      await applyWrites(oldest, { tables: [tableOf('harbours', 4, [rowOf('harbours', { id: 2 })])] })
    })
    await settled()
    const told = (await readAll(null, 2)) as (Change & { diff: Record<string, unknown[]> })[]
    const ofOne = told.filter(({ key }) => key.id === 1)
    expect(ofOne.map(({ operation, diff }) => [operation, diff.name?.[1]])).toEqual([
      ['insert', 'Brest'],
      ['update', 'Roscoff'],
      ['delete', undefined],
      ['insert', 'Camaret'],
    ])
    expect(ids(told)[0]).toBe(2)
  })

  it('tells a first entry as it was while later changes of its record are not given yet, or not committed', async () => {
    const named = (minute: number, name: string) => ({
      tables: [tableOf('harbours', minute, [rowOf('harbours', { id: 50, name })])],
    })
    const insert = { id: [null, 50], name: [null, 'Brest'] }
    await mirror.write(named(1, 'Brest'))
    await settled()
    const told = async () => (await readAll(null)).map((change) => (change as Change & { diff: unknown }).diff)
    expect(await told()).toEqual([insert])
    await mirror.db.transaction(async (holder) => {
      await holder.query('select pg_current_xact_id()')
      await mirror.write(named(2, 'Roscoff'))
      expect(await told()).toEqual([insert]) // committed, but above the oldest running transaction
      await applyWrites(holder, named(3, 'Camaret'))
      expect(await told()).toEqual([insert])
    })
    await settled()
    expect(await told()).toEqual([insert, { name: ['Brest', 'Roscoff'] }, { name: ['Roscoff', 'Camaret'] }])
  })

  it('tells first entries to whom the view was given, or a view of theirs, and to nobody else', async () => {
    const role = `told_${Math.random().toString(36).slice(2, 8)}`
    await mirror.all(`create role ${role}; create role ${role}_friend; grant usage on schema mirror to ${role};
      grant select on mirror.changes to ${role}; create schema ${role} authorization ${role}`)
    const client = await mirror.db.pool.connect()
    const as = (who: string, sql: string): Promise<unknown[]> =>
      client.query(`set local role ${who}`).then(async () => (await client.query(sql)).rows)
    try {
      await client.query('begin')
      const harbour = rowOf('harbours', { id: 9001, name: 'Brest' })
      await applyWrites(client, { tables: [tableOf('harbours', 1, [harbour])] })
      await as(role, `create view ${role}.own as select diff -> 'name' ->> 1 as name from mirror.changes`)
      await as(role, `grant usage on schema ${role} to ${role}_friend; grant select on ${role}.own to ${role}_friend`)
      expect(await as(role, `select name from ${role}.own`)).toEqual([{ name: 'Brest' }])
      expect(await as(`${role}_friend`, `select name from ${role}.own`)).toEqual([{ name: 'Brest' }])
      const whole = `mirror_log.first_diff('harbours', '{"id": 9001}', 1, '{}')`
      await expect(as(role, `select ${whole}`)).rejects.toThrow('permission denied for schema mirror_log')
    } finally {
      await client.query('rollback')
      client.release()
      await mirror.all(`drop owned by ${role}, ${role}_friend; drop role ${role}, ${role}_friend`)
    }
  })

  it('tells times in UTC, as they are logged, whatever the time zone of who reads', async () => {
    const departure_datetime = '2026-07-01T10:00:00+02:00'
    await mirror.write({ tables: [tableOf('rentals', 1, [rowOf('rentals', { id: 50, departure_datetime })])] })
    await mirror.db.transaction(async (client) => {
      await client.query(`set local timezone = 'Asia/Tokyo'`)
      const { rows } = await client.query('select diff from mirror.changes')
      expect(rows).toEqual([{ diff: { id: [null, 50], departure_datetime: [null, '2026-07-01T08:00:00+00:00'] } }])
    })
  })

  it('gives whole entries as they stand: what was taken from them is not found again in the row', async () => {
    await mirror.write({ tables: [tableOf('harbours', 1, [rowOf('harbours', { id: 51, name: 'Brest' })])] })
    await mirror.db.pool.query(`update mirror.change_log set whole = true, diff = '{"id": [null, 51]}'`)
    expect(await mirror.all('select diff from mirror.changes')).toEqual([{ diff: { id: [null, 51] } }])
  })

  it('starts from the beginning for a cursor of another cluster', async () => {
    for (const id of [1, 2]) await write(mirror.db.pool, id)
    await settled()
    const [, second] = await read(null, 2)
    const foreign = second?.cursor.replace(/^1\.-?\d+/, '1.12345') ?? ''
    expect(ids(await read(foreign, 10))).toEqual([1, 2])
  })

  it('gives restored rows, whose transaction ids mean nothing here, before the new ones', async () => {
    await mirror.db.pool.query(
      `insert into mirror.change_log (epoch, xid, stream, key, operation, diff)
       select 1, '900000000000'::xid8, 'x', jsonb_build_object('id', n), 'insert', '{}'::jsonb from generate_series(1, 5) n
       union all select 9000000000000000000, '3'::xid8, 'x', '{"id": 6}'::jsonb, 'insert', '{}'::jsonb`,
    )
    await write(mirror.db.pool, 7)
    await settled()
    for (const max of [1, 2, 3, 100]) expect(ids(await readAll(null, max))).toEqual([1, 2, 3, 4, 5, 6, 7])
    const last = (await readAll(null)).at(-1)?.cursor ?? null
    await write(mirror.db.pool, 8)
    await settled()
    expect(ids(await readAll(last))).toEqual([8])
  })

  describe('given a cursor of a copy of this log, or of what it has lost', () => {
    /** The cursor of an entry that was written here and is no longer. */
    const lost = async (id: number): Promise<string> => {
      await write(mirror.db.pool, id)
      await settled()
      const cursor = (await readAll(null)).at(-1)?.cursor ?? ''
      await mirror.all('delete from mirror.change_log where key = $1', [{ id }])
      return cursor
    }

    it('repeats everything where another entry has its transaction and its number', async () => {
      await write(mirror.db.pool, 1)
      const cursor = await lost(2)
      const [, , xid, seq] = cursor.split('.')
      await mirror.all(
        `insert into mirror.change_log (seq, xid, stream, key, operation, diff) overriding system value
         values ($1, $2, 'x', '{"id": 3}', 'insert', '{}')`,
        [seq, xid],
      )
      expect(ids(await readAll(cursor))).toEqual([1, 3])
      expect(ids(await readAll(cursor.replace(/\.[0-9a-f]+$/, '')))).toEqual([]) // of a former release
    })

    it('repeats everything where no entry has its number, or its transaction is not due yet', async () => {
      await write(mirror.db.pool, 1)
      const cursor = await lost(2)
      await write(mirror.db.pool, 3)
      await settled()
      expect(ids(await readAll(cursor))).toEqual([1, 3])
      const ahead = cursor.replace(/^(1\.-?\d+)\.\d+/, '$1.900000000000')
      expect(ids(await readAll(ahead))).toEqual([1, 3])
      for (const given of [cursor, ahead]) expect(ids(await readAll(given.replace(/\.[0-9a-f]+$/, '')))).toEqual([1, 3])
    })

    it('repeats what is left of a former history where the entry there is another one', async () => {
      await mirror.all(`insert into mirror.change_log (epoch, xid, stream, key, operation, diff)
        select 1, '9', 'x', jsonb_build_object('id', n), 'insert', '{}' from generate_series(1, 2) n`)
      const [first] = await read(null, 1)
      expect(ids(await readAll(first?.cursor ?? ''))).toEqual([2])
      await mirror.all(`update mirror.change_log set changed_at = changed_at + interval '1 microsecond'`)
      expect(ids(await readAll(first?.cursor ?? ''))).toEqual([1, 2])
    })

    it('continues where what it names was pruned', async () => {
      const cursor = await lost(1)
      await write(mirror.db.pool, 2)
      await settled()
      expect(ids(await readAll(cursor))).toEqual([2])
    })
  })

  it('waits for a cursor that is ahead of the snapshot of its caller', async () => {
    await write(mirror.db.pool, 1)
    await settled()
    await mirror.db.transaction(
      async (early) => {
        const since = async (cursor: string | undefined): Promise<number[]> =>
          ids((await early.query<Change>('select * from mirror.changes_since($1)', [cursor ?? null])).rows)
        expect(await since(undefined)).toEqual([1])
        await write(mirror.db.pool, 2)
        await settled()
        const all = await readAll(null)
        expect(ids(all)).toEqual([1, 2])
        expect(await since(all[1]?.cursor)).toEqual([])
        expect(await since(all[0]?.cursor)).toEqual([])
      },
      { isolation: 'repeatable read', readOnly: true },
    )
  })

  const wrong = [
    { name: 'another text', cursor: 'abc' },
    { name: 'an empty text', cursor: '' },
    { name: 'a number', cursor: '42' },
    { name: 'hostile text', cursor: `1.2.3.4'; drop table mirror.change_log; --` },
    { name: 'digits without end', cursor: `1.1.${'9'.repeat(40)}.1` },
  ]
  for (const { name, cursor } of wrong)
    it(`refuses ${name} and says what a cursor is`, async () => {
      await expect(read(cursor, 1)).rejects.toMatchObject({
        code: '22023',
        message: expect.stringContaining(
          'It must be null (from the beginning) or a cursor that mirror.changes_since returned',
        ),
      })
    })

  for (const max of [0, -1, null])
    it(`refuses ${max} rows`, async () => {
      await expect(mirror.all('select * from mirror.changes_since(null, $1)', [max])).rejects.toMatchObject({
        code: '22023',
        message: expect.stringContaining('max_rows'),
      })
    })
})

describe('the notifier', () => {
  /** A database that only counts. */
  const counter = (): { sent: string[]; db: Queryable } => {
    const sent: string[] = []
    const query = async (text: string): Promise<never> => {
      sent.push(text)
      return { rows: [], rowCount: 0 } as never
    }
    return { sent, db: { query } }
  }

  it('tells listeners in a statement of its own', async () => {
    const listener = new pg.Client(mirror.url)
    await listener.connect()
    const heard = new Promise((resolve) => listener.on('notification', ({ channel }) => resolve(channel)))
    await listener.query(`listen ${changesChannel}`)
    const notifier = createChangeNotifier(mirror.db.pool, quiet)
    notifier.notify()
    expect(await heard).toBe('boat_mirror_changes')
    await notifier.close()
    await listener.end()
  })

  it('sends a burst as one now and one when it is closed', async () => {
    const { sent, db } = counter()
    const notifier = createChangeNotifier(db, quiet, 60_000)
    for (let n = 0; n < 1_000; n++) notifier.notify()
    await setImmediate()
    expect(sent).toHaveLength(1)
    await notifier.close()
    await notifier.close()
    expect(sent).toHaveLength(2)
  })

  it('has nothing to send when nothing was written', async () => {
    const { sent, db } = counter()
    await createChangeNotifier(db, quiet).close()
    expect(sent).toEqual([])
  })

  it('survives a database that is away', async () => {
    const db: Queryable = { query: () => Promise.reject(new Error('away')) }
    const notifier = createChangeNotifier(db, quiet)
    notifier.notify()
    await expect(notifier.close()).resolves.toBeUndefined()
  })
})
