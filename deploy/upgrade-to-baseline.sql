-- Upgrades a database that was migrated by a Boat Mirror before 1.0.0-rc.1. Run it once, with psql and the role that runs `migrate`:
--
--   psql "$DATABASE_URL" -f upgrade-to-baseline.sql        the embedded database: boat-mirror db psql < upgrade-to-baseline.sql
--
-- Before: stop all workers and commands, and back up. After: `boat-mirror migrate` of the new version.
--
-- It replaces the list of 33 migrations with the baseline that they lead to, adds two indexes, and drops two tables and a column
-- that are no longer used. The mirror, the outbox, the change log, consumers, grants and everything you built on them stay as
-- they are. It is one statement, so one transaction: it does all of this, or nothing and says why. On an upgraded database it
-- does nothing.

\set ON_ERROR_STOP on
\set SHOW_CONTEXT never

do $upgrade$
declare
  expected constant text[] := array[
    '0001_sync', '0002_mirror', '0002_mirror_change_log', '0003_outbox', '0004_reports', '0005_traffic',
    '0006_outbox_seen', '0007_outbox_visibility', '0008_change_log_whole', '0009_consumers', '0010_hot_runs',
    '0011_list_pages', '0012_reads', '0013_unexpected_changes', '0014_senders', '0015_detail_tags',
    '0016_refreshes', '0017_live', '0018_workers', '0019_turns', '0020_sweep_ranges', '0021_alerts',
    '0022_row_changes', '0023_autovacuum', '0024_running_runs', '0025_portions', '0026_company_access',
    '0027_log_sender', '0028_status_since', '0029_request_budget', '0030_change_log_months', '0031_status_at_size',
    '0032_index_of_unsettled'
  ];
  applied text[];
  missing text[];
  unknown text[];
  running text;
begin
  if to_regclass('sync.migrations') is null then
    raise exception 'Database % was not migrated by Boat Mirror.', current_database()
      using hint = 'Check the address. A new database needs `boat-mirror migrate` only.';
  end if;

  perform pg_advisory_xact_lock(7030520240801); -- of `migrate`: nobody else migrates meanwhile
  applied := array(select name::text from sync.migrations);
  if '0001_baseline' = any (applied) then
    raise info 'Database % is upgraded already. Nothing was changed.', current_database();
    return;
  end if;
  missing := array(select name from unnest(expected) name where name <> all (applied) order by name);
  unknown := array(select name from unnest(applied) name where name <> all (expected) order by name);
  if missing <> '{}' then
    raise exception 'The schema is older than this upgrade expects: % missing. Nothing was changed.', array_to_string(missing, ', ')
      using hint = 'Run `boat-mirror migrate` of the last version before 1.0.0-rc.1, then this upgrade again.';
  end if;
  if unknown <> '{}' then
    raise exception 'The schema has migrations that this upgrade does not know: %. Nothing was changed.', array_to_string(unknown, ', ')
      using hint = 'Use the version of Boat Mirror that made them.';
  end if;

  select string_agg(format('process %s on %s, seen %s', pid, host, to_char(seen_at, 'YYYY-MM-DD HH24:MI:SS TZ')), '; ')
    into running from sync.workers where seen_at > clock_timestamp() - interval '1 minute';
  if running is not null then
    raise exception 'A worker runs (%). Nothing was changed.', running
      using hint = 'Stop all workers, then run this upgrade again: at once, or a minute after a killed worker was last seen.';
  end if;

  -- What other people built on an unused table keeps it.
  begin
    drop table if exists sync.rate_limit;
  exception when dependent_objects_still_exist then
    raise info 'sync.rate_limit stays, because something of yours depends on it. Boat Mirror does not use it.';
  end;
  begin
    alter table sync.streams drop column if exists planned_to;
  exception when dependent_objects_still_exist then
    raise info 'sync.streams.planned_to stays, because something of yours depends on it. Boat Mirror does not use it.';
  end;
  create index if not exists records_read on sync.records (stream, (get_byte(decode(md5(key), 'hex'), 0) & 31), detail_read_at)
    where detail_read_at is not null;
  create index if not exists rentals_arrival on mirror.rentals (arrival_datetime) where _deleted_at is null;
  drop table if exists sync.migrations_lock;
  delete from sync.migrations;
  insert into sync.migrations (name, timestamp)
    values ('0001_baseline', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
  raise info 'Database % is upgraded. Now run `boat-mirror migrate` of the new version.', current_database();
end $upgrade$;
