-- Consumers of the feed: who reads it, and how far each has acknowledged; consumers.ts has the reasons. Run by every
-- migrate. Functions for partners run with their owner's rights: partners may not write the table.

-- The consumer of this name if the calling role may use it; null where there is none of this name.
create or replace function mirror.own_consumer(consumer text) returns sync.consumer_positions
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  caller constant oid := company_access.caller();
  known sync.consumer_positions;
begin
  select * into known from sync.consumer_positions c where c.name = consumer;
  if known.role <> company_access.partner() and not has_table_privilege(caller, 'sync.consumer_positions', 'update') then
    raise exception 'Consumer % belongs to role %, but % called.', consumer, quote_ident(company_access.name_of(known.role)),
      quote_ident(pg_get_userbyid(caller)) using errcode = '42501', hint = 'What a role left that was dropped, an operator hands over with: boat-mirror access hand-over GONE ROLE.';
  end if;
  return known;
end $$;

-- The same of one that is there and has lost nothing.
create or replace function mirror.following_consumer(consumer text) returns sync.consumer_positions
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  known constant sync.consumer_positions := mirror.own_consumer(consumer);
begin
  if known.name is null then
    raise exception 'There is no consumer %. mirror.next_changes and mirror.reset_consumer register one.',
      coalesce(quote_literal(left(consumer, 100)), 'null') using errcode = '22023';
  end if;
  if known.lost then
    raise exception 'Consumer % is lost: changes that it had not acknowledged were older than HISTORY_DAYS and are gone. To start again: select mirror.reset_consumer(''%'', ''now''), then copy the tables it needs. Or start from what the log still has: select mirror.reset_consumer(''%'').',
      consumer, consumer, consumer using errcode = '55000';
  end if;
  return known;
end $$;

create or replace function mirror.register_consumer(consumer text) returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  if consumer is null or consumer !~ '^[A-Za-z0-9._:-]{1,63}$' then
    raise exception 'The name of the consumer is %. It must have 1 to 63 letters, digits, and . _ : -',
      coalesce(quote_literal(left(consumer, 100)), 'null') using errcode = '22023';
  end if;
  if current_setting('transaction_read_only') = 'on' then
    raise exception 'There is no consumer % yet, and a read-only transaction cannot register it. Call mirror.next_changes once in a transaction that may write.',
      consumer using errcode = '25006';
  end if;
  insert into sync.consumer_positions (name, role) values (consumer, company_access.registered()) on conflict do nothing;
end $$;

-- The place of a cursor. Retention waits for it until the transaction ends.
create or replace function mirror.given_position(cursor_text text, out epoch bigint, out xid xid8, out seq bigint)
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  this_epoch constant bigint := mirror.feed_epoch();
  parts constant text[] := mirror.cursor_parts(coalesce(cursor_text, ''));
begin
  select this_epoch, parts[2]::xid8, c.seq into epoch, xid, seq from mirror.change_log c
    where c.seq = parts[3]::bigint and parts[1] = this_epoch::text
      and coalesce(parts[4] = mirror.cursor_mark(c.seq, c.xid, c.changed_at, c.key), true)
      and case when parts[2] = '0' then c.epoch <> this_epoch else c.epoch = this_epoch
        and c.xid = parts[2]::xid8 and c.xid < pg_snapshot_xmin(pg_current_snapshot()) end
    for key share;
  if not found then
    raise exception 'The cursor is %. It must be one that this log issued and still has.', quote_literal(cursor_text)
      using errcode = '22023';
  end if;
end $$;

create or replace function mirror.next_changes(consumer text, max_rows int default 1000)
  returns table (cursor text, seq bigint, stream text, key jsonb, operation text, changed_at timestamptz, diff jsonb)
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  known sync.consumer_positions;
  passed text;
begin
  -- A reader that reads, applies and acknowledges in one transaction must be the only one of this name until it ends.
  perform pg_advisory_xact_lock(hashtextextended('boat-mirror consumer ' || consumer, 0));
  known := mirror.own_consumer(consumer);
  if known.name is null then
    perform mirror.register_consumer(consumer);
  end if;
  known := mirror.following_consumer(consumer);
  -- What a restricted role is not shown is read once, and does not make its consumer late or lost.
  passed := case when company_access.visible() is not null and current_setting('transaction_read_only') = 'off' then mirror.last_cursor() end;
  return query select * from mirror.read_change_log('1.' || known.epoch || '.' || known.xid || '.' || known.seq, max_rows);
  if not found and passed is not null then
    perform mirror.ack_changes(consumer, passed);
  end if;
end $$;

create or replace function mirror.ack_changes(consumer text, cursor text) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  place record;
begin
  perform mirror.following_consumer(consumer);
  place := mirror.given_position(cursor);
  update sync.consumer_positions c
    set epoch = place.epoch, xid = place.xid, seq = place.seq, acked_at = clock_timestamp()
    where c.name = consumer
      and (c.epoch is distinct from place.epoch or (c.xid, c.seq) < (place.xid, place.seq));
end $$;

create or replace function mirror.reset_consumer(consumer text, cursor text default null) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  known constant sync.consumer_positions := mirror.own_consumer(consumer);
  wanted constant text := case cursor when 'now' then mirror.last_cursor() when 'start' then null else cursor end;
  place sync.consumer_positions;
begin
  if known.name is null then
    perform mirror.register_consumer(consumer);
  end if;
  if wanted is not null then
    select p.epoch, p.xid, p.seq into place.epoch, place.xid, place.seq from mirror.given_position(wanted) p;
  end if;
  update sync.consumer_positions c set epoch = place.epoch, xid = place.xid, seq = place.seq, lost = false
    where c.name = consumer;
end $$;

create or replace function mirror.drop_consumer(consumer text) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  known constant sync.consumer_positions := mirror.own_consumer(consumer);
begin
  if known.name is null then
    raise exception 'There is no consumer %. List them with: select name from sync.consumers.',
      coalesce(quote_literal(left(consumer, 100)), 'null') using errcode = '22023';
  end if;
  delete from sync.consumer_positions c where c.name = known.name;
end $$;

-- When the first change after a cursor was written; null for a restricted role. The view sync.consumers calls it for roles that may not read the
-- feed: it runs with its owner's rights, and any role may call it.
create or replace function mirror.waiting_since(cursor_text text) returns timestamptz
  language sql stable security definer set search_path = pg_catalog, pg_temp
  as $$ select changed_at from mirror.positions_after($1, 1) where (select company_access.visible()) is null $$;

-- Marks consumers as lost when entries they had not acknowledged are deleted. Entries of other epochs were given
-- before or come later; within an epoch the numbers decide.
create or replace function mirror.mark_lost_consumers() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update sync.consumer_positions c set lost = true
    where not c.lost and exists (select from gone g
      where case when g.epoch = c.epoch then (g.xid, g.seq) > (c.xid, c.seq) else g.seq > coalesce(c.seq, 0) end);
  return null;
end $$;

create or replace trigger lost_consumers after delete on mirror.change_log
  referencing old table as gone for each statement execute function mirror.mark_lost_consumers();
