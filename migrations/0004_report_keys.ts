// A key in an address opens a calendar, or a report of one company.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `alter table sync.calendar_keys drop constraint calendar_keys_pkey, alter column resource_id drop not null,
         add column id bigint generated always as identity primary key, add column report text, add column company_id bigint,
         add unique (resource_id), add unique (report, company_id),
         add check (num_nonnulls(report, company_id) = case when resource_id is null then 2 else 0 end)`,
    )
    .execute(db)
}
