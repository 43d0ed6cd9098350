// Properties of the writer: whatever the order, the newest read stands, and the change log has every change once.

import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { addUpRowChanges, liveRows } from '../../src/mirror/kept-counts.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { at, type LogRow, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)

afterEach(async () => {
  const [counted] =
    await mirror.all(`select count(*)::float8 as rows, (count(*) filter (where _source not like '%#%'))::float8 as live
    from mirror.harbours where _deleted_at is null`)
  expect(await liveRows(mirror.db.pool, 'harbours'), 'before they are added up').toBe(counted?.live)
  await addUpRowChanges(mirror.db.pool)
  expect(await liveRows(mirror.db.pool, 'harbours')).toBe(counted?.live)
  const kept = await mirror.all(`select rows::float8 as rows from sync.streams where stream = 'harbours'`)
  expect(kept).toEqual([{ rows: counted?.rows }])
})

/** One read of one of three records; its content follows from when and how it was read. `newKeys` may be a wrong guess. */
type Read = {
  readonly kind: 'record' | 'stub' | 'gone'
  readonly record: number
  readonly minute: number
  readonly newKeys: boolean
}

const read = (kinds: readonly Read['kind'][]): fc.Arbitrary<Read> =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    record: fc.nat(2),
    minute: fc.integer({ min: 1, max: 12 }),
    newKeys: fc.boolean(),
  })

const nameOf = ({ kind, minute }: Read): string => `${kind} read in minute ${minute}`

let nextId = 1

/** Three ids that no other case uses. */
function freshIds(): readonly number[] {
  nextId += 3
  return [nextId - 3, nextId - 2, nextId - 1]
}

const idOf = (ids: readonly number[], record: number): number => ids[record] ?? 0

/** Applies batches of reads, each in a transaction of its own. */
async function apply(ids: readonly number[], batches: readonly (readonly Read[])[]): Promise<void> {
  for (const batch of batches) {
    const tables = batch
      .filter(({ kind }) => kind !== 'gone')
      .map((each) =>
        tableOf('harbours', each.minute, [rowOf('harbours', { id: idOf(ids, each.record), name: nameOf(each) })], {
          mode: each.kind === 'stub' ? 'stub' : 'record',
          newKeys: each.newKeys,
        }),
      )
    const tombstones = batch
      .filter(({ kind }) => kind === 'gone')
      .map((each) => ({
        stream: streamNamed('harbours'),
        keys: [[String(idOf(ids, each.record))]],
        source: 'GET /v3/harbours/{harbourId}',
        readAt: at(each.minute),
      }))
    await mirror.write({ tables, tombstones })
  }
}

type State = { name: string | null; deleted: boolean; stub: boolean }

async function stateOf(ids: readonly number[]): Promise<readonly (State | undefined)[]> {
  const rows = await mirror.all<State & { id: string }>(
    `select id, name, _deleted_at is not null as deleted, position('#' in _source) > 0 as stub from mirror.harbours where id = any($1)`,
    [ids],
  )
  return ids.map((id) => {
    const row = rows.find((each) => each.id === String(id))
    return row && { name: row.name, deleted: row.deleted, stub: row.stub }
  })
}

/** What must stand in the end: the newest record, or without any the newest stub. */
function newest(reads: readonly Read[], record: number): State | undefined {
  const own = reads.filter((each) => each.record === record)
  const best = (kind: Read['kind']): Read | undefined =>
    own.filter((each) => each.kind === kind).sort((a, b) => b.minute - a.minute)[0]
  const winner = best('record') ?? best('stub')
  return winner && { name: nameOf(winner), deleted: false, stub: winner.kind === 'stub' }
}

const chunked = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size))

const shuffled = (reads: readonly Read[]): fc.Arbitrary<Read[]> =>
  fc.shuffledSubarray([...reads], { minLength: reads.length, maxLength: reads.length })

it('reads in any order, in batches of any size and applied twice leave the newest record', async () => {
  const cases = fc
    .array(read(['record', 'stub']), { minLength: 1, maxLength: 8 })
    .chain((reads) => fc.tuple(shuffled(reads), fc.integer({ min: 1, max: 4 }), fc.boolean()))
  await fc.assert(
    fc.asyncProperty(cases, async ([reads, size, twice]) => {
      const ids = freshIds()
      await apply(ids, chunked(reads, size))
      if (twice) await apply(ids, chunked(reads, size))
      expect(await stateOf(ids)).toEqual(ids.map((_, record) => newest(reads, record)))
    }),
    { numRuns: runsOf(40) },
  )
})

/** A known record's state after reads and tombstones: the latest decides, of two in one minute the tombstone. */
function latest(reads: readonly Read[], record: number): State {
  const own = reads.filter((each) => each.record === record && each.kind !== 'stub')
  const order = (each: Read): number => each.minute * 2 + (each.kind === 'gone' ? 1 : 0)
  const last = own.sort((a, b) => order(b) - order(a))[0]
  const records = own.filter((each) => each.kind === 'record').sort((a, b) => b.minute - a.minute)
  const name = records[0] === undefined ? 'before' : nameOf(records[0])
  return { name, deleted: last?.kind === 'gone', stub: false }
}

it('tombstones and revivals of known records do not depend on the order of the transactions', async () => {
  const cases = fc
    .array(read(['record', 'stub', 'gone']), { minLength: 1, maxLength: 8 })
    .chain((reads) => fc.tuple(fc.constant(reads), shuffled(reads)))
  await fc.assert(
    fc.asyncProperty(cases, async ([reads, order]) => {
      const ids = freshIds()
      await apply(
        ids,
        ids.map((_, record) => [{ kind: 'record', record, minute: 0, newKeys: false } as const]),
      )
      await mirror.db.pool.query(`update mirror.harbours set name = 'before' where id = any($1)`, [ids])
      await apply(ids, chunked(order, 1))
      for (const [record, state] of (await stateOf(ids)).entries()) {
        const expected = latest(reads, record)
        expect(state?.deleted).toBe(expected.deleted)
        if (!expected.deleted) expect(state).toEqual(expected)
      }
    }),
    { numRuns: runsOf(40) },
  )
})

/** Replays the change log of one record. */
function replay(log: readonly LogRow[]): Record<string, unknown> | null {
  let row: Record<string, unknown> | null = null
  for (const { operation, diff } of log) {
    const news = Object.fromEntries(Object.entries(diff).map(([column, [, value]]) => [column, value]))
    const olds = Object.fromEntries(Object.entries(diff).map(([column, [value]]) => [column, value]))
    if (operation === 'insert') expect(row).toBeNull()
    else expect(row).toMatchObject(operation === 'update' ? olds : {})
    row = operation === 'delete' ? null : { ...(operation === 'insert' ? {} : row), ...news }
  }
  return row
}

it('replaying the change log gives the rows, and every change has one row in it', async () => {
  const cases = fc.array(read(['record', 'stub', 'gone']), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(cases, async (reads) => {
      const ids = freshIds()
      await apply(ids, chunked(reads, 1))
      for (const id of ids) {
        const log = await mirror.all<LogRow>(
          `select operation, diff from mirror.changes where stream = 'harbours' and key = jsonb_build_object('id', $1::bigint) order by seq`,
          [id],
        )
        const visible = log.map((each) => {
          const { _source, ...diff } = each.diff
          return { ...each, diff }
        })
        const [row] = await mirror.all<{ id: string; name: string; deleted: boolean }>(
          'select id, name, _deleted_at is not null as deleted from mirror.harbours where id = $1',
          [id],
        )
        const expected = row === undefined || row.deleted ? null : { id: Number(row.id), name: row.name }
        expect(replay(visible)).toEqual(expected)
      }
    }),
    { numRuns: runsOf(40) },
  )
})
