// Why is this record read now? Which details are due, and the reason: one statement, due.sql.
//
// Details are read for each row of their *holder*: of a list for its own rows, below a record for the row of that record
// (`rental_payments`: once for each rental). For a holder that exists and is not a stub, details are due for the first of
// these reasons (reasons.ts) that applies:
//
//   always      shared with others who change them without a trace, such as calendars: at each run but hot ones;
//   new         never read;
//   changed     read before `changed_at` of its `sync.records`, which moves when a list shows a new or different record, when
//               a change of ours is settled, and when rows below it must be read again; in hot runs, when a rental of the boat
//               changed since (`dueBy`);
//   asked       read before the run started, where it is a full one (`before`);
//   needed      read without redundant reads (`partly`), of which one is no longer redundant (`sync.reads`);
//   soon, aged  read longer ago than `DETAIL_MAX_AGE` times the share of its key; for rentals about to depart or just back, a
//               quarter of that (ages.ts).
//
// Where the singles of a list are redundant, the list replaces them: seen by it (`listed_at`) counts as read, and old
// records are compared with the list when it is read. A refresh reads its record whether it is due or not.
//
// A sync checks all rows. A scheduled run checks those that may be due, by indexes (candidates.ts). Due details are read in
// order of usefulness. Planning, the schedule and `explain` (`nextReads`) ask this statement.

import { sql } from 'kysely'
import type { QueryResultRow } from 'pg'
import { isDetailOnSchedule, repeatsOf, repeatsWithin } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { fillSql, identifier, isStub, keySql, literal, on, type Queryable } from '../../database/sql.ts'
import { isSoon, oldAt, usualSoonShare } from './ages.ts'
import { candidatesSql, holderOf } from './candidates.ts'
import due from './due.sql'
import type { Reason } from './reasons.ts'

export type DueSettings = {
  /** What asks: a one-off sync, the schedule, or a hot run. */
  readonly scope: 'sync' | 'schedule' | 'hot'
  /** Details older than this are read again, in milliseconds; ages are spread over its last quarter. */
  readonly maxAgeMs: number
  /** Everything read before this instant is due as well (`--full`); null: only what is new, changed or old. */
  readonly before: Date | null
  /** First and last day of the horizon of slots, `YYYY-MM-DD`. */
  readonly from: string
  readonly to: string
  /** Redundant reads are not due; false: what was skipped is due. */
  readonly leavesOut: boolean
  /** Only rows that changed since then, and on the schedule those that may be old, are asked; null: all. */
  readonly since: Date | null
}

/**
 * The most useful first: 0 running or departing within 30 days, 1 departing later, 2 just back, 3 past. Records
 * without these dates rank as 1.
 */
const useRank = ({ eventful }: StreamDef): string =>
  eventful === undefined
    ? '1'
    : `case when m.${eventful.end} >= now() then case when m.${eventful.begin} <= now() + interval '30 days' then 0 else 1 end
        when m.${eventful.end} < now() - interval '7 days' then 3 else 2 end`

/** After all ranks: samples of records that do not depart soon. */
export const lastRank = 4

/** Within a rank: what departs soonest, then what is back since shortest. */
const useOrder = ({ eventful, key }: StreamDef): string => {
  const byKey = key.map((name) => `m.${name}`)
  if (eventful === undefined) return byKey.join(', ')
  const begin = `case when m.${eventful.end} >= now() then m.${eventful.begin} end`
  return ['rank', begin, `m.${eventful.end} desc`, ...byKey].join(', ')
}

/** A read is answered this long after it started, at most, as an interval of SQL. */
const answeredWithin = `interval '10 s'`

/**
 * Did a row that makes this stream due change since its details `d` below the record of this key were read? One that was
 * read before them and only learned later which record it belongs to did not.
 */
export const isExpected = ({ dueBy }: StreamDef, key: string): string =>
  dueBy === undefined
    ? 'false'
    : `exists (select from mirror.${identifier(dueBy.stream)} x where x.${identifier(dueBy.column)} = ${key}
        and x._changed_at > d.detail_read_at and x._read_at > d.detail_read_at - ${answeredWithin})`

type DueQuery = {
  readonly columns: string
  readonly tail: string
  /** Of the tail: they begin with `$7`. */
  readonly values?: readonly unknown[]
}

/** Asks the statement for rows that hold details, whether they are due or not: then `due.reason` is not null. */
async function queryDue<R extends QueryResultRow>(
  db: Queryable,
  stream: StreamDef,
  settings: DueSettings,
  { columns, tail, values = [] }: DueQuery,
): Promise<readonly R[]> {
  const { scope, since, before, from, to, leavesOut } = settings
  const { maxAgeMs, soonShare } = await agesNow(db, stream, settings)
  const holder = holderOf(stream)
  const isList = stream.reads.kind === 'list'
  const isHot = scope === 'hot'
  const isMadeDue = isHot && stream.dueBy !== undefined
  const isOnSchedule = scope === 'schedule' && isDetailOnSchedule(stream)
  const isAlways = stream.freshness === 'always' && !isOnSchedule && !isMadeDue
  const isAll = since === null || isAlways
  const ages =
    scope === 'schedule'
      ? { maxAgeMs: '$2::float8', soonShare: String(soonShare), from: '$3::date', to: '$4::date' }
      : null
  const key = keySql(holder, 'm')
  const parent = !isList && holder.reads.kind === 'list' ? remembered('p', holder, key, isAll) : ''
  const aged = { row: 'm', key, maxAgeMs: 'w.max_age_ms', soonShare: 'w.soon_share' }
  const text = fillSql(due, {
    columns,
    tail,
    soon_share: String(soonShare),
    list_suffices: isList ? areRedundant(repeatsOf(stream)) : 'false',
    reads_are_skipped: areRedundant(repeatsWithin(stream)),
    holders: isAll ? `mirror.${holder.name}` : candidatesSql(stream, '$5::timestamptz', ages),
    remembered: `${parent}\n  ${remembered('d', stream, key, isAll)}`,
    read_at: isList
      ? 'case when w.listed then greatest(d.detail_read_at, d.listed_at) else d.detail_read_at end'
      : 'd.detail_read_at',
    changed_at: isList ? 'd.changed_at' : holder.reads.kind === 'list' ? 'p.changed_at' : 'm._changed_at',
    old_at: isHot ? `'infinity'::timestamptz` : oldAt('d.detail_read_at', holder, aged),
    is_always: String(isAlways),
    is_expected: isMadeDue ? isExpected(stream, key) : 'false',
    is_soon: isSoon(holder, 'm') ?? 'false',
    is_stub: isStub('m'),
    is_in_horizon: holder.horizon === 'date' ? 'm.date between w.first_day and w.last_day' : 'true',
    // A hot run of a list reads what its own sweep found.
    is_found: isHot && isList ? 'd.changed_at >= w.since' : 'true',
  })
  const { rows } = await db.query<R>(text, [before, maxAgeMs, from, to, since, leavesOut, ...values])
  return rows
}

/** How old details may be: as DETAIL_MAX_AGE says, or older where a quota lets them be no younger. */
async function agesNow(
  db: Queryable,
  { name }: StreamDef,
  { maxAgeMs }: DueSettings,
): Promise<{ readonly maxAgeMs: number; readonly soonShare: number }> {
  const { rows } = await db.query<{ all: number | null; soon: number | null }>(
    'select max_age_s::float8 as all, soon_max_age_s::float8 as soon from sync.streams where stream = $1',
    [name],
  )
  const { all = null, soon = null } = rows[0] ?? {}
  if (all === null) return { maxAgeMs, soonShare: usualSoonShare }
  return { maxAgeMs: all * 1_000, soonShare: soon === null ? usualSoonShare : soon / all }
}

/** Joins what is remembered of a record, under a key of SQL: of few rows one by one, whatever Postgres believes of their number. */
const remembered = (alias: string, { name }: StreamDef, key: string, isAll: boolean): string =>
  isAll
    ? `left join sync.records ${alias} on ${alias}.stream = '${name}' and ${alias}.key = ${key}`
    : `left join lateral (select * from sync.records r where r.stream = '${name}' and r.key = ${key} offset 0) ${alias} on true`

/** SQL: whether all of these reads are skipped. */
const areRedundant = (reads: ReturnType<typeof repeatsOf>): string =>
  reads.length === 0
    ? 'false'
    : `coalesce((select bool_and(state = 'redundant') from sync.reads where endpoint in (${reads.map(({ endpoint }) => literal(endpoint)).join(', ')})), false)`

/** A record (for streams below another: a parent) whose details are due. `rank`: lower ranks are of use sooner. */
export type DueKey = { readonly key: string; readonly rank: number; readonly reason: Reason }

/** Whose details are due, in the order of use. */
export async function dueKeys(db: Queryable, stream: StreamDef, settings: DueSettings): Promise<readonly DueKey[]> {
  const holder = holderOf(stream)
  return await queryDue<DueKey>(db, stream, settings, {
    columns: `${keySql(holder, 'm')} as key, ${useRank(holder)} as rank, due.reason`,
    tail: `and due.reason is not null order by ${useOrder(holder)}`,
  })
}

export type NextRead = {
  readonly key: string
  /** Null: they are not due now. */
  readonly reason: Reason | null
  /** The list shows what its single would. */
  readonly listed: boolean
  readonly readAt: Date | null
  readonly changedAt: Date | null
  /** From when on they are too old; null: never read. */
  readonly oldAt: Date | null
}

/** Why and when the schedule reads the details of holders next: of the one with this key, or of all whose keys begin so. */
export async function nextReads(
  db: Queryable,
  stream: StreamDef,
  parts: readonly string[],
  settings: DueSettings,
): Promise<readonly NextRead[]> {
  const holder = holderOf(stream)
  const same = holder.key
    .slice(0, parts.length)
    .map((name, index) => `and m.${identifier(name)} = $${index + 7}::${columnType(holder, name)}`)
  return await queryDue<NextRead>(db, stream, settings, {
    columns: `${keySql(holder, 'm')} as key, due.reason, w.listed, d.detail_read_at as "readAt", t.changed_at as "changedAt",
      t.old_at as "oldAt"`,
    tail: `${same.join(' ')} order by key`,
    values: parts,
  })
}

/** Records of a list at random, at most `count`, of those that would be due if the list did not replace their singles. */
export async function sampledKeys(
  db: Queryable,
  stream: StreamDef,
  settings: DueSettings,
  count: number,
): Promise<readonly DueKey[]> {
  return await queryDue<DueKey>(
    db,
    stream,
    { ...settings, leavesOut: false, since: null },
    {
      columns: `${keySql(stream, 'm')} as key, ${useRank(stream)} as rank, 'sample' as reason`,
      tail: 'and due.reason is not null order by random() limit $7',
      values: [count],
    },
  )
}

/** How many records of a list would be due, had they not been listed since then. */
export async function countListed(
  db: Queryable,
  stream: StreamDef,
  settings: DueSettings,
  since: Date,
): Promise<number> {
  const [row] = await queryDue<{ count: number }>(
    db,
    stream,
    { ...settings, scope: 'sync', leavesOut: false, since },
    { columns: 'count(*)::int as count', tail: 'and due.reason is not null and d.listed_at >= $7', values: [since] },
  )
  return row?.count ?? 0
}

/** True when at least one record is due. */
export async function isAnythingDue(db: Queryable, stream: StreamDef, settings: DueSettings): Promise<boolean> {
  const found = await queryDue(db, stream, settings, { columns: '1', tail: 'and due.reason is not null limit 1' })
  return found.length > 0
}

/** Durations of resources in the order they were answered: resource id → `TYPE,VALUE`, the first `count` of each. */
export async function firstDurations(
  db: Queryable,
  resourceIds: readonly string[],
  count: number,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await on(db)
    .selectFrom('mirror.resource_durations')
    .select('resource_id')
    .select(sql<string[]>`(array_agg(type || ',' || value order by position))[1:${count}::int]`.as('durations'))
    .where((eb) => eb('resource_id', '=', eb.fn.any(eb.val(resourceIds))))
    .where('_deleted_at', 'is', null)
    .groupBy('resource_id')
    .execute()
  return new Map(rows.map((row) => [row.resource_id, row.durations]))
}
