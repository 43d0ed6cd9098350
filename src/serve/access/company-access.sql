-- Access restricted to companies. Run by every migrate. Our policies, views and functions call this schema; readers
-- may not use it, so that they cannot ask which company the records of others belong to.

-- The companies that a role may see: those of its access token, and of all restricted roles that it is a member of.
-- Null: it is not restricted, or bypasses row level security. A membership without rights, as Postgres 16 gives the
-- creator of a role, does not count. A token restricts only its own role: the role of `serve` is a member of it and
-- must see everything. A restriction also holds for the name of a role that is gone, or that was not found yet after a
-- restore: another role of this name, which might see more, is refused.
create or replace function company_access.of_role(role_id oid) returns bigint[]
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  become constant text := case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end;
  here text;
  companies bigint[];
  refused name;
begin
  -- Usually nothing is restricted: memberships are followed only where something is.
  if not company_access.restricts() or (select r.rolsuper or r.rolbypassrls or pg_has_role(r.oid, current_user, 'usage')
      from pg_roles r where r.oid = role_id) is distinct from false then
    return null;
  end if;
  here := company_access.cluster();
  with recursive memberships (role) as (
    select role_id union select m.roleid from memberships s join pg_auth_members m on m.member = s.role
      where not exists (select from sync.access_tokens t join sync.partners p on p.partner = t.role
        where p.role = m.roleid and p.cluster = here)
  )
  select array_agg(distinct of_grant.company), min(case when l.oid is null then p.name end) into companies, refused
  from memberships s join pg_roles m on m.oid = s.role join sync.partners p on p.role = m.oid or p.name = m.rolname
    left join pg_roles l on l.oid = p.role and p.cluster = here
    cross join lateral (select g.companies from company_access.grants g where g.role = p.partner
      union all select t.companies from sync.access_tokens t where t.role = p.partner and s.role = role_id) restriction
    cross join unnest(restriction.companies) of_grant (company)
  where (l.oid = m.oid or l.oid is null and p.name = m.rolname)
    and (s.role = role_id or pg_has_role(role_id, s.role, 'usage') or pg_has_role(role_id, s.role, become));
  if refused is not null then
    raise exception 'Role % is refused: it is, or is a member of, a role with the name of role %, which was restricted to companies and is gone.',
      quote_ident(pg_get_userbyid(role_id)), quote_ident(refused) using errcode = '42501',
      hint = format('An operator restricts the present role with boat-mirror access grant %1$s, or lifts the restriction with boat-mirror access revoke %1$s.', refused);
  end if;
  return companies;
end $$;

-- The same for the caller: for the role that it has become, else for the one it logged in as. So `set role` never
-- leaves a restriction, and a session that becomes a restricted role sees what that role sees.
create or replace function company_access.visible() returns bigint[]
  language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  caller constant oid := company_access.caller();
  login constant oid := (select r.oid from pg_roles r where r.rolname = session_user);
begin
  return coalesce(company_access.of_role(caller), case when login <> caller then company_access.of_role(login) end);
end $$;

-- The caller, unless its access is restricted. Asked as `is not null`, which the planner takes to hold of nearly every row: it
-- plans as if there were no restriction.
create or replace function company_access.unrestricted_role() returns text
  language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  return case when company_access.visible() is null then session_user end;
end $$;

-- True, or an exception for a restricted caller.
create or replace function company_access.refuse(what text) returns boolean
  language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  companies constant bigint[] := company_access.visible();
begin
  if companies is null then
    return true;
  end if;
  raise exception 'Role % sees only companies %, and nothing of %: this cannot be divided by company.',
    quote_ident(pg_get_userbyid(company_access.caller())), array_to_string(companies, ', '), what using errcode = '42501';
end $$;

-- The companies of records, for what hangs below them.
{{lookups}}

-- True while any role is restricted.
create or replace function company_access.restricts() returns boolean
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return exists (select from company_access.grants) or exists (select from sync.access_tokens
    t where t.companies is not null and (t.revoked_at is null
      or exists (select from sync.partners p join pg_roles r on r.oid = p.role where p.partner = t.role)));
end $$;

-- Switches row level security on while any role is restricted, and off when it serves nothing else, so that a mirror
-- without restrictions pays nothing. Call it with the table of grants locked.
create or replace function company_access.enforce() returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  wanted constant boolean := company_access.restricts();
  guarded record;
begin
  for guarded in
    select c.oid::regclass as relation from pg_policy p join pg_class c on c.oid = p.polrelid
    where p.polname = 'companies' and c.relrowsecurity <> wanted
      and (wanted or not exists (select from pg_policy other
        where other.polrelid = c.oid and other.polname not in ('companies', 'everyone')))
    order by c.relname
  loop
    execute format('alter table %s %s row level security', guarded.relation, case when wanted then 'enable' else 'disable' end);
  end loop;
end $$;
