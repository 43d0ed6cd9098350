// Which Postgres the program works on.

import { BoatMirrorError } from '../errors.ts'
import type { Queryable } from './sql.ts'

const oldestMajor = 14

/** The server's version as it names it, such as `16.4`. @throws BoatMirrorError DATABASE_REFUSED when it is too old. */
export async function supportedVersion(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ version: string; number: number }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number`,
  )
  const { version, number } = rows[0] ?? { version: 'of an unknown version', number: 0 }
  if (number >= oldestMajor * 10_000) return version
  throw new BoatMirrorError('DATABASE_REFUSED', `Postgres ${version} is too old.`, {
    remedy: `Use Postgres ${oldestMajor} or newer.`,
  })
}
