// Which history the database is part of, for the feed, the outbox and `serve`.

import history from './history.sql'
import type { RepeatableStep } from './repeatable-step.ts'
import type { Queryable } from './sql.ts'

/** `sync.history()`, and what it is made of. */
export const historyFunctions: RepeatableStep = { name: 'history-functions', sql: history }

/** Stores in which folder the database lies, once an embedded Postgres is started that says it: a copied folder is another one. */
export async function keepFolder(db: Queryable): Promise<void> {
  await db.query(`do $$ begin
    if exists (select from sync.log_identity where folder is null and sync.folder() is not null) then
      update sync.log_identity set folder = sync.folder();
    end if;
  end $$`)
}
