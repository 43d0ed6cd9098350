// The processes that serve the API, for the status page: any process may serve, and only it counts what it answers.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table sync.servers (
  id text primary key,
  host text not null,
  pid int not null,
  version text not null,
  address text not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  requests bigint not null,
  recent_requests bigint not null,
  recent_refused bigint not null,
  recent_failed bigint not null,
  recent_mean_ms double precision,
  recent_slowest_ms double precision,
  recent_oldest_s double precision
)`,
    )
    .execute(db)
}
