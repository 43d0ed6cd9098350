-- Which history this database is part of: its cluster, its timeline and its place there. Nothing else computes it. A restored
-- dump, a copied folder, a promoted standby and a recovery to a point in time each start another one. Run by every migrate.
--
-- Whatever runs for each change is in PL/pgSQL, which plans it once a session. Before Postgres 18, a function in SQL that cannot be
-- inlined is planned whenever a statement calls it: 0.2 to 1 ms, a third of a change's way (npm run bench -- --only push).

-- The folder of an embedded Postgres, after which it is named (src/embedded/server.ts); null: another server.
create or replace function sync.folder() returns text
  language plpgsql stable set search_path = pg_catalog, pg_temp
  as $$ begin return substring(current_setting('cluster_name') from '^boat-mirror-([0-9a-f]+)$'); end $$;

-- Owner's rights, so that all callers find the same, whatever each of them may call. On a primary the timeline comes from the
-- position in the WAL: the control file has it only after the first checkpoint that follows a promotion. A standby continues
-- the history of its primary, and the newest entry of the log shows which that is.
create or replace function sync.history(out cluster text, out timeline bigint, out place text, out epoch bigint)
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
begin
  cluster := '';
  if has_function_privilege('pg_control_system()', 'execute') then
    cluster := (pg_control_system()).system_identifier;
  end if;
  begin
    timeline := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint;
  exception when others then -- in recovery, without the right, or on a server that has no such position
    if has_function_privilege('pg_control_checkpoint()', 'execute') then
      timeline := (pg_control_checkpoint()).timeline_id;
    end if;
  end;
  select d.oid || '/' || i.number || case when i.folder <> sync.folder() then '/' || sync.folder() else '' end into place
    from sync.log_identity i cross join pg_database d where d.datname = current_database();
  if pg_is_in_recovery() then
    select c.epoch into epoch from mirror.change_log c order by c.seq desc limit 1;
  end if;
  epoch := coalesce(epoch,
    hashtextextended(case when cluster <> '' then coalesce(cluster || '/' || timeline, '') else '' end || '/' || place, 0));
end $$;

create or replace function mirror.feed_epoch() returns bigint
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp
  as $$ begin return (sync.history()).epoch; end $$;
