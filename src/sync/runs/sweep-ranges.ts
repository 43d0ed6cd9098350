// The keys of a sweep by ranges, so that its end takes steps of bounded size, however long the list is. Pages come in
// the order of the list. A step splits some of them, and each range of the table, or of hashes, is then processed
// separately.

import { columnType } from '../../catalog/columns.ts'
import { isContentKeySql } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { identifier, isStub, type Queryable } from '../../database/sql.ts'
import { inWindowSql, type Window, windowParameters } from '../due/windows.ts'
import type { Task } from './tasks.ts'

/** How much one step handles. */
type StepSize = { readonly rows: number; readonly pages: number }

/** A range takes a tenth of a second, a portion of pages of 100 records half of that. */
export const stepSize: StepSize = { rows: 20_000, pages: 500 }

/** A place among the pages of a sweep. */
type PagePlace = { readonly pass: number; readonly page: number }

/** The place before the first page. */
export const beforePages: PagePlace = { pass: 0, page: -1 }

/** Which pages are divided, and into which range a key `k` falls, as SQL whose parameter `$5` is `value`. */
export type Division = { readonly pass: number | null; readonly range: string; readonly value: unknown }

/** Ranges of hashes, for what only counts keys: all are equally large, whatever the keys are. */
export const byHash = (pass: number, ranges: number): Division => ({
  pass,
  range: 'abs(hashtextextended(k, 0) % $5::bigint)::int',
  value: ranges,
})

/** The ranges of a table. A key that its column cannot hold is in no row: any range will do. */
export async function byRange(db: Queryable, stream: StreamDef, runId: string): Promise<Division> {
  const { type } = keyOf(stream)
  const { rows } = await db.query<{ begins: string[] }>(
    `select coalesce(array_agg(begins order by range), '{}') as begins from sync.sweep_ranges where run_id = $1 and range > 0`,
    [runId],
  )
  const range = `width_bucket(k::${type}, $5::${type}[])`
  const value = rows[0]?.begins ?? []
  if (type !== 'bigint') return { pass: null, range, value }
  return { pass: null, range: `case when k ~ '^-?[0-9]{1,18}$' then ${range} else 0 end`, value }
}

/** Column and type of the key of a list's records, and the lowest there may be. */
function keyOf(stream: StreamDef): { readonly column: string; readonly type: string; readonly lowest: string } {
  const [column = ''] = stream.key
  const type = columnType(stream, column)
  return { column: identifier(column), type, lowest: type === 'bigint' ? '-9223372036854775808' : '' }
}

/** Divides the next pages after `from`, in the caller's transaction. Returns the last one; null: there was none. */
export async function dividePages(
  db: Queryable,
  runId: string,
  { pass, range, value }: Division,
  { from, pages }: { readonly from: PagePlace; readonly pages: number },
): Promise<PagePlace | null> {
  const { rows } = await db.query<PagePlace>(
    `with pages as materialized (
       select pass, page, keys from sync.sweep_pages
       where run_id = $1 and (pass, page) > ($2, $3) ${pass === null ? '' : 'and pass = $6'} order by pass, page limit $4
     ), last as (select pass, page from pages order by pass desc, page desc limit 1),
     divided as (
       insert into sync.sweep_parts (run_id, range, pass, page, keys)
       select $1, parts.range, last.pass, last.page, parts.keys
       from (select ${range} as range, array_agg(k) as keys from pages, unnest(keys) k group by 1) parts, last order by 2
     )
     select pass, page from last`,
    [runId, from.pass, from.page, pages, value, ...(pass === null ? [] : [pass])],
  )
  return rows[0] ?? null
}

/** Forgets the ranges of a run and what is divided into them. */
export async function dropRanges(db: Queryable, runId: string): Promise<void> {
  await db.query(
    `with parts as (delete from sync.sweep_parts where run_id = $1) delete from sync.sweep_ranges where run_id = $1`,
    [runId],
  )
}

/** Finds ranges of so many rows each, tombstones included, by walking along the key, in the caller's transaction; null: one for all. Returns their number. */
export async function findRanges(
  db: Queryable,
  stream: StreamDef,
  runId: string,
  rows: number | null,
): Promise<number> {
  const { column, type, lowest } = keyOf(stream)
  await db.query('insert into sync.sweep_ranges (run_id, range) values ($1, 0)', [runId])
  if (rows === null) return 1
  // Of a table that was never analysed Postgres may sort all that is left for each step along the key.
  await db.query('set local enable_sort = off')
  for (let ranges = 1; ; ranges++) {
    const { rowCount } = await db.query(
      `insert into sync.sweep_ranges (run_id, range, begins)
       select $1, $2::int, next.key::text from sync.sweep_ranges r, lateral (
         select t.${column} as key from mirror.${identifier(stream.name)} t
         where t.${column} >= coalesce(r.begins, '${lowest}')::${type} order by t.${column} offset $3 limit 1) next
       where r.run_id = $1 and r.range = $2::int - 1`,
      [runId, ranges, rows],
    )
    if (rowCount === 0) {
      await db.query('set local enable_sort to default')
      return ranges
    }
  }
}

export async function countRanges(db: Queryable, runId: string): Promise<number> {
  const { rows } = await db.query<{ ranges: number }>(
    'select count(*)::int as ranges from sync.sweep_ranges where run_id = $1',
    [runId],
  )
  return rows[0]?.ranges ?? 0
}

/** The source of keys: of one range of a divided sweep, whose parts are gone then; or of all pages. */
const keysOf = (range: number | null, parameter: string, pass: string): string =>
  range === null
    ? `parts as (select keys from sync.sweep_pages where run_id = $1${pass})`
    : `parts as (delete from sync.sweep_parts where run_id = $1 and range = ${parameter}::int returning keys)`

type PassCounts = {
  /** Records with a key, and how many different ones. */
  readonly answered: number
  readonly distinct: number
  /** Records without one, and how many different contents. */
  readonly keyless: number
  readonly keylessDistinct: number
}

/** How many records one pass answered; `range`: of one range of its hashes, which is divided by then. */
export async function passCounts(
  db: Queryable,
  { runId, pass }: { readonly runId: string; readonly pass: number },
  range: number | null,
): Promise<PassCounts> {
  const { rows } = await db.query<{ keyless: boolean; answered: number; distinct: number }>(
    `with ${keysOf(range, '$2', ' and pass = $2')}
     select ${isContentKeySql('k')} as keyless, count(*)::int as answered, count(distinct k)::int as distinct
     from parts, unnest(keys) k group by 1`,
    [runId, range ?? pass],
  )
  const of = (keyless: boolean) => rows.find((row) => row.keyless === keyless) ?? { answered: 0, distinct: 0 }
  return {
    answered: of(false).answered,
    distinct: of(false).distinct,
    keyless: of(true).answered,
    keylessDistinct: of(true).distinct,
  }
}

export type Compared = {
  /** Live rows that the sweep should have seen: without stubs, and not written since it started. */
  readonly expected: number
  /** Records with a key that it saw. */
  readonly seen: number
  /** How many of the expected ones it did not see. Their keys are kept with the range. */
  readonly missing: number
}

type Compare = { readonly stream: StreamDef; readonly run: Pick<Task, 'runId' | 'runStartedAt'> }

/**
 * Compares what a finished sweep saw with the live rows, and keeps the keys that it missed: in one range, or, where there is
 * only one, everywhere. The difference of two sets is one sort or one hash whatever Postgres believes of their sizes; a join
 * of them may compare each with each.
 */
export async function compareRange(
  db: Queryable,
  { stream, run, window }: Compare & { readonly window?: Window | undefined },
  range: number | null,
): Promise<Compared> {
  const { column, type, lowest } = keyOf(stream)
  const { rows: found } = await db.query<{ range: number; begins: string | null }>(
    'select range, begins from sync.sweep_ranges where run_id = $1 and range between $2::int and $2::int + 1',
    [run.runId, range ?? 0],
  )
  const values: unknown[] = [run.runId, run.runStartedAt, range ?? 0]
  const bounds = found.flatMap((each) => {
    if (range === null) return []
    values.push(each.begins ?? lowest) // both ends, so that a small part of the table is expected whatever is known of it
    return [`m.${column} ${each.range === range ? '>=' : '<'} $${values.length}::${type}`]
  })
  const table = `mirror.${identifier(stream.name)} m`
  // A separate query for the range: without statistics Postgres would also scan an index of all live rows.
  const part = range === null ? table : `(select * from ${table} where ${['true', ...bounds].join(' and ')} offset 0) m`
  const inWindow = window === undefined ? [] : [inWindowSql(window, 'm', values.length + 1)]
  if (window !== undefined) values.push(...windowParameters(window))
  const { rows } = await db.query<Compared>(
    `with ${keysOf(range, '$3', '')},
       seen as materialized (select distinct k from parts, unnest(keys) k where not ${isContentKeySql('k')}),
       live as materialized (
         select m.${column}::text as k from ${part}
         where ${['m._deleted_at is null', `not ${isStub('m')}`, 'm._read_at < $2', ...inWindow].join(' and ')}),
       missed as materialized (select k from live except select k from seen),
       kept as (update sync.sweep_ranges set missing = coalesce((select array_agg(k order by k) from missed), '{}')
         where run_id = $1 and range = $3::int)
     select (select count(*)::int from live) as expected, (select count(*)::int from seen) as seen,
       (select count(*)::int from missed) as missing`,
    values,
  )
  const [row] = rows
  if (row === undefined) throw new Error('The counts must be one row.')
  return row
}

export type KeyPortions = AsyncIterable<readonly string[]> | Iterable<readonly string[]>

/** The keys that a sweep missed, a range at a time. */
export async function* missedKeys(db: Queryable, runId: string): AsyncGenerator<readonly string[]> {
  for (let after = -1; ; ) {
    const { rows } = await db.query<{ range: number; missing: string[] }>(
      `select range, missing from sync.sweep_ranges where run_id = $1 and range > $2 and missing <> '{}'
       order by range limit 1`,
      [runId, after],
    )
    const [found] = rows
    if (found === undefined) return
    after = found.range
    yield found.missing
  }
}
