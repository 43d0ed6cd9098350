// In which history of this database each change was queued, and which one the outbox has seen last: a database that was restored,
// promoted or copied must not send again what a later state of it, or its original, has sent.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `alter table outbox.queue add column epoch bigint not null default mirror.feed_epoch();
alter table outbox.installation add column epoch bigint, add column cluster text, add column place text,
  add column since timestamptz not null default clock_timestamp(), add column undecided boolean not null default false,
  add column former jsonb not null default '[]';
-- What was queued where the log was last written: in a database restored since, that is another history.
update outbox.installation set epoch = coalesce(
  (select c.epoch from mirror.change_log c order by c.seq desc limit 1), mirror.feed_epoch());
update outbox.queue q set epoch = i.epoch from outbox.installation i where q.epoch <> i.epoch;
alter table sync.decisions drop constraint decisions_what_check, add constraint decisions_what_check check (what in
  ('retry', 'cancel', 'local', 'remote', 'took_effect', 'did_not', 'release', 'pause', 'resume', 'former_gone', 'former_lives'));`,
    )
    .execute(db)
}
