-- Upgrades a database that a Boat Mirror before the first release migrated. Run it once, with psql and the role that runs `migrate`:
--
--   psql "$DATABASE_URL" -f upgrade-to-baseline.sql        the embedded database: boat-mirror db psql < upgrade-to-baseline.sql
--
-- Before: stop all workers and commands, and back up. After: `boat-mirror migrate` of the new version.
--
-- It replaces the list of 18 migrations with the one that makes the same tables. Everything else stays as it is. It is one
-- statement, so one transaction. On an upgraded database it does nothing.

\set ON_ERROR_STOP on
\set SHOW_CONTEXT never

do $upgrade$
declare
  expected constant text[] := array[
    '0001_baseline', '0002_quota', '0003_privacy', '0004_decisions', '0005_webhook_deliveries', '0006_freshness',
    '0007_privacy_apply', '0008_access', '0009_requests', '0010_servers', '0011_history', '0012_outbox_history', '0013_order',
    '0014_api', '0015_partners', '0016_moments', '0017_replica_identity', '0018_fields'
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
  if '0001_schemas' = any (applied) then
    raise info 'Database % is upgraded already. Nothing was changed.', current_database();
    return;
  end if;
  missing := array(select name from unnest(expected) name where name <> all (applied) order by name);
  unknown := array(select name from unnest(applied) name where name <> all (expected) order by name);
  if missing <> '{}' then
    raise exception 'The schema is older than this upgrade expects: % missing. Nothing was changed.', array_to_string(missing, ', ')
      using hint = 'Run `boat-mirror migrate` of the last version before the first release, then this upgrade again.';
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

  delete from sync.migrations;
  insert into sync.migrations (name, timestamp)
    values ('0001_schemas', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
  raise info 'Database % is upgraded. Now run `boat-mirror migrate` of the new version.', current_database();
end $upgrade$;
