-- The change log as a role restricted to companies may read it; company-log.ts explains how. Run by every migrate. All but the
-- last is for the owner alone: a caller with companies of its own choice would read the log of others.

-- The company of a record just after an entry, which is what the next change of it says that it was before, or the row: as the feed
-- gives it, and as it was when the entry was committed. These differ where a change of the company was written before the entry and
-- is given after it, because transactions overlapped, or is of the same transaction. Then the company before that transaction, and
-- last, where a change of the company was written after the entry and is given before it, the number of that. `place` is the
-- transaction id by which the entry is given: 0 in former epochs, all of which is given as it was written.
create or replace function mirror_log.owners(stream text, key jsonb, epoch bigint, xid xid8, place xid8, seq bigint) returns bigint[]
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
begin
  return (select array[(array_agg(f.company order by f.seq) filter (where f.is_after))[1],
      (array_agg(f.company order by f.seq) filter (where f.is_after and f.seq > owners.seq and not f.is_same))[1],
      (array_agg(f.company order by f.seq) filter (where f.is_after or f.is_same))[1], max(f.seq) filter (where f.seq > owners.seq and not f.is_after)]
    from (select l.seq, {{former}} as company, {{is_after_owners}} as is_after, l.epoch = owners.epoch and l.xid = owners.xid as is_same
      from (select * from mirror.change_log l where l.key = owners.key offset 0) l
      where l.stream = owners.stream and {{says_former}}
      union all select 9223372036854775807, case owners.stream {{present}} end, true, false) f);
end $$;

-- The rows below a record that these companies have just after a place of the feed; with `xid`, after this transaction. They do not
-- have what was written later, when the record was of others, and is given before.
create or replace function mirror_log.rows_below(above text, above_key jsonb, epoch bigint, xid xid8, place xid8, seq bigint, companies bigint[])
  returns table (stream text, key jsonb, record jsonb)
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off set timezone = 'UTC' as $$
begin
  {{below}}
end $$;

-- What an entry at a place of the feed is to a role that sees these companies: nothing, itself, or, where a record comes to them or
-- leaves them, an insert of all that it holds by then, or a deletion, and the same of every row below it. What was written below it
-- before it came and is given after comes itself, the last of each row, as the insert of that row: what it was before is of others.
create or replace function mirror_log.shown(c mirror.change_log, place xid8, companies bigint[])
  returns table (stream text, key jsonb, operation text, diff jsonb)
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off set timezone = 'UTC' as $$
declare
  above constant text := {{above}};
  deletion constant jsonb := jsonb_build_object('_deleted_at', jsonb_build_array(null, c.changed_at));
  owners bigint[];
  comes boolean;
  had boolean := true;
  has boolean := true;
begin
  if above is not null then
    owners := mirror_log.owners(above, {{above_key}}, c.epoch, c.xid, place, c.seq);
    -- A deletion holds no values. What came in the same transaction comes with all that this wrote.
    comes := above = c.stream and {{says_former_of_entry}};
    has := case when c.operation = 'delete' then coalesce(owners[1] = any(companies) and owners[3] = any(companies), false)
      when comes then owners[1:2] <@ companies
      else owners[1:3] <@ companies and not exists (select from (select * from mirror.change_log l where l.key = c.key offset 0) l
        where l.stream = c.stream and l.seq > c.seq and l.seq < owners[4]) end;
    had := case when comes then coalesce({{former_of_entry}} = any(companies), false)
      else has and (owners[4] is null or c.operation = 'delete') end;
  end if;
  stream := c.stream;
  key := c.key;
  if had and not has and c.operation = 'update' then
    operation := 'delete';
    diff := deletion;
    return next;
  elsif has and not had then
    operation := 'insert';
    diff := mirror_log.first_diff(c.stream, c.key,
      (select max(l.seq) from (select * from mirror.change_log l where l.key = c.key offset 0) l
        where l.stream = c.stream and l.epoch = c.epoch and l.xid = c.xid),
      coalesce((select jsonb_object_agg(d.name, d.pair) from jsonb_each(c.diff) d (name, pair) where d.pair = '[null, null]'), '{}'));
    return next;
  elsif has then
    operation := c.operation;
    diff := {{diff}};
    return next;
  end if;
  if had <> has and comes then
    return query select b.stream, b.key, case when has then 'insert' else 'delete' end, case when has then
        (select jsonb_object_agg(v.name, jsonb_build_array(null, v.value)) from jsonb_each(b.record) v (name, value) where v.value <> 'null')
        else deletion end
      from mirror_log.rows_below(above, {{above_key}}, c.epoch, case when has then c.xid end, place, c.seq, companies) b
      where not (has and exists (select from (select * from mirror.change_log l where l.key = b.key offset 0) l
        where l.stream = b.stream and l.seq < c.seq and l.epoch = c.epoch and l.xid > place and place <> '0'));
  end if;
end $$;

-- What mirror.read_change_log calls for a role that sees these companies. Of the next entries it reads those whose record belongs
-- to them or ever did. All that comes of one entry comes together, even if it is more than was asked for, and only the last of it has
-- the cursor of the entry: a reader that acknowledged less gets all of it again. `work_mem`: records that once belonged to them are hashed,
-- however many.
create or replace function mirror_log.read_companies(position_text text, row_limit int, companies bigint[])
  returns table (next_position text, seq bigint, stream text, key jsonb, operation text, changed_at timestamptz, diff jsonb)
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  set work_mem = '64MB' as $$
#variable_conflict use_column
declare
  this_epoch constant bigint := mirror.feed_epoch();
  place text := position_text;
  remaining int := row_limit;
  size int := least(row_limit, 10000); -- it grows where few of the entries concern the companies
  given int;
  seqs bigint[];
  times timestamptz[];
  xids xid8[];
  cursors text[];
  earlier text[];
begin
  loop
    select array_agg(s.seq order by s.number) filter (where s.concerns), array_agg(s.changed_at order by s.number) filter (where s.concerns),
        array_agg(s.xid order by s.number) filter (where s.concerns), array_agg(s.cursor order by s.number) filter (where s.concerns),
        array_agg(s.earlier order by s.number) filter (where s.concerns), (array_agg(s.cursor order by s.number desc))[1]
      into seqs, times, xids, cursors, earlier, place
    from (select p.*, e.*, lag(e.cursor, 1, place) over (order by p.number) as earlier,
        count(*) filter (where e.concerns) over (order by p.number) as found
      from mirror.positions_after(place, size) with ordinality p (xid, seq, changed_at, number)
        cross join lateral (select coalesce({{concerns}}, false) as concerns, '1.' || this_epoch || '.' || p.xid || '.' || p.seq || '.'
            || mirror.cursor_mark(c.seq, c.xid, c.changed_at, c.key) as cursor
          from mirror.change_log c where c.seq = p.seq and c.changed_at = p.changed_at offset 0) e) s
    where s.found <= remaining;
    exit when place is null;
    size := case when coalesce(cardinality(seqs), 0) < remaining then least(size * 2, 10000) else size end;
    return query
      select case when lead(p.number) over (order by p.number, t.line) = p.number then coalesce(p.earlier, p.cursor) else p.cursor end,
        c.seq, t.stream, t.key, t.operation, c.changed_at, t.diff
      from unnest(seqs, times, xids, cursors, earlier) with ordinality p (seq, changed_at, xid, cursor, earlier, number)
        cross join lateral (select * from mirror.change_log c where c.seq = p.seq and c.changed_at = p.changed_at offset 0) c
        cross join lateral mirror_log.shown(c, p.xid, companies) with ordinality t (stream, key, operation, diff, line)
      order by p.number, t.line;
    get diagnostics given = row_count;
    remaining := remaining - given;
    exit when remaining <= 0;
  end loop;
end $$;

-- The changes of one record, as the caller may see them.
create or replace function mirror_log.changes_of(stream text, key jsonb)
  returns table (seq bigint, changed_at timestamptz, operation text, diff jsonb)
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
  companies constant bigint[] := company_access.visible();
begin
  if companies is null then
    return query select c.seq, c.changed_at, c.operation, {{diff}}
      from (select * from mirror.change_log l where l.key = changes_of.key offset 0) c where c.stream = changes_of.stream order by c.seq;
  else
    -- Also what a record above it brings for it.
    return query select l.seq, l.changed_at, t.operation, t.diff
      from (select changes_of.stream, changes_of.key) c
        cross join lateral (select * from mirror.change_log l where l.key in (c.key, {{above_key}}) offset 0) l
        cross join lateral mirror_log.shown(l, case l.epoch when mirror.feed_epoch() then l.xid else '0' end, companies) t
      where l.stream in (c.stream, {{above}}) and t.stream = c.stream and t.key = c.key order by l.seq;
  end if;
end $$;

-- Whether a record of which the log has nothing belonged to the caller before the log began, and so ever since.
create or replace function mirror_log.was_owned(stream text, key jsonb) returns boolean
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
  companies constant bigint[] := company_access.visible();
begin
  return companies is null or coalesce((select case when {{above}} is null then true
      else (mirror_log.owners({{above}}, {{above_key}}, 0, '0', '0', 0))[1] = any(companies) end
    from (select was_owned.stream, was_owned.key) c
    where not exists (select from (select * from mirror.change_log l where l.key = c.key offset 0) l where l.stream = c.stream)), false);
end $$;

-- The log for the view mirror.changes where the caller is restricted; nothing for all others: they read the table.
create or replace function mirror_log.company_changes()
  returns table (seq bigint, stream text, key jsonb, operation text, changed_at timestamptz, diff jsonb)
  language plpgsql stable security definer rows 1 set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  set work_mem = '64MB' as $$
#variable_conflict use_column
declare
  companies constant bigint[] := company_access.visible();
  this_epoch bigint;
begin
  if companies is not null then
    this_epoch := mirror.feed_epoch();
    return query select c.seq, t.stream, t.key, t.operation, c.changed_at, t.diff
      from mirror.change_log c
        cross join lateral mirror_log.shown(c, case c.epoch when this_epoch then c.xid else '0' end, companies) t
      where {{concerns}} order by c.seq;
  end if;
end $$;
