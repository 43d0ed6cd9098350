// Settings where the report views find them.

import type { Config } from '../config.ts'
import type { Queryable } from '../database/sql.ts'
import { translateDatabaseError } from '../database/sql-states.ts'
import { zoneOffset } from '../date-time.ts'
import { BoatMirrorError } from '../errors.ts'

/** Abbreviations come before names in Postgres, with one offset all year, and mean other zones in Node. */
const zoneQuery = `select where upper($1) in ('UTC', 'GMT', 'UCT', 'ZULU') or exists (select from pg_timezone_names where lower(name) = lower($1))
  and not exists (select from pg_timezone_abbrevs where abbrev = upper($1))`

/** @throws BoatMirrorError CONFIG_INVALID for a zone that Postgres does not know */
export async function assertTimeZone(db: Queryable, timeZone: string): Promise<void> {
  const { rowCount } = await db.query(zoneQuery, [timeZone])
  if (rowCount === 1) return
  throw new BoatMirrorError('CONFIG_INVALID', `TIME_ZONE is "${timeZone}". Postgres does not know that time zone.`, {
    remedy: 'Use the name of a place from pg_timezone_names, for example Europe/Paris.',
  })
}

/** The first day of this year and the next on which Node has another offset for the zone than Postgres; null: there is none. */
export async function differingDay(db: Queryable, timeZone: string): Promise<string | null> {
  const { rows } = await db.query<{ day: string; seconds: number }>(
    `select to_char(t, 'YYYY-MM-DD') as day, extract(epoch from t at time zone 'UTC' at time zone $1 - t)::int as seconds
     from generate_series(date_trunc('year', now() at time zone 'UTC'),
       date_trunc('year', now() at time zone 'UTC') + interval '2 years', interval '1 day') t`,
    [timeZone],
  )
  return rows.find(({ day, seconds }) => zoneOffset(Date.parse(day), timeZone) !== seconds * 1_000)?.day ?? null
}

/**
 * Stores TIME_ZONE and NOT_TAKING_PLACE for the report views; writes nothing when they are what they were.
 * @throws BoatMirrorError CONFIG_INVALID for a zone that Postgres does not know, DATABASE_*.
 */
export async function saveReportSettings(
  db: Queryable,
  { timeZone, notTakingPlace }: Pick<Config, 'timeZone' | 'notTakingPlace'>,
): Promise<void> {
  try {
    await assertTimeZone(db, timeZone)
    await db.query(
      `update sync.settings s set time_zone = $1, not_taking_place = n.words
       from (select array(select report.status_word(status) from unnest($2::text[]) as given (status))) n (words)
       where (s.time_zone, s.not_taking_place) is distinct from ($1, n.words)`,
      [timeZone, notTakingPlace ?? []],
    )
  } catch (error) {
    throw translateDatabaseError(error)
  }
}
