// How often details that others change are read follows from what makes them due; what changes without that is counted.
// Why: calendars and slots read at every turn are half of all requests, and change with the rentals of their boat.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sync.runs add column unexpected bigint not null default 0`.execute(db)
}
