// How far `privacy apply` has come, so that it goes on where it was killed.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table sync.privacy add column applying jsonb').execute(db)
}
