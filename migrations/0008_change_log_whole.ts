// The first entry of a key no longer repeats the row: the feed completes it when it is read (src/mirror/feed.ts).
// Why: a first sync wrote each record twice, 1.5 kB of 3.9 of what Postgres logs for a rental.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Entries from before this say all there is to say.
  await sql`alter table mirror.change_log add column whole boolean not null default true`.execute(db)
}
