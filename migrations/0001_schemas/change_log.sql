-- mirror.change_log: one entry for each change of a row of the mirror, in a partition for each month of `changed_at`. Retention
-- drops a month at once, and what vacuum and the indexes have to do with hundreds of millions of entries is done for the newest
-- month alone. The partitions have a schema of their own: in that of the mirror stands what people read.
--
-- A reader that polled `seq > last` would lose what commits late, so the feed goes by (transaction id, seq) and stops below the
-- oldest running transaction. Transaction ids mean something in one cluster only: each entry carries the epoch it was written in.

create schema if not exists mirror_log;

-- Owner's rights, so that writer and reader always find the same epoch, whatever each of them may call. The timeline changes with
-- a recovery to a point in time, which would use transaction ids a second time.
create function mirror.feed_epoch() returns bigint
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
    declare
      cluster text := '';
    begin
      if has_function_privilege('pg_catalog.pg_control_system()', 'execute')
        and has_function_privilege('pg_catalog.pg_control_checkpoint()', 'execute') then
        select s.system_identifier || '/' || c.timeline_id into cluster
        from pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c;
      end if;
      return hashtextextended(cluster || '/' || (select oid from pg_catalog.pg_database where datname = current_database())
        || '/' || (select number from sync.log_identity), 0);
    end $$;

-- `seq` is unique by its sequence, and by a primary key of each partition: one of the whole would need `changed_at`.
create table mirror.change_log (
  seq bigint not null generated always as identity,
  epoch bigint not null default mirror.feed_epoch(),
  xid xid8 not null default pg_current_xact_id(),
  stream text not null,
  key jsonb not null,
  operation text not null check (operation in ('insert', 'update', 'delete')),
  changed_at timestamptz not null default clock_timestamp(),
  diff jsonb not null,
  whole boolean not null default true
) partition by range (changed_at);
create index change_log_feed on mirror.change_log (epoch, xid, seq);
create index change_log_key on mirror.change_log using hash (key);
-- Which rentals ever held a person: needed when the person is erased.
create index change_log_rental_former_user on mirror.change_log ((diff -> 'user_id' -> 0))
  where stream = 'rentals' and diff -> 'user_id' -> 0 <> 'null';
create index change_log_rental_user on mirror.change_log ((diff -> 'user_id' -> 1))
  where stream = 'rentals' and diff ? 'user_id';
-- What is counted at the end of each sweep, or when a record turns out to be gone, without reading its whole table.
create index change_log_deletes on mirror.change_log (stream, changed_at) where operation = 'delete';

insert into sync.log_identity (number) values ('mirror.change_log'::regclass::oid::bigint);

-- An entry of a month that has no partition is kept here: nothing that is written is ever refused. The log only grows and is
-- read along its indexes: what is not vacuumed is not visible to them without the rows.
create table mirror_log.change_log_default partition of mirror.change_log (primary key (seq)) default
  with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02);

-- The first one begins at no time, whatever clock writes, and ends with the next month; the others are made before they begin
-- (src/mirror/log-months.sql).
do $$
declare
  last_month constant timestamp := date_trunc('month', now() at time zone 'UTC') + interval '1 month';
begin
  execute format('create table mirror_log.%I partition of mirror.change_log (primary key (seq))
      for values from (minvalue) to (%L)
      with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02)',
    'change_log_to_' || to_char(last_month, 'YYYY_MM'),
    to_char(last_month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00');
end $$;
