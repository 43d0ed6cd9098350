-- The feed as SQL; feed.ts explains the entries. Run by every migrate.
--
-- A session keeps the plan of a function's query until the table is analysed next. A consumer that connects to a new mirror
-- would keep scanning whole tables while the first sync fills them (half a second for 100 changes among 10,000), so functions
-- that look up rows by key do without sequential scans.

-- For a first entry: its own values, else those of later entries, else the row's. Values that turn out null are
-- omitted.
create or replace function mirror.whole_diff(present jsonb, later jsonb, said jsonb) returns jsonb
  language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  told constant jsonb := coalesce(later, '{}') || said;
begin
  if position('[null, null]' in told::text) > 0 then
    return (present || told) - array(select name from jsonb_each(told) d (name, pair) where pair -> 1 = 'null');
  end if;
  return present || told;
end $$;

-- What an entry alone has: a copy, or a server that lost its last commits, gives transaction ids and numbers out once more. Its
-- body is parsed here: it needs no search path. All of it is immutable, or it would not be inlined, and take ten times as long.
create or replace function mirror.cursor_mark(seq bigint, xid xid8, changed_at timestamptz, key jsonb) returns text
  language sql immutable
  return to_hex(hashtextextended(seq::text || ' ' || xid::text || ' ' || extract(epoch from changed_at at time zone 'UTC')::text || ' '
    || key::text, 0));

-- Epoch, transaction, number and mark of a cursor. Those of former releases have no mark, nor has the place of a consumer.
create or replace function mirror.cursor_parts(cursor_text text) returns text[]
  language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  parts constant text[] := regexp_match(cursor_text, '^1\.(-?[0-9]{1,19})\.([0-9]{1,18})\.([0-9]{1,18})(?:\.([0-9a-f]{1,16}))?$');
begin
  if parts is null then
    raise exception 'The cursor is %. It must be null (from the beginning) or a cursor that mirror.changes_since returned.',
      quote_literal(left(cursor_text, 100)) using errcode = '22023';
  end if;
  return parts;
end $$;

-- Where the next entries of an epoch are, in the order in which they are given. They are read in the order of the index: of
-- transactions that are younger than its statistics Postgres expects none, and would read and sort all of them each time.
create or replace function mirror.next_positions(of_epoch bigint, after_xid xid8, after_seq bigint, row_limit int)
  returns table (xid xid8, seq bigint, changed_at timestamptz)
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off set jit = off as $$
  #variable_conflict use_column
  begin
    return query
      select c.xid, c.seq, c.changed_at from mirror.change_log c
      where c.epoch = of_epoch and (c.xid, c.seq) > (after_xid, after_seq)
        and c.xid < pg_snapshot_xmin(pg_current_snapshot())
      order by c.xid, c.seq limit row_limit;
  end $$;

-- Keeps the changes of a record in their order where transactions with later ids have committed changes while this one was running
-- (feed-order.ts). Usually none has: one index lookup. Own changes of a record move to the place of the last of those that came
-- before them. They are given only when that transaction is past, and this one, being older, is past then, too: nothing can be
-- skipped. One sort finds them: a join of two sets of which Postgres knows nothing may compare each with each. Postgres 14 has no
-- max of transaction ids, which stay far below the largest bigint.
create or replace function mirror.keep_feed_order() returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
  this_epoch constant bigint := (select h.epoch from sync.history() h);
begin
  if exists (select from mirror.change_log c where c.epoch = this_epoch and c.xid > pg_current_xact_id()) then
    with moved as (
      select c.seq, c.changed_at, c.xid, max(c.xid::text::bigint) filter (where c.xid > pg_current_xact_id())
        over (partition by c.stream, c.key order by c.seq) as last
      from mirror.change_log c where c.epoch = this_epoch and c.xid >= pg_current_xact_id())
    update mirror.change_log c set xid = m.last::text::xid8 from moved m
    where c.seq = m.seq and c.changed_at = m.changed_at and m.xid = pg_current_xact_id() and m.last is not null;
  end if;
end $$;

-- Whether a transaction id was given out, whatever the caller's snapshot shows. A standby cannot know.
create or replace function mirror.is_assigned(xid xid8) returns boolean
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if not pg_is_in_recovery() then
    perform pg_xact_status(xid);
  end if;
  return true;
exception when invalid_parameter_value then
  return false;
end $$;

-- Where the entries after a position are, in the order in which they are given: those of former epochs, all of which were
-- committed long ago and are numbered as transaction 0, then those of this one.
create or replace function mirror.positions_after(position_text text, row_limit int)
  returns table (xid xid8, seq bigint, changed_at timestamptz)
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
  #variable_conflict use_column
  declare
    this_epoch constant bigint := mirror.feed_epoch();
    parts text[];
    from_xid xid8 := xid8 '0';
    from_seq bigint := 0;
    is_given boolean;
    given int := 0;
  begin
    if row_limit is null or row_limit < 1 then
      raise exception 'max_rows is %. It must be a whole number from 1.', coalesce(row_limit::text, 'null')
        using errcode = '22023';
    end if;
    if position_text is not null then
      parts := mirror.cursor_parts(position_text);
      -- A cursor of another history means nothing here: everything is repeated rather than something missed.
      if parts[1] = this_epoch::text then
        from_xid := parts[2]::xid8;
        from_seq := parts[3]::bigint;
        select coalesce(parts[4] = mirror.cursor_mark(c.seq, c.xid, c.changed_at, c.key), true) into is_given
          from mirror.change_log c where c.seq = from_seq
            and case from_xid when '0' then c.epoch <> this_epoch else c.epoch = this_epoch and c.xid = from_xid end;
        -- This snapshot may be older than the entry, and a standby may not have it yet: it is waited for.
        if is_given is null and from_xid >= pg_snapshot_xmin(pg_current_snapshot()) and mirror.is_assigned(from_xid) then
          return;
        end if;
        -- Of what was pruned, everything before is gone, too: the start is where it continues.
        if is_given is not true then
          from_xid := '0';
          from_seq := 0;
        end if;
      end if;
    end if;
    if from_xid = '0'::xid8 then
      return query
        select from_xid, f.seq, f.changed_at from (
          select seq, changed_at from mirror.change_log where epoch < this_epoch
          union all
          select seq, changed_at from mirror.change_log where epoch > this_epoch
        ) f where f.seq > from_seq order by f.seq limit row_limit;
      get diagnostics given = row_count;
    end if;
    if given < row_limit then
      return query select * from mirror.next_positions(this_epoch, from_xid, from_seq, row_limit - given);
    end if;
  end $$;

-- What mirror.changes_since calls: entries after a position, in the order in which they are given. It runs with its owner's
-- rights, as a view does: who may call it may read the log. Postgres expects every branch that completes a first entry to be
-- taken for every row, and would compile them all (JIT), which takes seconds.
create or replace function mirror.read_change_log(position_text text, row_limit int)
  returns table (next_position text, seq bigint, stream text, key jsonb, operation text, changed_at timestamptz,
    diff jsonb)
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
  #variable_conflict use_column
  declare
    this_epoch constant bigint := mirror.feed_epoch();
    companies constant bigint[] := company_access.visible();
  begin
    if companies is not null then
      return query select * from mirror_log.read_companies(position_text, row_limit, companies);
      return;
    end if;
    return query
      select e.*
      from mirror.positions_after(position_text, row_limit) p cross join lateral (
        select '1.' || this_epoch || '.' || p.xid || '.' || p.seq || '.' || mirror.cursor_mark(c.seq, c.xid, c.changed_at, c.key),
          c.seq, c.stream, c.key, c.operation, c.changed_at, {{diff}} from mirror.change_log c
        where c.seq = p.seq and c.changed_at = p.changed_at offset 0 -- only its month
      ) e
      order by p.xid, p.seq;
  end $$;

-- The diff of a first entry for the view mirror.changes, which cannot keep Postgres from compiling (JIT): the
-- functions it calls are not compiled with it. One branch is planned at a time. A role that may read the view may
-- call it, through the view: no other role may use its schema.
create or replace function mirror_log.first_diff(stream text, key jsonb, seq bigint, diff jsonb) returns jsonb
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
  #variable_conflict use_column
  <<c>>
  declare
    stream constant text := first_diff.stream;
    key constant jsonb := first_diff.key;
    seq constant bigint := first_diff.seq;
    present jsonb;
    later jsonb;
  begin
    case c.stream
    {{branches}}
    else null;
    end case;
    -- Most first entries have none after them. `offset 0`: the key is looked up by its index, whatever the statistics.
    if exists (select from (select * from mirror.change_log k where k.key = c.key offset 0) k
        where k.stream = c.stream and k.seq > c.seq) then
      later := {{later}};
    end if;
    return mirror.whole_diff(coalesce(present, {{given}}), later, first_diff.diff);
  end $$;

-- A shell in SQL: only there may an argument and a column of the result both be called "cursor".
create or replace function mirror.changes_since(cursor text default null, max_rows int default 1000)
  returns table (cursor text, seq bigint, stream text, key jsonb, operation text, changed_at timestamptz, diff jsonb)
  language sql stable set search_path = pg_catalog, pg_temp
  as $$ select * from mirror.read_change_log($1, $2) $$;

-- The end of the feed: what has been given when everything has. Null before the first change.
create or replace function mirror.last_cursor() returns text
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off set jit = off as $$
declare
  this_epoch constant bigint := mirror.feed_epoch();
begin
  return coalesce(
    (select '1.' || this_epoch || '.' || c.xid || '.' || c.seq || '.' || mirror.cursor_mark(c.seq, c.xid, c.changed_at, c.key)
      from mirror.change_log c
      where c.epoch = this_epoch and c.xid < pg_snapshot_xmin(pg_current_snapshot())
      order by c.xid desc, c.seq desc limit 1),
    (select '1.' || this_epoch || '.0.' || c.seq || '.' || mirror.cursor_mark(c.seq, c.xid, c.changed_at, c.key)
      from mirror.change_log c
      where c.epoch <> this_epoch -- none: found by the index, or all entries of this epoch would be read
        and (exists (select from mirror.change_log f where f.epoch < this_epoch) or exists (select from mirror.change_log f where f.epoch > this_epoch))
      order by c.seq desc limit 1));
end $$;
