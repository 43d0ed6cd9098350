// What the report views stand on: the zone that decides what "today" is, and the order in which rentals depart.
// Why a table: the views run in whatever session asks, and only the program knows TIME_ZONE.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.settings (
    only_row boolean primary key default true check (only_row),
    time_zone text not null default 'UTC'
  )`.execute(db)
  await sql`insert into sync.settings default values`.execute(db)
  await sql`comment on table sync.settings is 'Settings of the program that views need; migrate writes them.'`.execute(
    db,
  )
  await sql`comment on column sync.settings.only_row is 'Always true: there is one row.'`.execute(db)
  await sql`comment on column sync.settings.time_zone is
    'TIME_ZONE at the last migrate: what "today" is, and the zone of a date-time that names no offset.'`.execute(db)
  await sql`create index rentals_departure on mirror.rentals (departure_datetime) where _deleted_at is null`.execute(db)
}
