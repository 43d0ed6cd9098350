// What falls due by its age, by an index of when it was read.
// Why: each run of the schedule walked on through 20,000 rows of its table to find the few of them that had become old.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // One of 32 ages belongs to each key (src/state/detail-age.ts): of each, what was read longest ago comes first.
  await sql`create index records_read on sync.records (stream, (get_byte(decode(md5(key), 'hex'), 0) & 31), detail_read_at)
    where detail_read_at is not null`.execute(db)
  // Rentals that are just back are read more often; those that are about to depart have an index.
  await sql`create index rentals_arrival on mirror.rentals (arrival_datetime) where _deleted_at is null`.execute(db)
  await sql`alter table sync.streams drop column planned_to`.execute(db)
}
