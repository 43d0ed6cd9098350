-- Row level security of restricted roles: a policy on every table of mirror and sync that not all roles may read.
-- Tables that no rule names (tables of later versions) are refused.

do $$
declare
  guarded record;
begin
  for guarded in
    select c.oid::regclass as relation, c.relname, coalesce(r.condition, format('(select company_access.refuse(%L))', c.relname)) as condition
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join (values {{rules}}) r (schema, name, condition) on r.schema = n.nspname and r.name = c.relname
    where n.nspname in ('mirror', 'sync') and c.relkind in ('r', 'p') and pg_catalog.pg_has_role(c.relowner, 'usage')
  loop
    execute format('drop policy if exists companies on %s', guarded.relation);
    if guarded.condition <> 'true' then
      execute format('drop policy if exists everyone on %s', guarded.relation);
      execute format('create policy everyone on %s using (true) with check (true)', guarded.relation);
      execute format('create policy companies on %s as restrictive for select using (%s)', guarded.relation, guarded.condition);
    end if;
  end loop;
  perform company_access.enforce();
end $$;

-- Views run with their owner's rights, and policies do not apply to the owner of the tables. So views that show rows
-- by company belong to a separate role, to which the policies apply, with the rights of the caller as everywhere.
do $$
declare
  owned text;
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'boat_mirror_views') then
    raise insufficient_privilege;
  end if;
  if not pg_catalog.pg_has_role('boat_mirror_views', 'usage') then
    execute format('grant boat_mirror_views to %I', current_user);
  end if;
  grant usage on schema sync, outbox to boat_mirror_views;
  grant usage, create on schema mirror, mirror_views, live, report to boat_mirror_views;
  grant select on sync.settings, sync.fleets, sync.records, sync.closes, sync.closed_rentals, sync.pace_days, outbox.queue,
    {{tables}} to boat_mirror_views;
  foreach owned in array {{views}} loop
    execute format('alter view %s owner to boat_mirror_views', owned);
  end loop;
  alter function report.calendar(date, date) owner to boat_mirror_views;
  alter function report.blocks() owner to boat_mirror_views;
  alter function report.currencies_of(bigint) owner to boat_mirror_views;
  alter function report.paid_in_lines(bigint) owner to boat_mirror_views;
  alter function report.since_close(text, text) owner to boat_mirror_views;
  alter function report.close_totals(text) owner to boat_mirror_views;
  revoke create on schema mirror, mirror_views, live, report from boat_mirror_views;
exception when insufficient_privilege then
  if company_access.restricts() then
    raise exception 'Roles are restricted to companies, and the views cannot be given to role boat_mirror_views, without which they show all.'
      using errcode = '42501', hint = pg_catalog.format('Run as who may: create role boat_mirror_views nologin; grant boat_mirror_views to %I', current_user);
  end if;
  raise notice 'role boat_mirror_views is of no use: % may not become it', current_user;
end $$;
