// The hourly line of the log is said by one worker for all: its turn is kept beside the other senders.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sync.senders drop constraint senders_name_check`.execute(db)
  await sql`alter table sync.senders add constraint senders_name_check check (name in ('webhook', 'alert', 'log'))`.execute(
    db,
  )
}
