// Since when an endpoint answers as it does: since when credentials are refused.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sync.endpoints add column last_status_since timestamptz`.execute(db)
}
