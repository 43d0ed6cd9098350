// Matters that need a person, as the messages to ALERT_URL have told them. Why: a restart, or another worker, must neither
// repeat a message nor forget to say that a matter is over.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.alerts (
    kind text not null,
    about text not null,
    since timestamptz not null,
    told boolean not null default false,
    gone_since timestamptz,
    primary key (kind, about)
  )`.execute(db)
}
