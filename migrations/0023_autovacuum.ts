// When Postgres clears up after the tables that are written all the time. Its own measure is a fifth of a table: of one
// that keeps months of history and rewrites its newest rows, that is months of dead rows among a few live ones.

import { type Kysely, sql } from 'kysely'

const oftenOfMany = 'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000'

const settings: readonly (readonly [table: string, options: string])[] = [
  // The running run is rewritten by each commit, in a table of HISTORY_DAYS: room on the page saves its indexes the new place.
  ['sync.runs', `fillfactor = 80, ${oftenOfMany}`],
  // Claimed, renewed and given checkpoints many times, then kept for a day.
  ['sync.tasks', `fillfactor = 80, ${oftenOfMany}`],
  // Only the newest minute is rewritten, of a week.
  ['sync.traffic', oftenOfMany],
  // Whole sweeps come and go.
  ['sync.sweep_pages', 'autovacuum_vacuum_scale_factor = 0.05'],
  ['sync.sweep_parts', oftenOfMany],
  // Replaced as often as their answers change.
  ['sync.list_pages', 'autovacuum_vacuum_scale_factor = 0.05'],
  ['sync.detail_tags', 'autovacuum_vacuum_scale_factor = 0.05'],
  // Only grows and is read along its indexes: what is not vacuumed is not visible to them without the rows.
  ['mirror.change_log', 'autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02'],
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, options] of settings)
    await sql`alter table ${sql.ref(table)} set (${sql.raw(options)})`.execute(db)
}
