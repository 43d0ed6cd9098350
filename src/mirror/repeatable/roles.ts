// The three roles for readers and partners, and what the first two may read. Roles belong to the cluster and may have
// to be created by somebody else: without the right to do so they are skipped with a notice, never a failure.

import { streams } from '../../catalog/catalog.ts'
import { holdsPerson } from '../persons.ts'
import { literal, type RepeatableStep } from './step.ts'

const roleNames = ['boat_mirror_reader', 'boat_mirror_partner', 'boat_mirror_enqueue'] as const

const createRole = (role: string): string => `do $$ begin
  if not exists (select from pg_catalog.pg_roles where rolname = ${literal(role)}) then
    create role ${role} nologin;
  end if;
exception
  -- Another database of this cluster was migrated at the same moment.
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise notice 'role % is missing: the database role may not create roles', ${literal(role)};
end $$;`

/** Comes first: later steps grant to these roles where they exist. */
export const roles: RepeatableStep = { name: 'roles', sql: roleNames.map(createRole).join('\n') }

const grantTo = (role: string, statements: readonly string[]): string => `do $$ begin
  if exists (select from pg_catalog.pg_roles where rolname = ${literal(role)}) then
    ${statements.map((statement) => `${statement};`).join('\n    ')}
  end if;
end $$;`

const personalStreams = streams.filter(holdsPerson).map((stream) => literal(stream.name))

/** Rows of quarantine and samples that may quote a person are hidden from the reader, and from nobody else. */
const guardFromReader = (table: string): readonly string[] => [
  `alter table sync.${table} enable row level security`,
  `drop policy if exists everyone on sync.${table}`,
  `create policy everyone on sync.${table} using (true) with check (true)`,
  `drop policy if exists no_persons on sync.${table}`,
  `create policy no_persons on sync.${table} as restrictive for select to boat_mirror_reader
      using (stream not in (${personalStreams.join(', ')}))`,
]

/** Comes last, when all views exist. */
export const grants: RepeatableStep = {
  name: 'grants',
  sql: [
    'revoke all on function mirror.feed_epoch(), mirror.read_change_log(text, int), mirror.changes_since(text, int) from public;',
    grantTo('boat_mirror_reader', [
      'grant usage on schema sync, mirror_views, report to boat_mirror_reader',
      'grant select on all tables in schema sync, mirror_views, report to boat_mirror_reader',
      ...guardFromReader('quarantine'),
      ...guardFromReader('unknown_fields'),
    ]),
    grantTo('boat_mirror_partner', [
      'grant usage on schema sync, mirror, mirror_views, report to boat_mirror_partner',
      'grant select on all tables in schema sync, mirror, mirror_views, report to boat_mirror_partner',
      'grant execute on function mirror.feed_epoch(), mirror.read_change_log(text, int), mirror.changes_since(text, int) to boat_mirror_partner',
    ]),
  ].join('\n'),
}
