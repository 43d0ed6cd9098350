-- Takes back what default privileges (`alter default privileges`) gave to everybody and to our roles when objects of ours were
-- made. The steps after this one grant by name, so that rights are the same in every database.

do $$ declare
  given record;
begin
  for given in
    with ours (kind, name, acl) as (
      select 'n', format('schema %I', n.nspname), n.nspacl from pg_namespace n
        where n.nspname in ({{schemas}}) and pg_has_role(n.nspowner, 'usage')
      union all
      select case c.relkind when 'S' then 'S' else 'r' end,
          format('%s %s', case c.relkind when 'S' then 'sequence' else 'table' end, c.oid::regclass), c.relacl
        from pg_class c where c.relkind in ('r', 'p', 'v', 'm', 'S') and pg_has_role(c.relowner, 'usage')
          and c.relnamespace in (select oid from pg_namespace where nspname in ({{schemas}}))
      union all
      select 'f', format('routine %s', p.oid::regprocedure), p.proacl from pg_proc p where pg_has_role(p.proowner, 'usage')
          and p.pronamespace in (select oid from pg_namespace where nspname in ({{schemas}}))
    )
    select distinct o.name, a.privilege_type as privilege, case a.grantee when 0 then 'public' else a.grantee::regrole::text end as grantee
    from ours o cross join aclexplode(o.acl) a
      join pg_default_acl d on d.defaclobjtype = o.kind::"char" and pg_has_role(d.defaclrole, 'usage')
      cross join aclexplode(d.defaclacl) of_default
    where of_default.grantee = a.grantee and of_default.privilege_type = a.privilege_type
      and (a.grantee = 0 or a.grantee in (select oid from pg_roles where rolname in ({{roles}})))
  loop
    execute format('revoke %s on %s from %s', given.privilege, given.name, given.grantee);
  end loop;
end $$;
