// Which API a mirror is of: its ids mean nothing at another one.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table sync.settings add column api text').execute(db)
}
