// The instants of the request budget, each in a sequence: sequences are changed in place, rows leave versions behind.

import { type Kysely, sql } from 'kysely'

const instants = ['requests_lent_until', 'changes_wait_until', 'reads_wait_until', 'details_lent_until']

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const name of instants) await sql`create sequence ${sql.id('sync', name)}`.execute(db)
}
