// The running runs by an index of their own: each step of a sync asks for them, among the runs of HISTORY_DAYS.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index runs_running on sync.runs (id) where status = 'running'`.execute(db)
}
