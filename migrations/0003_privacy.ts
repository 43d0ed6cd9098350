// What the database holds of the settings of personal data, and who is erased. A change whose personal values were replaced
// after its end is marked: it cannot be sent again.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
create table sync.privacy (
  only_row boolean primary key default true check (only_row),
  mode text not null default 'keep' check (mode in ('keep', 'hash', 'drop')),
  columns jsonb not null default '{}',
  key_fingerprint text,
  generation bigint not null default 0,
  set_at timestamptz
);
insert into sync.privacy default values;

create table sync.erased (
  stream text not null,
  key text not null,
  erased_at timestamptz not null default clock_timestamp(),
  primary key (stream, key)
);

alter table outbox.queue add column veiled boolean not null default false;
`)
    .execute(db)
}
