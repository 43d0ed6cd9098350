// Settings where the report views find them.

import type { Config } from '../config.ts'
import type { Queryable } from '../database/sql.ts'
import { sqlStateOf, translateDatabaseError } from '../database/sql-states.ts'
import { BoatMirrorError } from '../errors.ts'

const invalidParameter = '22023'

/**
 * Stores TIME_ZONE and NOT_TAKING_PLACE for the report views; writes nothing when they are what they were.
 * @throws BoatMirrorError CONFIG_INVALID for a zone that Postgres does not know, DATABASE_*.
 */
export async function saveReportSettings(
  db: Queryable,
  { timeZone, notTakingPlace }: Pick<Config, 'timeZone' | 'notTakingPlace'>,
): Promise<void> {
  try {
    await db.query('select now() at time zone $1', [timeZone])
    await db.query(
      `update sync.settings s set time_zone = $1, not_taking_place = n.words
       from (select array(select report.status_word(status) from unnest($2::text[]) as given (status))) n (words)
       where (s.time_zone, s.not_taking_place) is distinct from ($1, n.words)`,
      [timeZone, notTakingPlace ?? []],
    )
  } catch (error) {
    if (sqlStateOf(error) !== invalidParameter) throw translateDatabaseError(error)
    throw new BoatMirrorError('CONFIG_INVALID', `TIME_ZONE is "${timeZone}". Postgres does not know that time zone.`, {
      cause: error,
      remedy: 'Use a name from pg_timezone_names, for example Europe/Paris.',
    })
  }
}
