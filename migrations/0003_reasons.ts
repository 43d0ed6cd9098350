// Each task carries its reason, as a number: a text would cost more with each task.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table sync.tasks add column reason smallint').execute(db)
}
