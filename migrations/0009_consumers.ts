// Consumers of the change feed and how far each has acknowledged it. The place is kept in its parts, so that what retention
// takes can be compared with it; the view sync.consumers shows it as a cursor.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.consumer_positions (
    name text primary key,
    role text not null,
    epoch bigint,
    xid xid8,
    seq bigint,
    registered_at timestamptz not null default clock_timestamp(),
    acked_at timestamptz,
    lost boolean not null default false
  )`.execute(db)
}
