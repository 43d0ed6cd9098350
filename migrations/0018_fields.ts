// New fields that the API shows are acknowledged by a decision.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `alter table sync.decisions drop constraint decisions_what_check, add constraint decisions_what_check check (what in
  ('retry', 'cancel', 'local', 'remote', 'took_effect', 'did_not', 'release', 'pause', 'resume', 'former_gone', 'former_lives',
    'hand_over', 'acknowledge'));`,
    )
    .execute(db)
}
