// Which details are due, as SQL.

import { sql } from 'kysely'
import { isDetailOnSchedule, parentOf, repeatsOf } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { identifier, inMs, isStub, keySql, literal, on, type Queryable } from '../database/sql.ts'
import { isOlder } from './detail-age.ts'
import type { KeptAnswers } from './detail-tags.ts'
import { askedJoin, rememberedJoin } from './records.ts'

export type DueSettings = {
  /** What asks: a one-off sync, the schedule, or a hot run. */
  readonly scope: 'sync' | 'schedule' | 'hot'
  /** Details older than this are read again, in milliseconds; ages are spread over its last quarter. */
  readonly maxAgeMs: number
  /** Everything read before this instant is due as well (`--full`); null: only what is new, changed or old. */
  readonly before: Date | null
  /** Of a hot run: only records of which a change was seen since then are due; null: all. */
  readonly changedSince: Date | null
  /** First and last day of the horizon of slots, `YYYY-MM-DD`. */
  readonly from: string
  readonly to: string
  /** Reads that repeat others and are redundant are not due; false: what was left out is due. */
  readonly leavesOut: boolean
}

/** The rows whose details this stream reads: its own for a list, its parent's otherwise. */
const holderOf = (stream: StreamDef): StreamDef =>
  stream.reads.kind === 'list' ? stream : (parentOf(stream) ?? stream)

/**
 * What is of use first: 0 under way or departing within 30 days, 1 departing later or just back, 2 past. What has no such
 * dates stands with 1.
 */
const useRank = ({ eventful }: StreamDef): string =>
  eventful === undefined
    ? '1'
    : `case when m.${eventful.end} >= now() and m.${eventful.begin} <= now() + interval '30 days' then 0
        when m.${eventful.end} < now() - interval '7 days' then 2 else 1 end`

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
const isExpected = ({ dueBy }: StreamDef, key: string): string =>
  dueBy === undefined
    ? 'false'
    : `exists (select from mirror.${identifier(dueBy.stream)} x where x.${identifier(dueBy.column)} = ${key}
        and x._changed_at > d.detail_read_at and x._read_at > d.detail_read_at - ${answeredWithin})`

/**
 * A list whose singles are redundant says itself what it changed, and its sweep compares old rows with it. Otherwise what
 * was left out is due again: `partly` tells of the reads that are left out one by one.
 */
function dueSql(stream: StreamDef, scope: DueSettings['scope'], select: string, tail: string): string {
  const holder = holderOf(stream)
  const key = keySql(holder, 'm')
  const isList = stream.reads.kind === 'list'
  const changedAt = holder.reads.kind === 'list' ? 'p.changed_at' : 'm._changed_at'
  const parentState =
    holder.reads.kind === 'list' ? `left join sync.records p on p.stream = '${holder.name}' and p.key = ${key}` : ''
  const horizon = holder.horizon === 'date' ? 'm.date between w.first_day and w.last_day' : 'true'
  const repeats = repeatsOf(stream).map(({ endpoint }) => endpoint)
  const known = isList
    ? 'case when w.listed then greatest(d.detail_read_at, d.listed_at) else d.detail_read_at end'
    : 'd.detail_read_at'
  const aged = isOlder('d.detail_read_at', holder, { row: 'm', key, maxAgeMs: 'w.max_age_ms' })
  const isWhole = stream.freshness === 'always' && !(scope === 'schedule' && isDetailOnSchedule(stream))
  const isMadeDue = scope === 'hot' && stream.dueBy !== undefined
  const stale = isMadeDue
    ? `(d.detail_read_at is null or d.detail_read_at < ${changedAt} or ${isExpected(stream, key)})`
    : isWhole
      ? 'true'
      : `(${known} is null or ${known} < ${changedAt} or ${known} < w.before
         or not w.listed and ${aged} or d.partly and not w.partly)`
  return `with w(before, max_age_ms, first_day, last_day, changed_since, listed, partly) as (
      select $1::timestamptz, $2::float8, $3::date, $4::date, $5::timestamptz,
        ${isList} and $6::boolean and ${areRedundant(repeats)},
        $6::boolean and ${areRedundant(isList ? repeats.slice(1) : repeats)})
    select ${select} from w cross join mirror.${holder.name} m ${parentState}
    left join sync.records d on d.stream = '${stream.name}' and d.key = ${key}
    where m._deleted_at is null and not ${isStub('m')} and ${horizon}
      and (w.changed_since is null or ${changedAt} >= w.changed_since) and ${stale} ${tail}`
}

/** Are all of these reads left out? */
const areRedundant = (endpoints: readonly string[]): string =>
  endpoints.length === 0
    ? 'false'
    : `coalesce((select bool_and(state = 'redundant') from sync.reads where endpoint in (${endpoints.map(literal).join(', ')})), false)`

const parameters = (settings: DueSettings): unknown[] => [
  settings.before,
  settings.maxAgeMs,
  settings.from,
  settings.to,
  settings.changedSince,
  settings.leavesOut,
]

/** A record (for streams below another: a parent) whose details are due. `rank`: lower ranks are of use sooner. */
export type DueKey = { readonly key: string; readonly rank: number }

/** Whose details are due, in the order of use. */
export async function dueKeys(db: Queryable, stream: StreamDef, settings: DueSettings): Promise<readonly DueKey[]> {
  const holder = holderOf(stream)
  const { rows } = await db.query<DueKey>(
    dueSql(
      stream,
      settings.scope,
      `${keySql(holder, 'm')} as key, ${useRank(holder)} as rank`,
      `order by ${useOrder(holder)}`,
    ),
    parameters(settings),
  )
  return rows
}

/** Keys of records of a list that were not read singly since then, at random. */
export async function drawnKeys(
  db: Queryable,
  stream: StreamDef,
  settings: DueSettings,
  count: number,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ key: string }>(
    dueSql(stream, settings.scope, `${keySql(stream, 'm')} as key`, 'order by random() limit $7'),
    [...parameters({ ...settings, leavesOut: false }), count],
  )
  return rows.map((row) => row.key)
}

/** How many records of a list would be due, had they not been listed since then. */
export async function countListed(
  db: Queryable,
  stream: StreamDef,
  settings: DueSettings,
  since: Date,
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    dueSql(stream, settings.scope, 'count(*)::int as count', 'and d.listed_at >= $7'),
    [...parameters({ ...settings, leavesOut: false }), since],
  )
  return rows[0]?.count ?? 0
}

/**
 * Keys of live rows of a stream that begin with these values of its key columns: one row, or all below a record above it; of
 * past and far days none.
 */
export async function keysBelow(
  db: Queryable,
  stream: StreamDef,
  parts: readonly string[],
  { from, to }: Pick<DueSettings, 'from' | 'to'>,
): Promise<readonly string[]> {
  const same = parts.map((_, index) => `m.${stream.key[index]}::text = $${index + 3}`)
  const horizon = stream.horizon === 'date' ? 'm.date between w.first_day and w.last_day' : 'true'
  const { rows } = await db.query<{ key: string }>(
    `with w(first_day, last_day) as (select $1::date, $2::date)
     select ${keySql(stream, 'm')} as key from w cross join mirror.${stream.name} m
     where ${same.join(' and ')} and m._deleted_at is null and ${horizon} order by key`,
    [from, to, ...parts],
  )
  return rows.map(({ key }) => key)
}

/** True when at least one record is due. */
export async function isAnythingDue(db: Queryable, stream: StreamDef, settings: DueSettings): Promise<boolean> {
  const { rowCount } = await db.query(dueSql(stream, settings.scope, '1', 'limit 1'), parameters(settings))
  return (rowCount ?? 0) > 0
}

export type DetailState = {
  readonly hash: string | null
  readonly readAt: Date | null
  /** What makes it due has changed since. */
  readonly expected: boolean
  readonly projection: number
  /** The answers with entity tags that they were made of; null: there are none, or they were not received whole for too long. */
  readonly answers: KeptAnswers | null
}

/** What is known of the details of these keys. `maxAgeMs`: answers are received whole once in this time. */
export async function detailStates(
  db: Queryable,
  stream: StreamDef,
  keys: readonly string[],
  maxAgeMs: number,
): Promise<ReadonlyMap<string, DetailState>> {
  const rows = await on(db)
    .selectFrom('sync.records as d')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('sync.detail_tags')
          .select('answers')
          .whereRef('stream', '=', 'd.stream')
          .whereRef('key', '=', 'd.key')
          .whereRef('detail_hash', '=', 'd.detail_hash')
          .where('read_at', '>', inMs(-maxAgeMs))
          .offset(0)
          .as('t'),
      (join) => join.onTrue(),
    )
    .select(['d.key', 'd.detail_hash as hash', 'd.detail_read_at as readAt', 'd.projection', 't.answers'])
    .select(sql<boolean>`${sql.raw(isExpected(stream, 'd.key'))}`.as('expected'))
    .where('d.stream', '=', stream.name)
    .where((eb) => eb('d.key', '=', eb.fn.any(eb.val(keys))))
    .$narrowType<{ answers: KeptAnswers | null }>()
    .execute()
  return new Map(rows.map(({ key, ...state }) => [key, state]))
}

/** What a list said of a record. */
export type Listed = {
  readonly hash: string
  /**
   * The row is still as the list brought it, and its details were never read. Whatever is read again is compared
   * with the row itself, which repairs a row that somebody changed.
   */
  readonly mirrored: boolean
}

/** What the list, by its endpoint, said of these records, of those that are alive. */
export async function listedRecords(
  db: Queryable,
  stream: StreamDef,
  list: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Listed>> {
  const { rows } = await db.query<Listed & { key: string }>(
    `select asked.key, r.list_hash as hash, r.detail_read_at is null and t._source = $3 as mirrored
     from ${askedJoin(stream)} ${rememberedJoin} where r.list_hash is not null and t._deleted_at is null`,
    [keys, stream.name, list],
  )
  return new Map(rows.map(({ key, ...listed }) => [key, listed]))
}

export type Seen = {
  readonly since: Date
  /** By its list as well as by its single. */
  readonly byList: boolean
}

/** Was this record seen since then? */
export async function isSeenSince(
  db: Queryable,
  stream: StreamDef,
  key: string,
  { since, byList }: Seen,
): Promise<boolean> {
  const seen = await on(db)
    .selectFrom('sync.records')
    .select('key')
    .where('stream', '=', stream.name)
    .where('key', '=', key)
    .where((eb) =>
      eb(byList ? eb.fn<Date>('greatest', ['detail_read_at', 'listed_at']) : 'detail_read_at', '>=', since),
    )
    .executeTakeFirst()
  return seen !== undefined
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
