// Rows of each table are counted by differences: each commit says by how many, and the end of a run adds them up.
// Why: counting ten million rows after each run takes seconds, and a counter that each commit writes to is a queue.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.row_changes (
    id bigint generated always as identity primary key,
    stream text not null,
    difference bigint not null
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`.execute(db)
  await sql`alter table sync.streams add column rows_proven_at timestamptz`.execute(db)
  // Stubs are counted apart, since they are no part of what a list may lose; these are the tables that may hold many.
  for (const name of ['rentals', 'users', 'resources'])
    await sql`create index ${sql.ref(`${name}_stubs`)} on mirror.${sql.ref(name)} (_read_at)
      where _deleted_at is null and position('#' in _source) > 0`.execute(db)
}
