// Details whose answers came with entity tags: asked for again with them, those that are the same come without a body.
// Why: what hangs below a changed record has mostly not changed itself, nor have most calendars from one hour to the next.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.detail_tags (
    stream text not null,
    key text not null,
    detail_hash text not null,
    answers jsonb not null,
    read_at timestamptz not null default clock_timestamp(),
    primary key (stream, key)
  )`.execute(db)
}
