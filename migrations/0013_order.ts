// A row for each role under OUTBOX_LIMIT: a transaction whose snapshot is older than what the role queued cannot update it.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table outbox.counted_roles (
  name name primary key,
  counted_by xid8 not null
)`,
    )
    .execute(db)
}
