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
  roles oid[] := array[role_id];
  member_of oid;
  found record;
  companies bigint[];
begin
  -- The keys of partners are names: in their collation neither tokens nor grants have an index.
  -- Asked for each read: in order of what it costs, and nothing that this role does not need. One member at a time: from an array,
  -- whose length a prepared plan does not know, Postgres 18 plans the look-up again each time (0.14 ms instead of 0.05).
  if pg_has_role(role_id, current_user, 'usage') then return null; end if;
  if exists (select from company_access.grants) then
    with recursive memberships (role) as (
      select role_id union select m.roleid from memberships s join pg_auth_members m on m.member = s.role
        where not exists (select from sync.access_tokens t join sync.partners p on p.partner::text collate "default" = t.role
          where p.role = m.roleid and p.cluster = company_access.cluster())
    )
    select array_agg(s.role) into roles from memberships s
      where s.role = role_id or pg_has_role(role_id, s.role, 'usage')
        or pg_has_role(role_id, s.role, case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end);
  end if;
  foreach member_of in array roles loop
    for found in
      select p.name, p.role, p.cluster, pg_get_userbyid(member_of) = p.name as same_name,
        (select t.companies from sync.access_tokens t where t.role = p.partner::text collate "default" and member_of = role_id) as of_token,
        (select g.companies from company_access.grants g where g.role = p.partner::text collate "default") as granted
      from sync.partners p where p.role = member_of or p.name = pg_get_userbyid(member_of)
    loop
      continue when found.of_token is null and found.granted is null;
      if (select r.rolbypassrls from pg_roles r where r.oid = role_id) then return null; end if;
      if found.cluster = company_access.cluster() and (found.role = role_id or exists (select from pg_roles r where r.oid = found.role)) then
        continue when found.role <> member_of;
      elsif found.same_name then
        raise exception 'Role % is refused: it is, or is a member of, a role with the name of role %, which was restricted to companies and is gone.',
          quote_ident(pg_get_userbyid(role_id)), quote_ident(found.name) using errcode = '42501',
          hint = format('An operator restricts the present role with boat-mirror access grant %1$s, or lifts the restriction with boat-mirror access revoke %1$s.', found.name);
      else
        continue;
      end if;
      companies := case when companies is null and found.granted is null then found.of_token
        else array(select c from unnest(companies || found.of_token || found.granted) c group by c order by c) end;
    end loop;
  end loop;
  return companies;
end $$;

-- The same for the caller: for the role that it has become, else for the one it logged in as. So `set role` never
-- leaves a restriction, and a session that becomes a restricted role sees what that role sees.
create or replace function company_access.visible() returns bigint[]
  language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  caller constant oid := company_access.caller();
  login constant oid := to_regrole(quote_ident(session_user));
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
