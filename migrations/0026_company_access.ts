// Which roles see which companies alone. In a schema of its own, which readers may not use: functions there tell to whom a
// record belongs. Functions and policies are repeatable steps.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create schema if not exists company_access`.execute(db)
  await sql`create table company_access.grants (
    role text primary key,
    companies bigint[] not null check (cardinality(companies) > 0),
    granted_at timestamptz not null default clock_timestamp()
  )`.execute(db)
}
