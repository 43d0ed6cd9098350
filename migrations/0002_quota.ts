// What API_QUOTA needs: the requests that were taken from it, and how old details may be where it lets none be younger.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Totals since the beginning, not counts of the minute: what was taken within any time is the difference of two rows,
  // looked up however long that time is. The row of the present minute is rewritten with each loan.
  await sql
    .raw(`
    create table sync.request_counts (
      minute timestamptz primary key,
      total bigint not null
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
    create sequence sync.details_paced_until;
    alter table sync.streams add column max_age_s numeric, add column soon_max_age_s numeric;
  `)
    .execute(db)
}
