// What is known of records before their details are read: what was read of them, with the entity tags of the
// answers, and what their list showed.

import type { StreamDef } from '../../catalog/types.ts'
import type { Queryable } from '../../database/sql.ts'
import { stringifyJson } from '../../json/plain.ts'
import { askedJoin, rememberedJoin } from '../../mirror/records.ts'
import { isExpected } from '../due/due.ts'

export type DetailState = {
  readonly hash: string | null
  readonly readAt: Date | null
  /** What makes it due has changed since. */
  readonly expected: boolean
  /** Reads that repeat others were skipped. */
  readonly partly: boolean
  readonly projection: number
  /** The answers with entity tags that they were made of; null: there are none, or they were not received whole for too long. */
  readonly answers: KeptAnswers | null
}

/** The stored states of the details of these keys. `maxAgeMs`: answers are received in full once in this time. */
export async function detailStates(
  db: Queryable,
  stream: StreamDef,
  keys: readonly string[],
  maxAgeMs: number,
): Promise<ReadonlyMap<string, DetailState>> {
  const { rows } = await db.query<DetailState & { key: string }>(
    `select d.key, d.detail_hash as hash, d.detail_read_at as "readAt", d.partly is true as partly, d.projection, g.answers,
       ${isExpected(stream, 'd.key')} as expected
     from unnest($1::text[]) as asked(key)
     cross join lateral (select * from sync.records d where d.stream = $2 and d.key = asked.key offset 0) d
     left join lateral (select answers from sync.detail_tags g where g.stream = d.stream and g.key = d.key
       and g.detail_hash = d.detail_hash and g.read_at > clock_timestamp() - $3::float8 * interval '1 ms' offset 0) g on true`,
    [[...new Set(keys)], stream.name, maxAgeMs],
  )
  return new Map(rows.map(({ key, ...state }) => [key, state]))
}

/** What a list showed of a record. */
export type Listed = {
  readonly hash: string
  /**
   * The row is still as the list brought it, and its details were never read. Later reads are compared with the row
   * itself, which repairs a row that was edited by hand.
   */
  readonly mirrored: boolean
}

/** What the list (by its endpoint) showed of those of these records that are alive. */
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

export async function isSeenSince(
  db: Queryable,
  stream: StreamDef,
  key: string,
  { since, byList }: Seen,
): Promise<boolean> {
  // A record whose own read answered 404 was requested, not seen.
  const isSeen = byList
    ? 'greatest(detail_read_at, listed_at) >= $3'
    : `detail_read_at >= $3 and detail_hash is distinct from ''`
  const values = [stream.name, key, since]
  const { rowCount } = await db.query(`select from sync.records where stream = $1 and key = $2 and ${isSeen}`, values)
  return rowCount === 1
}

/** An answer that came with an entity tag. */
export type KeptAnswer = {
  readonly tag: string
  /** Rows that it made. */
  readonly rows: number
}

/** Answers by their names: see `Answer.name` of the API client. */
export type KeptAnswers = Readonly<Record<string, KeptAnswer>>

/** The details of one record as they were just received, whole. */
export type DetailTags = {
  readonly stream: string
  readonly key: string
  readonly detailHash: string
  readonly answers: KeptAnswers
}

/**
 * Stores the tags of details, in the transaction that stored their hashes, after that; tags without a stored hash are
 * skipped.
 */
export async function keepDetailTags(db: Queryable, details: readonly DetailTags[]): Promise<void> {
  if (details.length === 0) return
  await db.query(
    `insert into sync.detail_tags (stream, key, detail_hash, answers)
     select r.stream, r.key, r.detail_hash, g.answers
     from unnest($1::text[], $2::text[], $3::text[], $4::jsonb[]) as g(stream, key, detail_hash, answers)
     join sync.records r on r.stream = g.stream and r.key = g.key and r.detail_hash = g.detail_hash
     order by r.stream, r.key
     on conflict (stream, key) do update set detail_hash = excluded.detail_hash, answers = excluded.answers,
       read_at = excluded.read_at`,
    [
      details.map(({ stream }) => stream),
      details.map(({ key }) => key),
      details.map(({ detailHash }) => detailHash),
      details.map(({ answers }) => stringifyJson(answers)),
    ],
  )
}
