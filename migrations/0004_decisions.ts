// What people decided: about changes of the outbox, held deletions, and streams that are to be read no more for a while.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table sync.decisions (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  who text not null,
  via text not null check (via in ('sql', 'command', 'library', 'page')),
  what text not null check (what in
    ('retry', 'cancel', 'local', 'remote', 'took_effect', 'did_not', 'release', 'pause', 'resume')),
  target text not null,
  plan text not null,
  result_id bigint,
  done_at timestamptz,
  error text,
  -- A plan holds the number of decisions before it, so nothing is decided twice, whoever asks at the same moment.
  unique (target, plan)
);
create index decisions_open on sync.decisions (id) where done_at is null;
alter table sync.streams add column paused_by bigint;
-- They have other names or arguments from now on.
drop function if exists outbox.resolve(jsonb);
drop function if exists outbox.check_limit(text);
drop function if exists outbox.check_company(text, text, jsonb);`,
    )
    .execute(db)
}
