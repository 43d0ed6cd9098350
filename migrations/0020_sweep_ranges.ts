// The end of a sweep in steps: the keys of its list by ranges of their table, and what it missed in each.
// Why: compared in one statement, a list of two million takes longer than a statement may.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.sweep_ranges (
    run_id bigint not null references sync.runs on delete cascade,
    range int not null,
    begins text,
    missing text[] not null default '{}',
    primary key (run_id, range)
  )`.execute(db)
  await sql`create table sync.sweep_parts (
    run_id bigint not null references sync.runs on delete cascade,
    range int not null,
    pass int not null,
    page int not null,
    keys text[] not null,
    primary key (run_id, range, pass, page)
  )`.execute(db)
  // What is counted at the end of each sweep, or when a record turns out to be gone, without reading its whole table.
  await sql`create index change_log_deletes on mirror.change_log (stream, changed_at) where operation = 'delete'`.execute(
    db,
  )
}
