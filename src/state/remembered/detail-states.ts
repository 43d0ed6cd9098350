// What is known of records before their details are read: what was read of them, and what their list said.

import { sql } from 'kysely'
import type { StreamDef } from '../../catalog/types.ts'
import { inMs, on, type Queryable } from '../../database/sql.ts'
import { isExpected } from '../due/due.ts'
import type { KeptAnswers } from './detail-tags.ts'
import { askedJoin, rememberedJoin } from './records.ts'

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
    // Answered 404 by its own read, it was asked for, not seen.
    .where((eb) => (byList ? eb.lit(true) : eb('detail_hash', 'is distinct from', '')))
    .where((eb) =>
      eb(byList ? eb.fn<Date>('greatest', ['detail_read_at', 'listed_at']) : 'detail_read_at', '>=', since),
    )
    .executeTakeFirst()
  return seen !== undefined
}
