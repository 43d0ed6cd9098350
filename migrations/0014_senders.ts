// What a worker sends of itself (webhooks): who sends, how far it is, and the message that is on its way. Why: a repeat
// after a lost answer must be the same message, whichever worker makes it.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.senders (
    name text primary key check (name in ('webhook', 'alert')),
    owner text,
    lease_until timestamptz,
    fence bigint not null default 0,
    address text,
    attempts integer not null default 0,
    failing_since timestamptz,
    next_attempt_at timestamptz,
    last_error text,
    delivered bigint not null default 0,
    delivered_at timestamptz
  )`.execute(db)
  await sql`create table sync.webhook_batch (
    id text primary key,
    only_one boolean not null default true unique check (only_one),
    after_cursor text,
    end_cursor text not null,
    changes integer not null,
    body text not null,
    made_at timestamptz not null default clock_timestamp()
  )`.execute(db)
}
