-- Access restricted to companies. Run by every migrate. Our policies, views and functions call this schema; readers
-- may not use it, so that they cannot ask which company the records of others belong to.

-- The companies that a role may see: those of its access token, and of all restricted roles that it is a member of.
-- Null: it is not restricted, or bypasses row level security. A membership without rights, as Postgres 16 gives the
-- creator of a role, does not count. A token restricts only its own role: the role of `serve` is a member of it and
-- must see everything.
create or replace function company_access.of_role(role_name name) returns bigint[]
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  become constant text := case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end;
  known record;
  companies bigint[];
begin
  select r.oid, r.rolsuper or r.rolbypassrls or pg_has_role(r.oid, current_user, 'usage') as bypasses into known
    from pg_roles r where r.rolname = role_name;
  if known.bypasses is distinct from false then
    return null;
  end if;
  select t.companies into companies from sync.access_tokens t where t.role = role_name;
  -- Usually there are none: memberships are followed only for them.
  if exists (select from company_access.grants) then
    companies := companies || (
      with recursive memberships (role) as (
        select known.oid union select m.roleid from memberships s join pg_auth_members m on m.member = s.role
          where not exists (select from sync.access_tokens t where t.role = pg_get_userbyid(m.roleid))
      )
      select array_agg(distinct of_grant.company)
      from memberships s join company_access.grants g on g.role = pg_get_userbyid(s.role)
        cross join unnest(g.companies) of_grant (company)
      where pg_has_role(known.oid, s.role, 'usage') or pg_has_role(known.oid, s.role, become));
  end if;
  return companies;
end $$;

-- The same for the caller: for the role that it has become, else for the one it logged in as. So `set role` never
-- leaves a restriction, and a session that becomes a restricted role sees what that role sees.
create or replace function company_access.visible() returns bigint[]
  language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce(company_access.of_role(nullif(current_setting('role'), 'none')::name), company_access.of_role(session_user));
end $$;

-- The caller, unless its access is restricted. Asked as `is not null`, which the planner takes to hold of nearly every row: it
-- plans as if there were no restriction.
create or replace function company_access.unrestricted_role() returns text
  language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  return case when company_access.visible() is null then mirror.caller() end;
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
    quote_ident(mirror.caller()), array_to_string(companies, ', '), what using errcode = '42501';
end $$;

-- The companies of records, for what hangs below them.
{{lookups}}

-- True while any role is restricted.
create or replace function company_access.restricts() returns boolean
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return exists (select from company_access.grants) or exists (select from sync.access_tokens
    where companies is not null and (revoked_at is null or to_regrole(quote_ident(role)) is not null));
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

-- Policies and views call them for every reader.
grant execute on all functions in schema company_access to public;
