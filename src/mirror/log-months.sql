-- The months of the change log: created before they begin, dropped when they are old; log-months.ts has the reasons.
-- Run by every migrate, for the owner of the log.

-- All but the default; the first one begins at no time.
create or replace function mirror.log_partitions() returns table (partition regclass, begins timestamptz, ends timestamptz)
  language sql stable set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO'
  as $$
    select i.inhrelid::regclass, substring(bound from 'FROM \(''([^'']+)''')::timestamptz,
      substring(bound from 'TO \(''([^'']+)''')::timestamptz
    from pg_inherits i join pg_class c on c.oid = i.inhrelid cross join pg_get_expr(c.relpartbound, c.oid) bound
    where i.inhparent = 'mirror.change_log'::regclass and bound <> 'DEFAULT'
  $$;

-- Creates the next missing partition, of this month and the two that follow. A month with entries in the default
-- partition stays there. False: nothing to create, or another worker is creating it.
create or replace function mirror.make_log_month() returns boolean
  language plpgsql set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  month timestamptz;
  name text;
begin
  if not pg_try_advisory_xact_lock(hashtext('boat-mirror.log-months')) then
    return false;
  end if;
  -- Shorter than deadlock_timeout: it is never a writer that gives way.
  perform set_config('lock_timeout', '500ms', true);
  for month in
    select m from generate_series(date_trunc('month', now()), date_trunc('month', now()) + interval '2 months', interval '1 month') m
    where not exists (select from mirror.log_partitions() p where m >= coalesce(p.begins, '-infinity') and m < p.ends)
      and not exists (select from mirror_log.change_log_default d where d.changed_at >= m and d.changed_at < m + interval '1 month')
    order by m limit 1
  loop
    name := 'change_log_' || to_char(month, 'YYYY_MM');
    -- Only attaching it blocks other transactions.
    execute format('create table mirror_log.%I (like mirror.change_log including all excluding identity excluding indexes,
      primary key (seq)) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02)', name);
    execute format('alter table mirror.change_log attach partition mirror_log.%I for values from (%L) to (%L)',
      name, month, month + interval '1 month');
    return true;
  end loop;
  return false;
end $$;

-- Drops a partition, and marks as lost the consumers with unacknowledged entries in it. False, and nothing is done,
-- while another partition has the first entry of a record with later entries in this one, which can happen after a
-- clock was set back: first entries are completed from later ones (feed.ts).
create or replace function mirror.drop_log_month(month regclass) returns boolean
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  entries constant text := 'select epoch, xid, seq, stream, key, whole from %s';
  going constant text := format(entries, month);
  staying constant text := (select string_agg(format(entries, i.inhrelid::regclass), ' union all ') from pg_inherits i
    where i.inhparent = 'mirror.change_log'::regclass and i.inhrelid <> month);
  apart boolean;
begin
  perform set_config('lock_timeout', '500ms', true);
  execute format('select not exists (select from (%s) s where not s.whole and s.seq < (select max(seq) from (%s) g)
      and exists (select from (%2$s) g where g.key = s.key and g.stream = s.stream and g.seq > s.seq))', staying, going)
    into apart;
  if not apart then
    return false;
  end if;
  lock table mirror.change_log in access exclusive mode;
  -- Each of these is one index lookup.
  execute format('update sync.consumer_positions c set lost = true where not c.lost and (
      c.epoch is null and exists (select from (%s) g)
      or exists (select from (%1$s) g where g.epoch = c.epoch and (g.xid, g.seq) > (c.xid, c.seq))
      or exists (select from (%1$s) g where g.epoch < c.epoch and g.seq > c.seq)
      or exists (select from (%1$s) g where g.epoch > c.epoch and g.seq > c.seq))', going);
  execute format('drop table %s', month);
  return true;
end $$;
