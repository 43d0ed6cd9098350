// What the status asks, so that it reads no more of many changes and runs than of few: how many changes are done, counted by
// differences, and indexes of what is rare.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table outbox.done_counts (
    count bigint not null,
    proven_at timestamptz
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`.execute(db)
  await sql`insert into outbox.done_counts (count, proven_at)
    select count(*), clock_timestamp() from outbox.queue where status = 'done'`.execute(db)
  await sql`comment on table outbox.done_counts is
    'How many changes are done: the sum of all rows. Those who settle or delete changes add one; they are added up once an hour.'`.execute(
    db,
  )
  await sql`comment on column outbox.done_counts.count is 'Changes that became done, less those that were deleted.'`.execute(
    db,
  )
  await sql`comment on column outbox.done_counts.proven_at is 'When all changes were counted last; null: of what came since.'`.execute(
    db,
  )
  // The other states after which nothing follows by itself; those that are open have their index.
  await sql`create index queue_ended on outbox.queue (status, id)
    where status in ('failed', 'expired', 'canceled', 'blocked')`.execute(db)
  await sql`create index runs_held on sync.runs (id) where status = 'held'`.execute(db)
}
