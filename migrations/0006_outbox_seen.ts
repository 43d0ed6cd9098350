// When a person who decides a conflict saw what the API shows: what their own earlier changes had left is older than that.
// Why: without it, such a leftover stayed the base of the merge, and "take local" was the same conflict again, for ever.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table outbox.queue add column seen_at timestamptz`.execute(db)
  await sql`comment on column outbox.queue.seen_at is
    'When a person took local and so saw what the API shows: what earlier changes left before that is no base any more.'`.execute(
    db,
  )
}
