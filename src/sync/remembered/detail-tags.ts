// Details whose answers came with entity tags. A tag counts while sync.records knows the details by the hash that they had
// with it: what is doubted, changed or gone there is received anew.

import type { Queryable } from '../../database/sql.ts'
import { stringifyJson } from '../../json/plain.ts'

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
