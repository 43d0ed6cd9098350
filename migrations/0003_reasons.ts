// Each task carries its reason, as a number: a text would cost more with each task. `payload.keys` names what a task reads, so that of a
// refresh has one, and what links are asked by has another name.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `alter table sync.tasks add column reason smallint;
       update sync.tasks set payload = jsonb_build_object('keys', jsonb_build_array(payload -> 'key')) where kind = 'refresh';
       update sync.tasks set payload = jsonb_build_object('asked', payload -> 'keys') where kind = 'links'`,
    )
    .execute(db)
}
