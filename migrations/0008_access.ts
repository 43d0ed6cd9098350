// Who may use `serve`: tokens, keys of calendars. And which resources are more than one boat.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table sync.access_tokens (
  id bigint generated always as identity primary key,
  name text not null,
  hash bytea not null,
  role text not null unique,
  companies bigint[] check (cardinality(companies) > 0),
  personal boolean not null,
  write boolean not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz
);
create unique index access_tokens_name on sync.access_tokens (name) where revoked_at is null;
create table sync.calendar_keys (
  resource_id text primary key,
  hash bytea not null,
  created_at timestamptz not null default clock_timestamp()
);
-- Slots are deleted when their day has passed, and what they showed is needed later.
create table sync.fleets (
  resource_id text primary key,
  seen_at timestamptz not null default clock_timestamp()
);
insert into sync.fleets (resource_id)
  select distinct resource_id from mirror.resource_slots where nb_resources_available > 1`,
    )
    .execute(db)
}
