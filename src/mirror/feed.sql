-- The feed as SQL; feed.ts tells what an entry says and why. Run by every migrate.

-- A row as the diff of its insert; null: there is none. Times are logged in UTC, whatever the reader's time zone.
create or replace function mirror.row_as_insert(stream text, key jsonb) returns jsonb
  language plpgsql stable set timezone to 'UTC' as $$
begin
  case $1
  {{rows}}
  else return null;
  end case;
end $$;

-- The diff of an entry as the feed gives it.
create or replace function mirror.told_diff(entry mirror.change_log) returns jsonb
  language plpgsql stable as $$
declare
  said jsonb;
  empty text[];
begin
  if entry.whole then
    return entry.diff - '_before';
  end if;
  -- Of a member that comes twice the last one stands: of the later entries the first. `offset 0` keeps the search for the
  -- key by itself, or a Postgres without statistics reads all that was logged later.
  select jsonb_object_agg(former.name, jsonb_build_array(null, former.value) order by l.seq desc) into said
  from (select * from mirror.change_log c where c.key = entry.key offset 0) l cross join lateral (
    select d.name, d.pair -> 0 as value from jsonb_each(l.diff) d (name, pair)
    where l.operation = 'update' and left(d.name, 1) <> '_'
    union all
    select b.name, b.value from jsonb_each(l.diff -> '_before') b (name, value)
  ) former
  where l.stream = entry.stream and l.seq > entry.seq;
  said := coalesce(said, '{}') || (entry.diff - '_before');
  select array_agg(name) into empty from jsonb_each(said) d (name, pair) where pair -> 1 = 'null';
  said := coalesce(mirror.row_as_insert(entry.stream, entry.key),
    (select jsonb_object_agg(name, jsonb_build_array(null, value)) from jsonb_each(entry.key) k (name, value)),
    '{}') || said;
  return case when empty is null then said else said - empty end;
end $$;

-- What mirror.changes_since calls: entries after a position, in the order in which they are given.
create or replace function mirror.read_change_log(position_text text, row_limit int)
  returns table (next_position text, seq bigint, stream text, key jsonb, operation text, changed_at timestamptz,
    diff jsonb)
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
  #variable_conflict use_column
  declare
    this_epoch constant bigint := mirror.feed_epoch();
    parts text[];
    from_xid xid8 := '0';
    from_seq bigint := 0;
    given int := 0;
  begin
    if row_limit is null or row_limit < 1 then
      raise exception 'max_rows is %, and takes a whole number from 1.', coalesce(row_limit::text, 'null')
        using errcode = '22023';
    end if;
    if position_text is not null then
      parts := regexp_match(position_text, '^1\.(-?[0-9]{1,19})\.([0-9]{1,18})\.([0-9]{1,18})$');
      if parts is null then
        raise exception 'The cursor is %, and takes null (from the beginning) or a cursor that mirror.changes_since gave.',
          quote_literal(left(position_text, 100)) using errcode = '22023';
      end if;
      -- A cursor of another cluster means nothing here: everything is repeated rather than something missed.
      if parts[1] = this_epoch::text then
        from_xid := parts[2]::xid8;
        from_seq := parts[3]::bigint;
      end if;
    end if;
    -- Rows of former epochs: all of them were committed long ago, and are numbered as transaction 0.
    if from_xid = '0'::xid8 then
      return query
        select '1.' || this_epoch || '.0.' || f.seq, f.seq, (e.c).stream, (e.c).key, (e.c).operation, (e.c).changed_at,
          mirror.told_diff(e.c)
        from (
          select former.seq from (
            select seq from mirror.change_log where epoch < this_epoch
            union all
            select seq from mirror.change_log where epoch > this_epoch
          ) former where former.seq > from_seq order by former.seq limit row_limit
        ) f cross join lateral (select c from mirror.change_log c where c.seq = f.seq offset 0) e
        order by f.seq;
      get diagnostics given = row_count;
    end if;
    if given < row_limit then
      return query
        select '1.' || this_epoch || '.' || c.xid || '.' || c.seq, c.seq, c.stream, c.key, c.operation, c.changed_at,
          mirror.told_diff(c)
        from mirror.change_log c
        where c.epoch = this_epoch and (c.xid, c.seq) > (from_xid, from_seq)
          and c.xid < pg_snapshot_xmin(pg_current_snapshot())
        order by c.xid, c.seq limit row_limit - given;
    end if;
  end $$;

-- A shell in SQL: only there may an argument and a column of the result both be called "cursor".
create or replace function mirror.changes_since(cursor text default null, max_rows int default 1000)
  returns table (cursor text, seq bigint, stream text, key jsonb, operation text, changed_at timestamptz, diff jsonb)
  language sql stable set search_path = pg_catalog, pg_temp
  as $$ select * from mirror.read_change_log($1, $2) $$;
