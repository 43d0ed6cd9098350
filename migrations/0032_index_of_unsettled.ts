// The index of changes that are not settled holds all that others hold, and where Postgres took the open changes for a single
// row it read all of it instead of looking up one. Now only those who ask for just this set can use it.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index outbox.queue_unsettled`.execute(db)
  await sql`create index queue_unsettled on outbox.queue (enqueued_by)
    where case when status in ('queued', 'sending', 'conflict', 'unknown', 'blocked') then true else false end`.execute(
    db,
  )
}
