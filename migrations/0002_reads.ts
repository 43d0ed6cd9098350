// The catalog says which reads repeat others: nothing is learned before they are skipped.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `update sync.reads set state = 'redundant', since = clock_timestamp() where state = 'learning';
alter table sync.reads alter column state set default 'redundant', drop constraint reads_state_check,
  add constraint reads_state_check check (state in ('redundant', 'needed'));`,
    )
    .execute(db)
}
