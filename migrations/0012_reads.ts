// What is learned about reads that repeat a record which another read has brought, and where such reads were left out.
// Why: 42 % of the requests of a first sync told nothing that the lists and collections had not said.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.reads (
    endpoint text primary key,
    same_as text not null,
    state text not null default 'learning' check (state in ('learning', 'redundant', 'needed')),
    compared bigint not null default 0,
    differed bigint not null default 0,
    skipped bigint not null default 0,
    since timestamptz not null default clock_timestamp(),
    sampled_at timestamptz
  )`.execute(db)
  await sql`alter table sync.records
    add column listed_at timestamptz,
    add column partly boolean`.execute(db)
}
