// mirror.history and mirror.record_at: each version of a record as it was, whatever came after it and went before it.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { at, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)

const stream = streamNamed('rentals')
const rental = (minute: number, id: number, values: Readonly<Record<string, string | number | null>>) =>
  mirror.write({ tables: [tableOf('rentals', minute, [rowOf('rentals', { id, ...values }, { id, minute })])] })
const gone = (minute: number, name: string, id: number) =>
  mirror.write({
    tombstones: [
      { stream: streamNamed(name), keys: [[String(id)]], source: `GET /v3/${name}/${id}`, readAt: at(minute) },
    ],
  })
type Version = { operation: string | null; record: Record<string, unknown> | null; from: string; to: string | null }
const history = (id: number): Promise<Version[]> =>
  mirror.all<Version>(
    `select operation, record, valid_from::text as from, valid_to::text as to
     from mirror.history('rentals', jsonb_build_object('id', $1::int))`,
    [id],
  )

type Seen = { readonly time: string; readonly rows: ReadonlyMap<number, Record<string, unknown>> }

/** The rentals that live now, their columns without our own. */
async function look(): Promise<Seen> {
  const rows = await mirror.all<{ id: number; row: Record<string, unknown> }>(
    'select id::int, to_jsonb(t) as row from mirror.rentals t where _deleted_at is null',
  )
  const columns = stream.columns.map(({ name }) => name)
  const [now] = await mirror.all<{ now: string }>('select clock_timestamp()::text as now')
  return {
    time: now?.now ?? '',
    rows: new Map(rows.map(({ id, row }) => [id, Object.fromEntries(columns.map((name) => [name, row[name]]))])),
  }
}

const text = fc.option(fc.constantFrom('a', 'b', 'ü"\\'), { nil: null })
const step = fc.record({
  id: fc.integer({ min: 1, max: 2 }),
  gone: fc.boolean(),
  message: text,
  order_link: text,
  departure_datetime: fc.option(fc.constantFrom('2026-07-01T10:00:00+02:00', '2026-08-01T10:00:00Z'), { nil: null }),
})

it('tells at every moment what the row was then, as far back as the log goes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), fc.nat(4), async (steps, pruned) => {
      await mirror.all('truncate mirror.change_log, mirror.rentals')
      const seen: Seen[] = [await look()]
      for (const [minute, { id, gone: goes, ...values }] of steps.entries()) {
        await (goes ? gone(minute, 'rentals', id) : rental(minute, id, values))
        seen.push(await look())
      }
      await mirror.all(
        'delete from mirror.change_log where seq in (select seq from mirror.change_log order by seq limit $1)',
        [pruned],
      )
      const [log] = await mirror.all<{ begin: string | null }>(
        'select min(changed_at)::text as begin from mirror.change_log',
      )
      const known = seen.filter(({ time }) => log?.begin != null && (pruned === 0 || time >= log.begin))
      const told = await mirror.all<{ first: unknown; second: unknown }>(
        `select mirror.record_at('rentals', '{"id": 1}', time) as first, mirror.record_at('rentals', '{"id": 2}', time) as second
         from unnest($1::timestamptz[]) with ordinality t (time, place) order by place`,
        [known.map(({ time }) => time)],
      )
      expect(told).toEqual(known.map(({ rows }) => ({ first: rows.get(1) ?? null, second: rows.get(2) ?? null })))
      for (const id of [1, 2]) {
        const versions = await history(id)
        expect(versions.slice(1).map(({ from }) => from)).toEqual(versions.slice(0, -1).map(({ to }) => to))
      }
    }),
    { numRuns: runsOf(15) },
  )
})

it('names what made each version, leaves out what changed the payload alone, and ends with null after a deletion', async () => {
  await rental(1, 10, { message: 'one' })
  await rental(2, 10, { message: 'two' })
  await rental(3, 10, { message: 'two' })
  await gone(4, 'rentals', 10)
  await rental(5, 10, { message: 'three' })
  expect((await history(10)).map(({ operation, record, to }) => [operation, record?.message, to === null])).toEqual([
    ['insert', 'one', false],
    ['update', 'two', false],
    ['delete', undefined, false],
    ['insert', 'three', true],
  ])
})

it('tells nothing of a person who was erased', async () => {
  await mirror.write({ tables: [tableOf('users', 1, [rowOf('users', { id: 7, first_name: 'Ada' })])] })
  await mirror.write({ tables: [tableOf('users', 2, [rowOf('users', { id: 7, first_name: 'Augusta' })])] })
  await rental(3, 20, { user_id: 7, message: 'call Ada' })
  await rental(4, 20, { user_id: 8, message: 'call Bob' })
  await rental(3, 21, { user_id: 7, message: 'by name' })
  await rental(4, 21, { user_id: 8, message: 'by name' })
  await gone(5, 'users', 7)
  const told = await mirror.all(`select * from mirror.history('users', '{"id": 7}')`)
  expect(told.map(({ operation }) => operation)).toContain('delete')
  expect(JSON.stringify([told, await history(20)])).not.toMatch(/Ada|Augusta/)
  // If the log no longer has the beginning, the values of another record are not taken for its own.
  await mirror.all(
    `delete from mirror.change_log where stream = 'rentals' and operation = 'insert' and key = '{"id": 21}'`,
  )
  expect((await history(21))[0]?.record).toMatchObject({ user_id: 7, message: null })
})

it.each([
  [`'ships', '{"id": 1}'`, "There is no stream 'ships'."],
  [`'rentals', '{"ID": 1}'`, 'The key is {"ID": 1}. It must be an object with the members ["id"].'],
  [`'rentals', '[1]'`, 'The key is [1]. It must be an object with the members ["id"].'],
  [`'rentals', null`, 'The key is null. It must be an object with the members ["id"].'],
])('refuses %s', async (given, message) =>
  expect(mirror.all(`select * from mirror.history(${given})`)).rejects.toMatchObject({ code: '22023', message }),
)
