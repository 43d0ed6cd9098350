// What tells a copied folder of the embedded Postgres from the original. And `sync.history()`, so that later migrations may name
// it in a default: the repeatable steps replace it before the transaction ends.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `alter table sync.log_identity add column folder text;
create function sync.history(out cluster text, out timeline bigint, out place text, out epoch bigint)
  language sql stable as 'select null::text, null::bigint, null::text, mirror.feed_epoch()'`,
    )
    .execute(db)
}
