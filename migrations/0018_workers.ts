// The workers that are there, as each says of itself every few seconds: pages and status of one show all of them.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.workers (
    id text primary key,
    host text not null,
    pid int not null,
    version text not null,
    started_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    doing text
  )`.execute(db)
}
