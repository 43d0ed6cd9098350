// What report.close keeps: the rentals of a month's end as they were then, of no person, until the close is removed.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table sync.closes (
         id bigint primary key generated always as identity,
         name text not null unique check (name <> ''),
         company_id bigint,
         closed_at timestamptz not null default clock_timestamp()
       );
       create table sync.closed_rentals (
         close_id bigint not null references sync.closes on delete cascade,
         rental_id bigint not null, reference_id text, status text, takes_place boolean not null, company_id bigint,
         resource_id text, boat_id bigint, departure_day date, arrival_day date, rental_price numeric, discount_price numeric,
         commission_price numeric, total_to_pay numeric, total_paid numeric, currencies text[] collate "C" not null, payments jsonb not null,
         primary key (close_id, rental_id)
       );`,
    )
    .execute(db)
}
