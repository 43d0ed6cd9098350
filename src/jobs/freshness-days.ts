// sync.freshness_days: looks once a minute whether each stream is within its target, and writes down what follows
// (freshness-minutes.ts). Of several workers one looks.

import type { Database } from '../database/database.ts'
import type { Queryable } from '../database/sql.ts'
import { afterCheck, type FreshnessDay, type Look } from './freshness-minutes.ts'

const minuteOf = (column: string): string => `(extract(epoch from ${column}) / 60)::int`

type CheckedStream = { readonly stream: string; readonly look: Look; readonly last: FreshnessDay | null }

/**
 * Looks now, by the database's clock.
 * @param off names of the streams that are switched off
 */
export async function checkFreshness(database: Database, off: readonly string[]): Promise<void> {
  await database.transaction(async (client) => {
    const { rows: locked } = await client.query<{ mine: boolean; minute: number }>(
      `select pg_try_advisory_xact_lock(hashtext('boat-mirror.freshness')) as mine,
         floor(extract(epoch from clock_timestamp()) / 60)::int as minute`,
    )
    const [{ mine, minute } = { mine: false, minute: 0 }] = locked
    if (!mine) return // another worker looks
    // Only the age counts: data within its target is fresh whatever the last run's result. What was never read has none.
    const { rows } = await client.query<CheckedStream>(
      `select f.stream, case when f.stream = any($1::text[]) or f.target_s is null or f.counts_as_of is null then 'off'
           when extract(epoch from clock_timestamp() - f.counts_as_of) <= f.target_s then 'met' else 'missed' end as look,
         case when d.stream is not null then jsonb_build_object('day', d.day - date '1970-01-01',
           'lookedAt', ${minuteOf('d.looked_at')}, 'counted', d.counted, 'countsFrom', ${minuteOf('d.counts_from')},
           'met', d.met, 'missedFrom', ${minuteOf('d.missed_from')}, 'longestGap', d.longest_gap) end as last
       from report.freshness f left join lateral (
         select * from sync.freshness_days d where d.stream = f.stream order by d.day desc limit 1) d on true
       order by f.stream`,
      [off],
    )
    const days = rows.flatMap(({ stream, look, last }) => {
      const next = afterCheck(last, minute, look)
      return next === null || next === last ? [] : [{ stream, ...next }]
    })
    await saveFreshnessDays(client, days)
  })
}

/** Writes the newest days of streams. */
export async function saveFreshnessDays(
  db: Queryable,
  days: readonly (FreshnessDay & { readonly stream: string })[],
): Promise<void> {
  await db.query(
    `insert into sync.freshness_days as d (stream, day, looked_at, counted, counts_from, met, missed_from, longest_gap)
     select stream, date '1970-01-01' + day, to_timestamp("lookedAt" * 60.0), counted, to_timestamp("countsFrom" * 60.0),
       met, to_timestamp("missedFrom" * 60.0), "longestGap"
     from jsonb_to_recordset($1::jsonb) as n(stream text, day int, "lookedAt" int, counted int, "countsFrom" int, met int,
       "missedFrom" int, "longestGap" int)
     on conflict (stream, day) do update set looked_at = excluded.looked_at, counted = excluded.counted,
       counts_from = excluded.counts_from, met = excluded.met, missed_from = excluded.missed_from,
       longest_gap = excluded.longest_gap`,
    [JSON.stringify(days)],
  )
}
