// The change log in partitions, one a month of `changed_at`. Why: retention drops a month at once, and what vacuum and the
// indexes have to do with hundreds of millions of entries is done for the newest month alone.
//
// The table that is there becomes the first partition without being copied: it is attached under a constraint that was
// validated before, while everybody went on. `seq` is unique by its sequence, and by a primary key of each partition: one
// of the whole would need `changed_at`, and a new index on all there is. The partitions have a schema of their own: in that of
// the mirror stands what people read.

import { type Kysely, sql } from 'kysely'

const constraint = 'change_log_adopted'
const autovacuum = 'autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02' // as 0023 has it

/**
 * Waits for locks two seconds at a time: whoever comes behind a waiting exclusive lock waits, too. A second in between lets
 * them all through.
 */
const patiently = (statements: string): string => `do $do$
  declare
    before constant text := current_setting('lock_timeout');
    relation record;
  begin
    perform set_config('lock_timeout', '2s', true);
    loop
      begin
        ${statements}
        exit;
      exception when lock_not_available then
        perform pg_sleep(1);
      end;
    end loop;
    perform set_config('lock_timeout', before, true);
  end $do$`

/** The end of the partition that the present table becomes; null: no constraint says it yet, or it is about to pass. */
async function adoptedUntil(db: Kysely<unknown>): Promise<string | null> {
  const { rows } = await sql<{ until: string }>`
    select until from (
      select substring(pg_get_constraintdef(oid) from '''([0-9 :+-]+)''')::timestamptz::text as until from pg_constraint
      where conrelid = to_regclass('mirror.change_log') and conname = ${constraint} and convalidated) c
    where until::timestamptz > clock_timestamp() + interval '1 day'`.execute(db)
  return rows[0]?.until ?? null
}

/** A month boundary that no entry reaches before a month has passed, whatever clock wrote what is there. */
async function boundary(db: Kysely<unknown>): Promise<string> {
  const { rows } = await sql<{ until: string }>`
    select to_char(date_trunc('month', greatest(clock_timestamp() + interval '1 month', max(changed_at)) at time zone 'UTC')
      + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00' as until from mirror.change_log`.execute(db)
  return rows[0]?.until ?? ''
}

/** A constraint that says where the present table ends. Not validated: what is there is not read. */
async function limit(db: Kysely<unknown>): Promise<void> {
  const until = await boundary(db)
  await sql
    .raw(
      patiently(`alter table mirror.change_log drop constraint if exists ${constraint};
        alter table mirror.change_log add constraint ${constraint} check (changed_at < '${until}'::timestamptz) not valid;`),
    )
    .execute(db)
}

const isPlain = async (db: Kysely<unknown>): Promise<boolean> =>
  (await sql`select from pg_class where oid = to_regclass('mirror.change_log') and relkind = 'r'`.execute(db)).rows
    .length > 0

const validate = sql.raw(`alter table mirror.change_log validate constraint ${constraint}`)

/** Reads all of the log once, while others read and write. */
export const prepare = [
  async (db: Kysely<unknown>): Promise<void> => {
    if ((await isPlain(db)) && (await adoptedUntil(db)) === null) await limit(db)
  },
  async (db: Kysely<unknown>): Promise<void> => {
    if (await isPlain(db)) await validate.execute(db)
  },
]

/** An earlier version goes on with the table: some day it would refuse what is written. */
export async function takeBack(db: Kysely<unknown>): Promise<void> {
  if (!(await isPlain(db))) return
  await sql.raw(patiently(`alter table mirror.change_log drop constraint if exists ${constraint};`)).execute(db)
}

/** The table, and before it the views on it: who reads one has its lock first. Giving a view its owner changes nothing. */
const lockAll = patiently(`for relation in
          select distinct c.oid::regclass as name, c.relowner::regrole as owner from pg_depend d
            join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
            join pg_class c on c.oid = r.ev_class and c.relkind = 'v'
          where d.refclassid = 'pg_class'::regclass and d.refobjid = 'mirror.change_log'::regclass
        loop
          execute format('alter view %s owner to %s', relation.name, relation.owner);
        end loop;
        lock table mirror.change_log in access exclusive mode;`)

/** What stands on the table and is made again on the one that takes its name, as statements that name no table but that. */
async function standing(db: Kysely<unknown>): Promise<readonly string[]> {
  const grantee = sql`case g.grantee when 0 then 'public' else g.grantee::regrole::text end
    || case when g.is_grantable then ' with grant option' else '' end`
  const { rows } = await sql<{ statement: string }>`
    select statement from (
      select 1 as place, format('alter table mirror.change_log owner to %s', relowner::regrole) as statement
        from pg_class where oid = 'mirror.change_log'::regclass
      union all
      select 2, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'mirror.change_log'::regclass and not indisprimary
      union all
      select 3, format('grant %s on %s %s to %s', g.privilege_type, case c.relkind when 'S' then 'sequence' else 'table' end, c.oid::regclass, ${grantee})
        from pg_class c cross join aclexplode(c.relacl) g
        where c.oid in ('mirror.change_log'::regclass, pg_get_serial_sequence('mirror.change_log', 'seq')::regclass)
          and g.grantee <> c.relowner
      union all
      select 3, format('grant %s (%I) on mirror.change_log to %s', g.privilege_type, a.attname, ${grantee})
        from pg_attribute a cross join aclexplode(a.attacl) g where a.attrelid = 'mirror.change_log'::regclass
      union all
      select 4, pg_get_triggerdef(t.oid) || case t.tgenabled when 'O' then '' else format(
          '; alter table mirror.change_log %s trigger %I',
          case t.tgenabled when 'D' then 'disable' when 'R' then 'enable replica' else 'enable always' end, t.tgname) end
        from pg_trigger t where t.tgrelid = 'mirror.change_log'::regclass and not t.tgisinternal
      union all
      select 5, format('create or replace view %s%s as %s', c.oid::regclass,
          ' with (' || array_to_string(c.reloptions, ', ') || ')', pg_get_viewdef(c.oid))
        from pg_class c where c.relkind = 'v' and exists (select from pg_depend d
          join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid and r.ev_class = c.oid
          where d.refclassid = 'pg_class'::regclass and d.refobjid = 'mirror.change_log'::regclass)
    ) s order by place, statement`.execute(db)
  return rows.map(({ statement }) => statement)
}

/** As it was, with the number that the log's first table had instead of the number of what has its name now. */
const epoch = `create or replace function mirror.feed_epoch() returns bigint
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
    declare
      cluster text := '';
    begin
      if has_function_privilege('pg_catalog.pg_control_system()', 'execute')
        and has_function_privilege('pg_catalog.pg_control_checkpoint()', 'execute') then
        select s.system_identifier || '/' || c.timeline_id into cluster
        from pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c;
      end if;
      return hashtextextended(cluster || '/' || (select oid from pg_catalog.pg_database where datname = current_database())
        || '/' || (select number from sync.log_identity), 0);
    end $$`

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows: paths } = await sql<{ path: string }>`select current_setting('search_path') as path`.execute(db)
  await sql`select set_config('search_path', '', true)`.execute(db) // what Postgres writes out names its schema
  await sql.raw(lockAll).execute(db)
  if ((await adoptedUntil(db)) === null) {
    await limit(db) // a new database, or one whose preparation somebody took back
    await validate.execute(db)
  }
  const until = (await adoptedUntil(db)) ?? ''
  const { rows } = await sql<{ partition: string; next: string }>`
    select 'change_log_to_' || to_char(${until}::timestamptz at time zone 'UTC' - interval '1 month', 'YYYY_MM') as partition,
      nextval(pg_get_serial_sequence('mirror.change_log', 'seq'))::text as next`.execute(db)
  const [{ partition, next } = { partition: '', next: '' }] = rows
  const { rows: triggers } = await sql<{ statement: string }>`
    select format('drop trigger %I on mirror.change_log', tgname) as statement from pg_trigger
    where tgrelid = 'mirror.change_log'::regclass and not tgisinternal`.execute(db)
  const standingOnIt = await standing(db)
  for (const statement of [
    `create table sync.log_identity (only_row boolean primary key default true check (only_row), number bigint not null)`,
    `insert into sync.log_identity (number) values ('mirror.change_log'::regclass::oid::bigint)`,
    epoch,
    ...triggers.map(({ statement }) => statement),
    'create schema if not exists mirror_log',
    'alter table mirror.change_log alter column seq drop identity',
    'alter table mirror.change_log set schema mirror_log',
    `alter table mirror_log.change_log rename to ${partition}`,
    `create table mirror.change_log (like mirror_log.${partition} including all excluding identity excluding indexes)
      partition by range (changed_at)`,
    `alter table mirror.change_log drop constraint ${constraint}`,
    `alter table mirror.change_log alter column seq add generated always as identity (start with ${next})`,
    ...standingOnIt,
    `alter table mirror.change_log attach partition mirror_log.${partition} for values from (minvalue) to ('${until}')`,
    `alter table mirror_log.${partition} drop constraint ${constraint}`,
    // An entry of a month that has no partition is kept here: nothing that is written is ever refused.
    `create table mirror_log.change_log_default partition of mirror.change_log (primary key (seq)) default with (${autovacuum})`,
  ])
    await sql.raw(statement).execute(db)
  await sql`select set_config('search_path', ${paths[0]?.path ?? ''}, true)`.execute(db)
}
