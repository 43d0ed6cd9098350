// How long the streams met their targets, for status and pages, from report.freshness_history.

import { sql } from 'kysely'
import { on, type Queryable } from '../database/sql.ts'

/** Days that are shown: today, and those before it. */
export const historyShown = 90

type Kept = {
  readonly minutes: number
  readonly minutesWithinTarget: number
  readonly share: number
  /** In minutes. */
  readonly longestGap: number
}

/** One day, of one stream or of all together. */
export type KeptDay = Kept & { readonly day: string }

/** The days that are shown. */
export type FreshnessHistory = {
  /** Minutes of all streams by day, oldest first; days without counted minutes are missing. */
  readonly days: readonly KeptDay[]
  /** Minutes of all days by stream, in the order of their names. */
  readonly streams: readonly (Kept & { readonly stream: string })[]
}

const shownSince = sql<string>`(clock_timestamp() at time zone 'UTC')::date - ${sql.lit(historyShown - 1)}::int`

/** All streams. */
export async function freshnessHistory(db: Queryable): Promise<FreshnessHistory> {
  const { rows } = await db.query<Kept & { day: string | null; stream: string | null }>(
    `select day::text as day, stream, sum(minutes)::float8 as minutes, sum(minutes_within_target)::float8 as "minutesWithinTarget",
       round(sum(minutes_within_target)::numeric / sum(minutes), 4)::float8 as share, max(longest_gap)::float8 as "longestGap"
     from report.freshness_history where day > (clock_timestamp() at time zone 'UTC')::date - ${historyShown}
     group by grouping sets ((day), (stream)) order by day, stream`,
  )
  return {
    days: rows.flatMap(({ day, stream, ...kept }) => (day === null ? [] : [{ day, ...kept }])),
    streams: rows.flatMap(({ day, stream, ...kept }) => (stream === null ? [] : [{ stream, ...kept }])),
  }
}

/** One stream by day, oldest first. */
export async function streamHistory(db: Queryable, stream: string): Promise<readonly KeptDay[]> {
  return await on(db)
    .selectFrom('report.freshness_history')
    .select((eb) => [
      sql<string>`day::text`.as('day'),
      eb.cast<number>('minutes', 'float8').as('minutes'),
      eb.cast<number>('minutes_within_target', 'float8').as('minutesWithinTarget'),
      eb.cast<number>('share', 'float8').as('share'),
      eb.cast<number>('longest_gap', 'float8').as('longestGap'),
    ])
    .where('stream', '=', stream)
    .where('day', '>=', shownSince)
    .orderBy('report.freshness_history.day')
    .execute()
}
