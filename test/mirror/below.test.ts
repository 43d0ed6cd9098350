// What hangs below a record goes and comes back with it, whatever is under way at that moment; and the log says the same.

import type { PoolClient } from 'pg'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { streamNamed, streams } from '../../src/catalog/catalog.ts'
import { keyText } from '../../src/catalog/keys.ts'
import { saveRecords } from '../../src/mirror/records.ts'
import type { MirrorWrites, Scope, Written } from '../../src/mirror/rows.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { opened } from '../helpers/opened.ts'
import { at, changeLog, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeEach(async () => {
  await mirror.db.pool.query(`truncate mirror.rentals, mirror.rental_payments, mirror.resources, mirror.resource_options,
    mirror.resource_slots, mirror.resource_slot_options, mirror.users, mirror.user_licenses, mirror.change_log, sync.records`)
})

const gone = (stream: string, minute: number, ...keys: string[][]): MirrorWrites => ({
  tombstones: [{ stream: streamNamed(stream), keys, source: `GET /v3/${stream}/{id}`, readAt: at(minute) }],
})
const ofRental = (id: number): Scope => ({ columns: ['rental_id'], values: [String(id)] })
const rentals = (minute: number, ...ids: number[]): MirrorWrites => ({
  tables: [
    tableOf(
      'rentals',
      minute,
      ids.map((id) => rowOf('rentals', { id })),
    ),
  ],
})
/** The complete answer of a rental's payments. */
const payments = (minute: number, rental: number, ...ids: number[]): MirrorWrites => ({
  tables: [
    tableOf(
      'rental_payments',
      minute,
      ids.map((id) => rowOf('rental_payments', { rental_id: rental, id, price: '10' })),
      { replace: [ofRental(rental)] },
    ),
  ],
})

/** Keys of live rows by stream; streams without any are omitted. */
async function livingRows(): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const { name, key } of streams) {
    const rows = await mirror.all<{ key: string }>(
      `select array_to_string(array[${key.map((column) => `${column}::text`).join(', ')}], '/') as key
       from mirror.${name} where _deleted_at is null order by 1`,
    )
    if (rows.length > 0) found[name] = rows.map((row) => row.key)
  }
  return found
}

/** The same from the change log, as a reader that applies it row by row sees it. */
async function rowsOfTheLog(): Promise<Record<string, string[]>> {
  const copy = new Map<string, Set<string>>()
  for (const { stream, key, operation } of await changeLog(mirror)) {
    const rows = copy.get(stream) ?? new Set()
    copy.set(stream, rows)
    const text = streamNamed(stream)
      .key.map((column) => key[column])
      .join('/')
    expect(rows.has(text), `${operation} of ${stream} ${text}`).toBe(operation !== 'insert')
    if (operation === 'delete') rows.delete(text)
    else rows.add(text)
  }
  return Object.fromEntries([...copy].flatMap(([name, rows]) => (rows.size === 0 ? [] : [[name, [...rows].sort()]])))
}

async function expectRows(expected: Record<string, string[]>): Promise<void> {
  expect(await livingRows()).toEqual(expected)
  expect(await rowsOfTheLog()).toEqual(expected)
}

/** A transaction that has written and is not committed yet. */
async function openTransaction(
  writes: MirrorWrites,
): Promise<{ commit(): Promise<void>; readonly client: PoolClient; readonly written: Written }> {
  const client = await mirror.db.pool.connect()
  await client.query('begin')
  const written = await applyWrites(client, writes)
  return {
    client,
    written,
    commit: async () => {
      await client.query('commit')
      client.release()
    },
  }
}

/** Waits until one connection waits for a lock of another. */
const untilBlocked = (): Promise<void> =>
  vi.waitFor(
    async () => {
      const [row] = await mirror.all<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      expect(row?.waiting).toBe(1)
    },
    { timeout: 60_000, interval: 10 },
  )

/** Does `first` up to its commit, then lets `second` run into it, then commits `first`. */
async function meet(first: MirrorWrites, second: MirrorWrites): Promise<void> {
  const open = await openTransaction(first)
  const meeting = mirror.write(second)
  await untilBlocked()
  await open.commit()
  await meeting
}

describe('a record that goes while something is written below it', () => {
  it('takes along what is committed a moment before', async () => {
    await mirror.write(rentals(1, 1))
    await meet(payments(4, 1, 1, 2), gone('rentals', 5, ['1']))
    await expectRows({})
  })

  it('lets in nothing that is committed a moment later', async () => {
    await mirror.write(rentals(1, 1))
    await meet(gone('rentals', 5, ['1']), payments(4, 1, 1, 2))
    await expectRows({})
  })

  it('is not thwarted by a read that began after its own', async () => {
    await mirror.write(rentals(1, 1))
    await mirror.write(payments(6, 1, 1))
    await mirror.write(gone('rentals', 5, ['1']))
    await expectRows({})
    await mirror.write(payments(7, 1, 1, 2))
    await expectRows({})
    const [row] = await mirror.all<{ _read_at: Date }>('select _read_at from mirror.rental_payments')
    expect(row?._read_at, 'an older read must not come back with the record').toEqual(at(6))
  })

  it('takes along an empty answer, a document and what hangs two steps below', async () => {
    const slot = rowOf('resource_slots', { resource_id: 'a', id: 's', date: '2026-07-14' })
    const option = rowOf('resource_slot_options', { resource_id: 'a', slot_id: 's', id: 7 })
    await mirror.write({
      tables: [
        tableOf('resources', 1, [rowOf('resources', { id: 'a' })]),
        tableOf('resource_slots', 1, [slot]),
        tableOf('users', 1, [rowOf('users', { id: 1 })]),
      ],
    })
    await meet({ tables: [tableOf('resource_slot_options', 4, [option])] }, gone('resources', 5, ['a']))
    await meet(
      { tables: [tableOf('user_licenses', 4, [rowOf('user_licenses', { user_id: 1 })])] },
      gone('users', 5, ['1']),
    )
    await mirror.write(rentals(1, 1))
    await mirror.write(payments(1, 1, 1))
    await meet(payments(4, 1), gone('rentals', 5, ['1']))
    await expectRows({})
  })

  it('does so too when a complete answer does not bring it', async () => {
    const slot = rowOf('resource_slots', { resource_id: 'a', id: 's', date: '2026-07-14' })
    await mirror.write({ tables: [tableOf('resource_slots', 1, [slot])] })
    const option = tableOf('resource_slot_options', 4, [
      rowOf('resource_slot_options', { resource_id: 'a', slot_id: 's', id: 7 }),
    ])
    const noSlots = tableOf('resource_slots', 3, [], { replace: [{ columns: ['resource_id'], values: ['a'] }] })
    await meet({ tables: [option] }, { tables: [noSlots] })
    await expectRows({})
  })
})

it('writing below a record keeps nobody from writing the record', async () => {
  await mirror.write(rentals(1, 1))
  const open = await openTransaction(payments(4, 1, 1))
  await mirror.write({ tables: [tableOf('rentals', 5, [rowOf('rentals', { id: 1, status: 'VALIDATED' })])] })
  await open.commit()
  await expectRows({ rentals: ['1'], rental_payments: ['1/1'] })
})

describe('a record that comes back', () => {
  const known = async (): Promise<string[]> => {
    const rows = await mirror.all<{ what: string }>(
      `select stream || ' ' || key as what from sync.records where coalesce(list_hash, detail_hash) is not null order by 1`,
    )
    return rows.map((row) => row.what)
  }
  const state = { stream: 'rental_payments', key: '1', detailHash: 'h', detailReadAt: at(4), projection: 1 }

  it('brings back what its details say when they are read again, for they were forgotten with it', async () => {
    await mirror.write(rentals(1, 1))
    await mirror.write(payments(2, 1, 1, 2))
    await saveRecords(mirror.db.pool, [{ stream: 'rentals', key: '1', listHash: 'l' }, state])
    await mirror.write(gone('rentals', 5, ['1']))
    expect(await known()).toEqual([])
    await mirror.write(rentals(6, 1))
    await mirror.write(payments(7, 1, 2))
    await expectRows({ rentals: ['1'], rental_payments: ['1/2'] })
  })

  it('does not find details remembered that were read while it was gone', async () => {
    await mirror.write(rentals(1, 1, 2))
    await mirror.write(gone('rentals', 5, ['1']))
    await saveRecords(mirror.db.pool, [state, { ...state, key: '2' }])
    expect(await known()).toEqual(['rental_payments 2'])
  })

  it('does not find details remembered that are older than their tombstones', async () => {
    await mirror.write(rentals(1, 1))
    await mirror.write(payments(2, 1, 1))
    await saveRecords(mirror.db.pool, [{ ...state, detailReadAt: at(2) }])
    await mirror.write(gone('rentals', 5, ['1']))
    await mirror.write(rentals(6, 1))
    await mirror.write(payments(4, 1, 1))
    await saveRecords(mirror.db.pool, [state])
    await expectRows({ rentals: ['1'] })
    expect(await known()).toEqual([])
  })

  it('does not find details remembered that were left out a moment before somebody brought it back', async () => {
    await mirror.write(rentals(1, 1, 2))
    await mirror.write(gone('rentals', 3, ['1']))
    const open = await openTransaction({
      tables: [...(payments(4, 1, 1).tables ?? []), ...(payments(4, 2, 2).tables ?? [])],
    })
    await mirror.write(rentals(5, 1))
    await saveRecords(open.client, [state, { ...state, key: '2' }], open.written.gone)
    await open.commit()
    await expectRows({ rentals: ['1', '2'], rental_payments: ['2/2'] })
    expect(await known()).toEqual(['rental_payments 2'])
  })

  it('does not find details remembered that were found unchanged by somebody who knew them from before', async () => {
    await saveRecords(mirror.db.pool, [state, { ...state, key: '2' }, { ...state, key: '3', detailHash: 'other' }])
    await mirror.write(rentals(1, 1))
    await mirror.write(gone('rentals', 2, ['1']))
    await mirror.write(rentals(3, 1))
    const later = { ...state, detailReadAt: at(9), unchanged: true }
    await saveRecords(mirror.db.pool, [later, { ...later, key: '2' }, { ...later, key: '3' }])
    expect(await mirror.all('select key, detail_read_at from sync.records order by key')).toEqual([
      { key: '1', detail_read_at: null },
      { key: '2', detail_read_at: at(9) },
      { key: '3', detail_read_at: at(4) },
    ])
  })

  it('is forgotten as well when a complete answer did not bring it', async () => {
    const slot = rowOf('resource_slots', { resource_id: 'a', id: 's', date: '2026-07-14' })
    const scope = { replace: [{ columns: ['resource_id'], values: ['a'] }] }
    await mirror.write({ tables: [tableOf('resource_slots', 1, [slot])] })
    await saveRecords(mirror.db.pool, [
      { stream: 'resource_slot_options', key: keyText(['a', 's']), detailHash: 'h' },
      { stream: 'resource_slot_options', key: keyText(['a', 't']), detailHash: 'h' },
      { stream: 'resource_slots', key: 'a', detailHash: 'h' },
    ])
    await mirror.write({ tables: [tableOf('resource_slots', 2, [], scope)] })
    expect(await known()).toEqual(['resource_slot_options ["a","t"]', 'resource_slots a'])
  })

  it('comes back in the log with the columns that another read had filled', async () => {
    await mirror.write(rentals(1, 1))
    const values = { resource_id: 'a', company_id: '7' }
    await mirror.write({ filled: [{ stream: streamNamed('rentals'), readAt: at(2), rows: [{ key: ['1'], values }] }] })
    await mirror.write(gone('rentals', 3, ['1']))
    await mirror.write(rentals(4, 1))
    expect((await changeLog(mirror)).at(-1)).toMatchObject({
      operation: 'insert',
      diff: { id: [null, 1], resource_id: [null, 'a'], company_id: [null, 7] },
    })
  })
})

// Hundreds of transactions wait for each other, and repeat what a deadlock would undo.
it('writers below records, records that go and records that come never lock each other up', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => index + 1)
  await mirror.write(rentals(0, ...ids))
  const shuffled = (seed: number): number[] =>
    [...ids].sort((a, b) => ((a * seed * 7919) % 101) - ((b * seed * 7919) % 101))
  /** Some are read again, some go, and of others the payments are read, all in one transaction. */
  const writesOf = (seed: number): MirrorWrites => {
    const [a, b, c, d, e, f] = shuffled(seed) as [number, number, number, number, number, number]
    return {
      tables: [
        tableOf('rentals', seed, [rowOf('rentals', { id: a, code: `c${seed}` }), rowOf('rentals', { id: b })]),
        ...(payments(seed, c, seed).tables ?? []),
        ...(payments(seed, d, seed).tables ?? []),
        ...(payments(seed, a, seed).tables ?? []),
      ],
      ...(seed % 3 === 0 ? gone('rentals', seed, [String(f)], [String(e)], [String(c)]) : {}),
    }
  }
  const deadlocks = 'select deadlocks::int from pg_stat_database where datname = current_database()'
  const lane = async (from: number): Promise<void> => {
    for (let seed = from; seed <= 240; seed += 6) {
      const open = await openTransaction(writesOf(seed))
      await open.commit()
    }
  }
  await Promise.all([1, 2, 3, 4, 5, 6].map(lane)) // without the repetition of `transaction`: a deadlock would end it
  expect(await mirror.all(deadlocks)).toEqual([{ deadlocks: 0 }])
  const below = await mirror.all(
    `select p.rental_id, p.id from mirror.rental_payments p join mirror.rentals r on r.id = p.rental_id
     where p._deleted_at is null and r._deleted_at is not null`,
  )
  expect(below).toEqual([])
  expect(await rowsOfTheLog()).toEqual(await livingRows())
})
