// The roles for readers, partners, operators and the tokens of `serve`, what readers, partners and tokens may read,
// and the role that views belong to. Roles belong to the cluster and may have to be created by another role: without
// the right to do so they are skipped with a notice, never a failure.

import { holdsPerson, isOfPerson, streams } from '../catalog/catalog.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql, literal, type Queryable } from '../database/sql.ts'
import { companyReports } from '../reports/report-views.ts'
import takeBack from './default-privileges.sql'
import { ourSchemas } from './suitable.ts'
import { liveGrants } from './table-views.ts'

const roleNames = [
  'boat_mirror_reader',
  'boat_mirror_partner',
  'boat_mirror_enqueue',
  'boat_mirror_operator',
  'boat_mirror_serve',
  'boat_mirror_views',
] as const

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

/** SQL that takes back what default privileges gave to everybody and to our roles. */
export const withoutDefaults = (schemas: readonly string[]): string =>
  fillSql(takeBack, { schemas: schemas.map(literal).join(', '), roles: roleNames.map(literal).join(', ') })

/** Comes when all objects exist, and before all grants. */
export const defaultPrivileges: RepeatableStep = { name: 'default-privileges', sql: withoutDefaults(ourSchemas) }

const grantTo = (role: string, statements: readonly string[]): string => `do $$ declare relation regclass; begin
  if exists (select from pg_catalog.pg_roles where rolname = ${literal(role)}) then
    ${statements.map((statement) => `${statement};`).join('\n    ')}
  end if;
end $$;`

/** Only the owner, and the role of `serve`, may read the hashes of credentials. */
const secretTables = ['access_tokens', 'calendar_keys']

/** One by one: what a partner made in our schemas is theirs to grant, and one of it would refuse `all tables in schema`. */
const selectFrom = (schemas: readonly string[], role: string): string => `for relation in
      select oid from pg_catalog.pg_class where relkind in ('r', 'p', 'v', 'm', 'f')
        and relnamespace in (${schemas.map((schema) => `${literal(schema)}::regnamespace`).join(', ')})
        and pg_catalog.pg_has_role(relowner, 'usage')
        and not (relnamespace = 'sync'::regnamespace and relname in (${secretTables.map(literal).join(', ')}))
    loop execute pg_catalog.format('grant select on %s to ${role}', relation); end loop`

const personalStreams = streams.filter(holdsPerson).map((stream) => literal(stream.name))

/** Rows that may quote a person are hidden only from the reader. `shown`: those that may not. */
const guardFromReader = (table: string, shown = `stream not in (${personalStreams.join(', ')})`): readonly string[] => [
  `alter table sync.${table} enable row level security`,
  `drop policy if exists everyone on sync.${table}`,
  `create policy everyone on sync.${table} using (true) with check (true)`,
  `drop policy if exists no_persons on sync.${table}`,
  `create policy no_persons on sync.${table} as restrictive for select to boat_mirror_reader
      using (${shown})`,
]

const partnerFunctions = `sync.folder(), sync.history(), mirror.feed_epoch(), mirror.whole_diff(jsonb, jsonb, jsonb),
      mirror.cursor_parts(text), mirror.cursor_mark(bigint, xid8, timestamptz, jsonb), mirror.is_assigned(xid8),
      mirror.read_change_log(text, int), mirror.positions_after(text, int), mirror.next_positions(bigint, xid8, bigint, int),
      mirror.changes_since(text, int), mirror.last_cursor(),
      mirror.next_changes(text, int), mirror.ack_changes(text, text), mirror.reset_consumer(text, text),
      mirror.drop_consumer(text), mirror.record_before_log(text, jsonb), mirror.history(text, jsonb),
      mirror.record_at(text, jsonb, timestamptz), mirror.as_of(text, timestamptz), mirror.refresh(text, jsonb)`

/** Tables of `sync` without keys and contents: how the mirror is doing. */
export const openState = [
  'streams',
  'endpoints',
  'reads',
  'workers',
  'servers',
  'senders',
  'webhook_deliveries',
  'freshness_days',
  'alerts',
  'settings',
  'traffic',
  'row_changes',
  'gate',
  'pinned',
  'repeatable',
  'migrations',
]

/** Whole records, from which `serve` cuts personal members; users and their documents are for members of boat_mirror_partner. */
const servedTables = streams
  .filter((stream) => !isOfPerson(stream))
  .map(({ name }) => `mirror.${name}`)
  .join(', ')

/** What functions for partners call as their owner. */
const ownFunctions = `mirror_log.owners(text, jsonb, bigint, xid8, xid8, bigint), mirror_log.was_owned(text, jsonb),
      mirror_log.shown(mirror.change_log, xid8, bigint[]), mirror_log.rows_below(text, jsonb, bigint, xid8, xid8, bigint, bigint[]),
      mirror_log.read_companies(text, int, bigint[]), mirror_log.changes_of(text, jsonb),
      mirror.check_moment(timestamptz), mirror.own_consumer(text), mirror.following_consumer(text),
      mirror.register_consumer(text), mirror.given_position(text), mirror.mark_lost_consumers()`

/** What the owner of the change log calls. */
const ownerFunctions =
  'mirror.keep_feed_order(), mirror.log_partitions(), mirror.make_log_month(), mirror.drop_log_month(regclass)'

/** Which records of a restricted role's companies it may see: policies on what lies below them ask. */
const keyViews = streams.flatMap(({ name, companyColumn }) => (companyColumn ? `company_access.visible_${name}` : []))

/** What policies and views of every role call, and the owner's own work. */
const publicFunctions = `mirror.same_content(jsonb, jsonb), mirror.unordered(jsonb), mirror.waiting_since(text),
      mirror_log.first_diff(text, jsonb, bigint, jsonb), mirror_log.company_changes(), report.assert_days(date, date), report.blocks(), report.calendar(date, date), report.close(text, bigint),
      report.remove_close(text), report.since_close(text, text), report.close_totals(text), report.receipts(date, date), report.currencies_of(bigint),
      report.currency_code(jsonb), report.is_block_of_rental(jsonb), report.paid_in_lines(bigint), report.rentals_as_of(timestamptz),
      report.status_word(text), report.today(),
      sync.assert_may_close(bigint), sync.close_named(text),
      sync.lend_requests(integer, text, integer, integer, boolean, integer[], timestamptz), sync.quota_pace(integer[], timestamptz),
      sync.quota_windows(integer[], timestamptz),
      sync.take_from_quota(integer[], text, integer, integer, timestamptz, timestamptz)`

/** Comes last, when all views exist. */
export const grants: RepeatableStep = {
  name: 'grants',
  sql: [
    `revoke all on function ${partnerFunctions}, ${ownFunctions}, ${ownerFunctions} from public;`,
    `grant execute on function ${publicFunctions} to public;`,
    'grant execute on all functions in schema company_access to public;',
    `grant select on ${keyViews.join(', ')} to public;`,
    grantTo('boat_mirror_reader', [
      'grant usage on schema sync, mirror_views, live, report to boat_mirror_reader',
      selectFrom(['sync', 'mirror_views', 'report'], 'boat_mirror_reader'),
      ...liveGrants('boat_mirror_reader'),
      ...guardFromReader('quarantine'),
      ...guardFromReader('unknown_fields'),
      ...guardFromReader('webhook_batch', 'false'),
    ]),
    grantTo('boat_mirror_partner', [
      'grant usage on schema sync, mirror, mirror_views, live, report to boat_mirror_partner',
      selectFrom(['sync', 'mirror', 'mirror_views', 'live', 'report'], 'boat_mirror_partner'),
      `grant execute on function ${partnerFunctions} to boat_mirror_partner`,
    ]),
    grantTo('boat_mirror_serve', [
      'grant usage on schema sync, mirror, report to boat_mirror_serve',
      `grant select on ${companyReports.map(({ name }) => `report.${name}`).join(', ')} to boat_mirror_serve`,
      `grant select on ${openState.map((name) => `sync.${name}`).join(', ')} to boat_mirror_serve`,
      `grant select on ${servedTables} to boat_mirror_serve`,
    ]),
  ].join('\n'),
}

/** What the last of the grants to a role gives it: who has it has all of them. */
const lastGrant: Readonly<Record<(typeof roleNames)[number], string>> = {
  boat_mirror_reader: 'report.freshness',
  boat_mirror_partner: 'mirror.rentals_local',
  boat_mirror_enqueue: 'outbox.changes',
  boat_mirror_operator: 'outbox.changes',
  boat_mirror_serve: 'mirror.rentals',
  boat_mirror_views: 'mirror.rentals_local',
}

type RoleGaps = {
  readonly missing: readonly string[]
  readonly ungranted: readonly string[]
  /** `migrate` has rights to give: a role that it may create, or what a restore without privileges omitted. */
  readonly open: boolean
}

/** Roles that are not there, and roles that are there without their grants: made after the last migrate, or by a restore. */
export async function roleGaps(db: Queryable): Promise<RoleGaps> {
  const { rows } = await db.query<{
    name: string
    there: boolean
    granted: boolean
    creates: boolean
    public: boolean
  }>(
    `select name, r.oid is not null as there,
       r.oid is not null and case when name = 'boat_mirror_views'
         -- What only a member may give it, it does not have where the owner is none.
         then pg_has_role((select nspowner from pg_namespace where nspname = 'mirror'), r.oid, 'usage') is not true
           or r.oid = (select relowner from pg_class c where c.oid = to_regclass(relation))
         else has_table_privilege(r.oid, to_regclass(relation), 'select') end as granted,
       (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as creates,
       has_function_privilege('public', to_regprocedure('mirror.feed_epoch()'), 'execute') as public
     from jsonb_each_text($1::jsonb) l (name, relation) left join pg_roles r on r.rolname = l.name order by name`,
    [JSON.stringify(lastGrant)],
  )
  const names = (wanted: readonly { readonly name: string }[]): readonly string[] => wanted.map(({ name }) => name)
  return {
    missing: names(rows.filter(({ there }) => !there)),
    ungranted: names(rows.filter(({ there, granted }) => there && !granted)),
    open: rows.some(({ there, granted, creates, public: isPublic }) => isPublic || (there ? !granted : creates)),
  }
}
