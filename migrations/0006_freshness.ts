// How long each stream met its target, day by day.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // A worker rewrites the newest row of each stream every minute: room on the page saves the index the new place.
  await sql
    .raw(
      `create table sync.freshness_days (
  stream text not null,
  day date not null,
  looked_at timestamptz not null,
  counted integer not null default 0,
  counts_from timestamptz,
  met integer not null default 0,
  missed_from timestamptz,
  longest_gap integer not null default 0,
  primary key (stream, day)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`,
    )
    .execute(db)
}
