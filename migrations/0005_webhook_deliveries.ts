// The attempts to deliver calls of the webhook, for the person who operates it.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table sync.webhook_deliveries (
  id bigint generated always as identity primary key,
  sent_at timestamptz not null default clock_timestamp(),
  message_id text not null,
  changes integer not null,
  status integer,
  duration_ms integer not null,
  error text,
  after_cursor text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`,
    )
    .execute(db)
}
