// What others have built on the change log, and what of it cannot be made again on its partitions: named before anything is
// changed, each with the statement that takes it away.

import type { Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'

/** From this migration on the log has partitions. */
const partitioned = '0030_change_log_months'

/**
 * Grants, views, indexes and triggers are made again. The rest depends on what a partitioned table is not: one row type with
 * one unique number, and published by its own name.
 */
const inTheWayQuery = `with log as (select to_regclass('mirror.change_log')::oid as oid),
  known as (
    -- What names the table or its row type, but for views and for what is part of it
    select d.classid, d.objid, d.objsubid from log join pg_class c using (oid)
      join pg_depend d on d.deptype = 'n' and (d.refclassid, d.refobjid) in
        (('pg_class'::regclass, c.oid), ('pg_type'::regclass, c.reltype))
      where not exists (select from pg_rewrite r join pg_class v on v.oid = r.ev_class and v.relkind = 'v'
        where d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
          and pg_has_role(v.relowner, 'usage'))
        and not exists (select from pg_constraint k where d.classid = 'pg_constraint'::regclass and k.oid = d.objid and k.conrelid = c.oid)
        and not exists (select from pg_trigger t where d.classid = 'pg_trigger'::regclass and t.oid = d.objid)
        and not exists (select from pg_attrdef a where d.classid = 'pg_attrdef'::regclass and a.oid = d.objid and a.adrelid = c.oid)
    union select 'pg_constraint'::regclass, c.oid, 0 from pg_constraint c join log on c.conrelid = log.oid
      where c.contype in ('f', 'u', 'x') or (c.contype = 'c' and not c.convalidated and c.conname <> 'change_log_adopted')
    union select 'pg_class'::regclass, i.indexrelid, 0 from pg_index i join log on i.indrelid = log.oid
      where not i.indisprimary and (i.indisunique or not i.indisvalid)
        and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
    union select 'pg_trigger'::regclass, t.oid, 0 from pg_trigger t join log on t.tgrelid = log.oid
      where not t.tgisinternal and t.tgtype & 1 = 1 and coalesce(t.tgoldtable, t.tgnewtable) is not null
    union select 'pg_rewrite'::regclass, r.oid, 0 from pg_rewrite r join log on r.ev_class = log.oid
    union select 'pg_policy'::regclass, p.oid, 0 from pg_policy p join log on p.polrelid = log.oid
      where p.polname not in ('everyone', 'companies') -- ours, and made again
    union select 'pg_publication_rel'::regclass, p.oid, 0 from pg_publication_rel p join log on p.prrelid = log.oid
  )
  select distinct case
      -- A view is known by its rule, and a column's type by its table
      when view.kind is not null then format('drop %s %s', view.kind, view.name)
      when o.type = 'table column' then format('alter table %I.%I drop column %I', a.object_names[1], a.object_names[2], a.object_names[3])
      when o.type like '%constraint' then format('alter table %s drop constraint %s', split_part(o.identity, ' on ', 2), split_part(o.identity, ' on ', 1))
      when o.type = 'publication relation' then format('alter publication %s drop table mirror.change_log', split_part(o.identity, ' in publication ', 2))
      else format('drop %s %s', o.type, o.identity) end as statement
  from known cross join pg_identify_object(classid, objid, objsubid) o
    cross join pg_identify_object_as_address(classid, objid, objsubid) a
    left join (select r.oid, case v.relkind when 'm' then 'materialized view' else 'view' end as kind, v.oid::regclass as name
      from pg_rewrite r join pg_class v on v.oid = r.ev_class and v.relkind in ('v', 'm')) view
      on classid = 'pg_rewrite'::regclass and view.oid = objid
  union
  select format('alter publication %I set (publish_via_partition_root = true)', p.pubname)
    from pg_publication p, log, pg_publication_tables t
    where t.pubname = p.pubname and t.schemaname = 'mirror' and t.tablename = 'change_log' and not p.pubviaroot
      and not exists (select from pg_publication_rel r where r.prpubid = p.oid and r.prrelid = log.oid)
  union
  select 'alter table mirror.change_log disable row level security'
    from log join pg_class c using (oid) where c.relrowsecurity
      and not exists (select from pg_policy p where p.polrelid = log.oid and p.polname = 'companies')
  order by 1`

/**
 * Can the change log become the first partition of the one that takes its name?
 * @param pending the migrations that are still to be applied.
 * @throws BoatMirrorError DATABASE_SCHEMA that names what is in the way.
 */
export async function assertLogMovable(db: Queryable, pending: readonly string[]): Promise<void> {
  if (!pending.includes(partitioned)) return
  const { rows } = await db.query<{ statement: string }>(inTheWayQuery)
  if (rows.length === 0) return
  throw new BoatMirrorError(
    'DATABASE_SCHEMA',
    `mirror.change_log gets partitions, on which ${rows.length === 1 ? 'this' : 'these'} of yours cannot stay as it is. Nothing was changed.`,
    {
      remedy: `Keep its definition, run: ${rows.map(({ statement }) => statement).join('; ')}; then boat-mirror migrate, and make again what you need of it.`,
    },
  )
}
