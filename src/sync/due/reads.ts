// sync.reads: what became of the reads that repeat others: whether their samples ever differed.

import { repeatsOf } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { inMs, now, on, type Queryable } from '../../database/sql.ts'

export type RepeatingRead = {
  readonly endpoint: string
  /** The read that brings the same record; behind a `#` its place inside. */
  readonly sameAs: string
  readonly state: 'redundant' | 'needed'
  /** Since it was last assumed to be redundant. */
  readonly compared: number
  readonly differed: number
  readonly skipped: number
  readonly since: Date
  readonly sampledAt: Date | null
}

/** The results of reads that repeat another; a skipped read has none. */
export type ReadCount = {
  readonly endpoint: string
  readonly compared?: number
  readonly differed?: number
  readonly skipped?: number
  /** It was read as a sample. */
  readonly sampled?: boolean
}

/** How long a read that differed counts as needed, in milliseconds. */
const neededMs = 7 * 24 * 3_600_000

/** All reads that repeat others, in the order of their names. */
export async function repeatingReads(db: Queryable): Promise<readonly RepeatingRead[]> {
  const { rows } = await db.query<RepeatingRead>(
    `select endpoint, same_as as "sameAs", state, compared::float8 as compared, differed::float8 as differed,
       skipped::float8 as skipped, since, sampled_at as "sampledAt" from sync.reads order by endpoint`,
  )
  return rows
}

/** Those of one stream, its single first. */
export async function repeatingReadsOf(db: Queryable, stream: StreamDef): Promise<readonly RepeatingRead[]> {
  const own = endpointsOf(stream)
  return own.length === 0 ? [] : (await repeatingReads(db)).filter(({ endpoint }) => own.includes(endpoint))
}

/**
 * Adds counts to the rows, locked in the order of their names. One that differed is needed from now on.
 * @returns whether one was redundant until now: what was skipped is due
 */
export async function noteReads(db: Queryable, counts: readonly ReadCount[]): Promise<boolean> {
  if (counts.length === 0) return false
  const { rows } = await db.query<{ isNew: boolean }>(
    `with given as (
       select endpoint, sum(compared) as compared, sum(differed) as differed, sum(skipped) as skipped, bool_or(sampled) as sampled
       from unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::boolean[]) as g(endpoint, compared, differed, skipped, sampled)
       group by endpoint
     ), locked as materialized (
       select r.endpoint, r.state from sync.reads r join given g on g.endpoint = r.endpoint order by r.endpoint for no key update of r
     )
     update sync.reads r set compared = r.compared + g.compared, differed = r.differed + g.differed,
       skipped = r.skipped + g.skipped, sampled_at = case when g.sampled then clock_timestamp() else r.sampled_at end,
       since = case when g.differed > 0 and r.state <> 'needed' then clock_timestamp() else r.since end,
       state = case when g.differed > 0 then 'needed' else r.state end
     from given g join locked l on l.endpoint = g.endpoint where r.endpoint = g.endpoint
     returning l.state <> r.state as "isNew"`,
    [
      counts.map(({ endpoint }) => endpoint),
      counts.map(({ compared = 0 }) => compared),
      counts.map(({ differed = 0 }) => differed),
      counts.map(({ skipped = 0 }) => skipped),
      counts.map(({ sampled = false }) => sampled),
    ],
  )
  return rows.some(({ isNew }) => isNew)
}

const endpointsOf = (stream: StreamDef): readonly string[] => repeatsOf(stream).map(({ endpoint }) => endpoint)

/** A read that differed seven days ago may be redundant now. */
export async function assumeAnew(db: Queryable, stream: StreamDef): Promise<void> {
  if (endpointsOf(stream).length === 0) return
  await on(db)
    .updateTable('sync.reads')
    .set({ state: 'redundant', since: now, compared: '0', differed: '0', sampled_at: null })
    .where('endpoint', 'in', endpointsOf(stream))
    .where('state', '=', 'needed')
    .where('since', '<', inMs(-neededMs))
    .execute()
}
