// What changed lately, by an index, and how far planning came with the rest.
// Why: which details are due was asked of all rows of a stream, in each of its runs.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sync.streams add column planned_to text`.execute(db)
  // The time first: nobody is to look up a stream's keys by it, whatever Postgres knows of the table.
  await sql`create index records_lately on sync.records (greatest(changed_at, listed_at), stream)`.execute(db)
  // Rentals make the calendars of their boats due, slots are what others hang below.
  for (const name of ['rentals', 'resource_slots'])
    await sql`create index ${sql.ref(`${name}_changed`)} on mirror.${sql.ref(name)} (_changed_at)`.execute(db)
  // The newest of a list are compared with the newest that are known.
  await sql`create index rentals_created on mirror.rentals (creation_datetime) where _deleted_at is null`.execute(db)
}
