// What each day changed on the books, by month of departure: the days of report.pace.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table sync.pace_days (
         id bigint generated always as identity primary key,
         as_of date not null, departure_month date not null, company_id bigint, currencies text[] not null,
         rentals bigint not null, days bigint not null, amount numeric not null, canceled bigint not null,
         lead_days bigint not null, with_lead bigint not null
       );
       alter table sync.settings add column pace_from date, add column pace_until date;`,
    )
    .execute(db)
}
