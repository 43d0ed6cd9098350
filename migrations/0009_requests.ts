// Which token asked for a change over HTTP, and with which content: the same request again is the same change.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table outbox.requests (
  change_id bigint primary key,
  token text not null,
  idempotency_key text,
  fingerprint text not null,
  place integer not null default 0,
  received_at timestamptz not null default now()
);
create index requests_content on outbox.requests (token, fingerprint, change_id);
create unique index requests_key on outbox.requests (token, idempotency_key, place) where idempotency_key is not null`,
    )
    .execute(db)
}
