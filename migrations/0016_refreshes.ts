// Refreshes: what somebody asks for now, a stream or one record. A run of one record is no run of its stream: it may stand
// beside a complete one, and says nothing of how fresh the stream is.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sync.requests
    add column stream text,
    add column record_key text,
    add column role text,
    add column error text`.execute(db)
  await sql`create unique index requests_one_refresh on sync.requests (stream, (coalesce(record_key, '')))
    where stream is not null and finished_at is null`.execute(db)
  await sql`create index requests_of_role on sync.requests (role, requested_at) where role is not null`.execute(db)
  await sql`alter table sync.runs add column record_key text`.execute(db)
  await sql`drop index sync.runs_one_at_a_time`.execute(db)
  await sql`create unique index runs_one_at_a_time on sync.runs (stream, hot)
    where status = 'running' and record_key is null`.execute(db)
}
