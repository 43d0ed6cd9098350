// Pages of lists that came with an entity tag: asked for again with it, one that is still the same comes without a body.
// Why: a list that is swept each minute is the same bytes nearly every time.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.list_pages (
    stream text not null,
    name text not null,
    tag text not null,
    keys text[] not null,
    hash text not null,
    next text not null,
    read_at timestamptz not null default clock_timestamp(),
    primary key (stream, name)
  )`.execute(db)
}
