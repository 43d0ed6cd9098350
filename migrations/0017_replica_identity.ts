// A publication for all tables refuses to update or delete rows of a table without a key: this one's rows are told apart by all
// their columns.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table outbox.done_counts replica identity full').execute(db)
}
