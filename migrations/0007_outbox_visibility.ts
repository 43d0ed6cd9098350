// Which earlier changes an editor could see when a change was queued, told by transactions instead of clocks.
// Why: a change queued while an earlier one of its record was being committed saw the old value, but was taken to have seen
// the new one, and met a conflict with it.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table outbox.queue add column settled_xid xid8, add column seen_snapshot pg_snapshot`.execute(db)
  await sql`comment on column outbox.queue.settled_xid is 'Transaction that made the change done.'`.execute(db)
  await sql`comment on column outbox.queue.seen_snapshot is
    'What was committed when the base was read: changes done by later transactions were not seen.'`.execute(db)
}
