// The feed returns each first entry as if it had been logged whole, whatever came later: random histories, and a model
// that keeps the rows as they were inserted (by a trigger, which sees them before anything else happens to them).

import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import { streamNamed, streams } from '../../src/catalog/catalog.ts'
import { pruneHistory } from '../../src/mirror/history.ts'
import type { MirrorWrites } from '../../src/mirror/rows.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { at, feedSettled, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeAll(async () => {
  await mirror.all(`create schema model`)
  await mirror.all(
    `create table model.inserted (stream text, key jsonb, diff jsonb, seq bigint, primary key (stream, key))`,
  )
  await mirror.all(`create function model.remember() returns trigger language plpgsql set timezone to 'UTC' as $$
    declare own text[] := string_to_array(tg_argv[0], ','); key_columns text[] := string_to_array(tg_argv[1], ',');
    begin
      insert into model.inserted select tg_table_name,
        (select jsonb_object_agg(name, value) from jsonb_each(to_jsonb(new)) r (name, value) where name = any(key_columns)),
        (select jsonb_object_agg(name, jsonb_build_array(null, value)) from jsonb_each(to_jsonb(new)) r (name, value)
          where name = any(own) and value <> 'null')
        on conflict do nothing;
      return new;
    end $$`)
  for (const name of used) {
    const { columns, key } = streamNamed(name)
    const own = columns.map((column) => column.name).join(',')
    await mirror.all(`create trigger remember after insert on mirror.${name} for each row
      execute function model.remember('${own}', '${key.join(',')}')`)
  }
})

const used = ['harbours', 'resources', 'rentals', 'users', 'user_identities', 'resource_pricetable'] as const

/** Ids of resources: what rentals are filled with names them. */
const boats = ['a', 'b', 'ü"\\']

type Step =
  | { readonly kind: 'read'; readonly reads: readonly Read[] }
  | { readonly kind: 'gone'; readonly stream: (typeof used)[number]; readonly id: number }
  | { readonly kind: 'fill'; readonly id: number; readonly resource: string | null }
  | { readonly kind: 'prune'; readonly days: number; readonly wobble: number }

type Read = {
  readonly stream: (typeof used)[number]
  readonly id: number
  readonly text: string | null
  readonly other: number | null
  readonly stub: boolean
  readonly newKeys: boolean
}

const id = fc.integer({ min: 1, max: 3 })
const text = fc.option(fc.constantFrom('a', 'b', 'ü"\\'), { nil: null })
const stream = fc.constantFrom(...used)
const aRead: fc.Arbitrary<Read> = fc.record({
  stream,
  id,
  text,
  other: fc.option(id, { nil: null }),
  stub: fc.boolean(),
  newKeys: fc.boolean(),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      reads: fc.array(aRead, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('gone' as const), stream, id }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fill' as const), id, resource: text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune' as const), days: fc.nat(4), wobble: fc.nat(40) }) },
)

/** The columns that a read sets, by stream: texts and numbers, some of them a person's. */
function rowFrom({ stream, id, text, other }: Read) {
  switch (stream) {
    case 'harbours':
      return rowOf(stream, { id, name: text })
    case 'resources':
      return rowOf(stream, { id: boats[id - 1] ?? '', name: text, company_id: other })
    case 'rentals':
      return rowOf(
        stream,
        { id, user_id: other, message: text, status: text, departure_datetime: '2026-07-01T10:00:00Z' },
        {
          id,
          message: text,
          ...(other === null ? {} : { user: { id: other, firstName: text } }),
        },
      )
    case 'users':
      return rowOf(stream, { id, first_name: text, language_code: text })
    case 'user_identities':
      return rowOf(stream, { user_id: id, number: text, type: text })
    case 'resource_pricetable':
      return rowOf(stream, { resource_id: 'r', date: `2020-01-0${id}`, duration: 'DAYS,1', base_price: other })
    default:
      return stream satisfies never
  }
}

function keyOf(stream: string, id: number): string[] {
  if (stream === 'resource_pricetable') return ['r', `2020-01-0${id}`, 'DAYS,1']
  return [stream === 'resources' ? (boats[id - 1] ?? '') : String(id)]
}

function writesOf(step: Step, minute: number): MirrorWrites {
  if (step.kind === 'read')
    return {
      tables: step.reads.map((read) =>
        tableOf(read.stream, minute, [rowFrom(read)], { mode: read.stub ? 'stub' : 'record', newKeys: read.newKeys }),
      ),
    }
  if (step.kind === 'fill')
    return {
      filled: [
        {
          stream: streamNamed('rentals'),
          readAt: at(minute),
          rows: [{ key: [String(step.id)], values: { resource_id: step.resource, company_id: '1' } }],
        },
      ],
    }
  if (step.kind === 'gone')
    return {
      tombstones: [
        {
          stream: streamNamed(step.stream),
          keys: [keyOf(step.stream, step.id)],
          source: 'GET /v3/x',
          readAt: at(minute),
        },
      ],
    }
  return {}
}

/** What a deleted person's redaction takes from entries: their own columns, and those of rentals that ever were theirs. */
async function forget(person: number): Promise<void> {
  const personal = (name: string): string[] =>
    streams
      .find((each) => each.name === name)
      ?.columns.filter((column) => column.personal === true)
      .map((column) => column.name) ?? []
  for (const [name, key] of [
    ['users', 'id'],
    ['user_identities', 'user_id'],
  ] as const)
    await mirror.all(
      `update model.inserted set diff = diff - $1::text[] where stream = '${name}' and key = jsonb_build_object('${key}', $2::int)`,
      [personal(name), person],
    )
  await mirror.all(
    `update model.inserted i set diff = diff - $1::text[] where stream = 'rentals' and (diff -> 'user_id' -> 1 = to_jsonb($2::int)
       or exists (select from mirror.change_log c where c.stream = i.stream and c.key = i.key
         and (diff -> 'user_id' -> 1 = to_jsonb($2::int) or diff -> 'user_id' -> 0 = to_jsonb($2::int)))
       or exists (select from mirror.rentals r where r.id = (i.key ->> 'id')::int and r.user_id = $2::int))`,
    [personal('rentals'), person],
  )
}

type Told = { seq: string; stream: string; key: unknown; operation: string; diff: Record<string, unknown[]> }

/** The log as a whole one would be: first entries from the model, all others as they stand. */
const modelLog = (): Promise<Told[]> =>
  mirror.all<Told>(
    `select c.seq, c.stream, c.key, c.operation, coalesce(i.diff, c.diff - '_before') as diff
     from mirror.change_log c left join model.inserted i on i.seq = c.seq order by c.seq`,
  )

/** Everything the feed gives, some rows at a time. */
async function feed(max: number): Promise<Told[]> {
  const all: (Told & { cursor: string })[] = []
  for (;;) {
    const some = await mirror.all<Told & { cursor: string }>('select * from mirror.changes_since($1, $2)', [
      all.at(-1)?.cursor ?? null,
      max,
    ])
    all.push(...some)
    if (some.length < max)
      return all.map(({ seq, stream, key, operation, diff }) => ({ seq, stream, key, operation, diff }))
  }
}

const readOf = (stream: Read['stream'], text: string, other: number | null): Step => ({
  kind: 'read',
  reads: [{ stream, id: 1, text, other, stub: false, newKeys: false }],
})

/** A rental that was a person's and is another's: what it said of the first is not found again in what it says now. */
const passedOn: Step[] = [
  readOf('users', 'a', null),
  readOf('rentals', 'a', 1),
  readOf('rentals', 'b', 2),
  { kind: 'gone', stream: 'users', id: 1 },
]

it('is told whole, whatever came after it: changes, tombstones, revivals, deleted persons, history that went', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 10 }),
      fc.integer({ min: 1, max: 20 }),
      async (steps, max) => {
        for (const table of ['mirror.change_log', 'model.inserted', ...used.map((name) => `mirror.${name}`)])
          await mirror.all(`delete from ${table}`)
        for (const [index, each] of steps.entries()) {
          const minute = index + 1
          if (each.kind === 'prune') {
            await mirror.all(
              `update mirror.change_log set changed_at = changed_at - interval '1 day' - (seq * 7919 % $1) * interval '1 hour'`,
              [each.wobble + 1],
            )
            await pruneHistory(mirror.db.pool, { historyDays: each.days, batch: 2 })
          } else {
            const gone = each.kind === 'gone' && each.stream === 'users'
            const alive =
              gone &&
              (await mirror.all(`select from mirror.users where id = $1 and _deleted_at is null`, [each.id])).length > 0
            await mirror.write(writesOf(each, minute))
            await mirror.all(`update model.inserted i set seq = (select min(c.seq) from mirror.change_log c
            where c.stream = i.stream and c.key = i.key) where seq is null`)
            if (alive) await forget(each.id)
          }
          expect(await mirror.all('select seq, stream, key, operation, diff from mirror.changes order by seq')).toEqual(
            await modelLog(),
          )
        }
        await feedSettled(mirror)
        const told = await feed(max)
        expect([...told].sort((a, b) => Number(a.seq) - Number(b.seq))).toEqual(await modelLog())
      },
    ),
    { numRuns: runsOf(25), examples: [[passedOn, 3]] },
  )
})

type Copy = Map<string, Record<string, unknown>>

const nameOf = (stream: string, key: object): string =>
  JSON.stringify([stream, Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1))])

/** Applies entries as a consumer does: the values after each change; a record that is deleted goes. */
function follow(copy: Copy, entries: readonly Told[]): void {
  for (const { stream, key, operation, diff } of entries) {
    const name = nameOf(stream, key as object)
    if (operation === 'delete') copy.delete(name)
    else {
      const after = Object.entries(diff).map(([column, pair]) => [column, pair[1]])
      copy.set(name, { ...(operation === 'update' && copy.get(name)), ...Object.fromEntries(after) })
    }
  }
}

/** The live rows, as a copy has them: without what is null. */
async function liveRows(): Promise<Copy> {
  const copy: Copy = new Map()
  for (const name of used) {
    const { columns, key } = streamNamed(name)
    const rows = await mirror.all<{ row: Record<string, unknown> }>(
      `select to_jsonb(t) as row from mirror.${name} t where _deleted_at is null`,
    )
    for (const { row } of rows) {
      const own = Object.fromEntries(key.map((column) => [column, row[column]]))
      copy.set(nameOf(name, own), Object.fromEntries(columns.map((column) => [column.name, row[column.name]])))
    }
  }
  return copy
}

const withoutNulls = (copy: Copy): unknown =>
  Object.fromEntries(
    [...copy].map(([name, row]) => [
      name,
      Object.fromEntries(Object.entries(row).filter(([column, value]) => value != null && !column.startsWith('_'))),
    ]),
  )

it('leads to the rows of the mirror, however late it is read', async () => {
  const kept = step.filter(({ kind }) => kind !== 'prune')
  const example = passedOn.map((each, index): [Step, boolean] => [each, index === passedOn.length - 1])
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(kept, fc.boolean()), { minLength: 3, maxLength: 10 }), async (steps) => {
      for (const table of ['mirror.change_log', 'model.inserted', ...used.map((name) => `mirror.${name}`)])
        await mirror.all(`delete from ${table}`)
      const copy: Copy = new Map()
      let cursor: string | null = null
      const drain = async (): Promise<void> => {
        await feedSettled(mirror)
        const entries: (Told & { cursor: string })[] = await mirror.all(
          'select * from mirror.changes_since($1, 1000)',
          [cursor],
        )
        follow(copy, entries)
        cursor = entries.at(-1)?.cursor ?? cursor
      }
      for (const [index, [each, reads]] of steps.entries()) {
        await mirror.write(writesOf(each, index + 1))
        if (reads) await drain()
      }
      await drain()
      expect(withoutNulls(copy)).toEqual(withoutNulls(await liveRows()))
    }),
    { numRuns: runsOf(25), examples: [[example]] },
  )
})
