-- Partners: a partner is a role, not its name. Rows that a partner owns name it by a key (sync.partners.partner), which stays when the
-- role is renamed, and which no other role ever gets. Everything that asks who calls asks here. Run by every migrate.

-- The cluster that numbers of roles belong to, as in sync.history, which catches errors: readers in parallel workers cannot call that.
-- Where it is not to be known, the database: a dump of it may be anywhere.
create or replace function company_access.cluster() returns text
  language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  if has_function_privilege('pg_control_system()', 'execute') then
    return (pg_control_system()).system_identifier;
  end if;
  return (select d.oid || '/' || i.number from sync.log_identity i cross join pg_database d where d.datname = current_database());
end $$;

-- The role that calls: the one that the session has become, else the one that it logged in as. current_user would be the owner of
-- the function that asks. The setting keeps the name that was given to `set role`, which another role may have by now.
create or replace function company_access.caller() returns oid
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  become constant text := case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end;
  given constant name := nullif(current_setting('role', true), 'none');
  role constant oid := to_regrole(quote_ident(coalesce(given, session_user)));
begin
  if role is null or given is not null and not pg_has_role(session_user, role, become) then
    raise exception 'This session became role %, which was renamed or dropped since, or which it may not become any more.',
      quote_ident(coalesce(given, session_user)) using errcode = '42501', hint = 'Set the role again, by its present name.';
  end if;
  return role;
end $$;

-- The key of the partner that calls. A role that owns nothing yet will get its name as key, unless that is taken: then '', nobody's.
create or replace function company_access.partner() returns name
  language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  caller constant oid := company_access.caller();
begin
  return coalesce(
    (select p.partner from sync.partners p where p.role = caller and p.cluster = (select company_access.cluster())),
    (select r.rolname from pg_roles r where r.oid = caller
       and not exists (select from sync.partners p where p.partner = r.rolname)), '');
end $$;

-- The present name of a partner's role; of one that is gone, its last.
create or replace function company_access.name_of(partner name) returns name
  language sql stable security definer set search_path = pg_catalog, pg_temp
  as $$ select {{name}} $$;

-- Notices which roles have another name and which are gone. In another cluster, each partner is bound once to the role of its name, as
-- soon as there is one; a partner whose role was gone before is bound to none. From then on a partner without a role here has null.
create or replace function company_access.notice_roles() returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  here constant text := company_access.cluster();
  found_here record;
begin
  update sync.partners p set name = coalesce(r.rolname, p.name), role = r.oid, gone_at = case when r.oid is null then clock_timestamp() end
    from sync.partners k left join pg_roles r on r.oid = k.role
    where k.partner = p.partner and p.cluster = here and p.gone_at is null and r.rolname is distinct from p.name;
  update sync.partners p set role = null where p.cluster <> here and p.role is not null;
  for found_here in select p.partner, r.oid as role from sync.partners p join pg_roles r on r.rolname = p.name
      where p.gone_at is null and p.cluster is distinct from here order by p.partner loop
    update sync.partners p set cluster = here, role = n.role, gone_at = case when n.role is null then clock_timestamp() end
      from (select case when not exists (select from sync.partners o where o.role = found_here.role and o.cluster = here)
        then found_here.role end as role) n
      where p.partner = found_here.partner and p.gone_at is null and p.cluster is distinct from here;
  end loop;
  -- A token only keeps to its name: `access token list` says how to make its role again. What the former one owns stays its own.
  insert into sync.partners (partner, name, role, cluster) select gen_random_uuid()::text, r.rolname, r.oid, here
    from sync.access_tokens t join sync.partners p on p.partner = t.role and p.role is null join pg_roles r on r.rolname = p.name
    where t.revoked_at is null on conflict do nothing;
  update sync.access_tokens t set role = n.partner from sync.partners p join sync.partners n on n.name = p.name and n.role is not null
    where p.partner = t.role and p.role is null and t.revoked_at is null;
end $$;

-- The key of a role's partner, for what it will own.
create or replace function company_access.registered(role_id oid default company_access.caller()) returns name
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  here constant text := company_access.cluster();
  new_key name;
  known name;
begin
  select p.partner into known from sync.partners p where p.role = role_id and p.cluster = here;
  if found then return known; end if;
  foreach new_key in array array[(select r.rolname from pg_roles r where r.oid = role_id), gen_random_uuid()::text] loop
    perform company_access.notice_roles();
    insert into sync.partners (partner, name, role, cluster)
      select new_key, r.rolname, r.oid, here from pg_roles r where r.oid = role_id on conflict do nothing;
    select p.partner into known from sync.partners p where p.role = role_id and p.cluster = here;
    exit when found;
  end loop;
  return known;
end $$;

create or replace function sync.decide_hand_over(gone name, heir name, who text, via text) returns bigint
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  heir_id constant oid := (select r.oid from pg_roles r where r.rolname = heir);
  heir_key name;
  gone_key name;
  noted bigint;
begin
  perform company_access.refuse('decisions about roles');
  perform company_access.notice_roles();
  if not exists (select from sync.partners p where p.name = gone and p.role is null) then
    raise exception 'No role % is gone.', coalesce(quote_ident(gone), 'null') using errcode = 'P0002',
      hint = 'Only what a role left that was dropped can be handed over. boat-mirror status names these roles.';
  elsif heir_id is null then
    raise exception 'There is no role %.', coalesce(quote_ident(heir), 'null') using errcode = 'P0002', hint = 'Create it first, or name another role.';
  end if;
  heir_key := company_access.registered(heir_id);
  noted := sync.note_decision('hand_over', 'role:' || gone, gen_random_uuid()::text, null, who, via, false);
  for gone_key in select p.partner from sync.partners p where p.name = gone and p.role is null order by p.gone_at desc nulls first loop
    -- A reference names one change of a role: the one that the role itself queued.
    update outbox.queue q set enqueued_by = heir_key, reference = case when not exists (
        select from outbox.queue o where o.enqueued_by = heir_key and o.reference = q.reference) then q.reference end
      where q.enqueued_by = gone_key;
    update sync.consumer_positions c set role = heir_key where c.role = gone_key;
  end loop;
  perform pg_notify('boat_mirror_outbox', '');
  return noted;
end $$;
comment on function sync.decide_hand_over(name, name, text, text) is
  'Carries out sync.hand_over, in the name of the caller or of the given name.';

create or replace function sync.hand_over(gone name, heir name) returns bigint
  language sql volatile security definer set search_path = pg_catalog, pg_temp
  as $$ select sync.decide_hand_over(gone, heir, null, null) $$;
comment on function sync.hand_over(name, name) is
  'Hands what a role left that is gone (changes, references, consumers of the feed) to another role, which may have the same name. Restrictions to companies stay as they are. Returns sync.decisions.id.';

revoke all on function sync.decide_hand_over(name, name, text, text), sync.hand_over(name, name) from public;
