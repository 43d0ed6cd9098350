// TIME_ZONE where the report views find it.

import pg from 'pg'
import { clientConfig } from '../database/database.ts'
import { sqlStateOf, translateDatabaseError } from '../database/sql-states.ts'
import { BoatMirrorError } from '../errors.ts'

const invalidParameter = '22023'

/**
 * Stores TIME_ZONE for the report views; writes nothing when it is what it was.
 * @throws BoatMirrorError CONFIG_INVALID for a zone that Postgres does not know, DATABASE_*.
 */
export async function saveTimeZone(url: string, timeZone: string): Promise<void> {
  const client = new pg.Client(clientConfig(url, 'boat-mirror migrate'))
  // A connection that dies while it is asked fails the query itself; without a listener it would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select now() at time zone $1', [timeZone])
    await client.query('update sync.settings set time_zone = $1 where time_zone <> $1', [timeZone])
  } catch (error) {
    if (sqlStateOf(error) !== invalidParameter) throw translateDatabaseError(error, url)
    throw new BoatMirrorError('CONFIG_INVALID', `TIME_ZONE is "${timeZone}". Postgres does not know that time zone.`, {
      cause: error,
      remedy: 'Use a name from pg_timezone_names, for example Europe/Paris.',
    })
  } finally {
    await client.end()
  }
}
