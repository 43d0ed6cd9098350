// Claims take turns over who queued, and OUTBOX_LIMIT bounds what a role has open: both ask by role. What is claimed in the
// order of all ids is no longer asked for.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index queue_turns on outbox.queue (enqueued_by, id) where status = 'queued'`.execute(db)
  await sql`create index queue_unsettled on outbox.queue (enqueued_by)
    where status in ('queued', 'sending', 'conflict', 'unknown', 'blocked')`.execute(db)
  await sql`drop index outbox.queue_claimable`.execute(db)
  await sql`alter table sync.settings add column outbox_limit int check (outbox_limit > 0)`.execute(db)
  await sql`comment on column sync.settings.outbox_limit is
    'OUTBOX_LIMIT at the last start: open changes a role may have; null: no limit.'`.execute(db)
}
