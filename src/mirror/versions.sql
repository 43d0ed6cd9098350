-- What a record was: its versions out of the change log and its row. Run by every migrate.

-- Of the key of a stream what stood before the oldest entry that the log still has, and whether its row is live.
create or replace function mirror.record_before_log(stream text, key jsonb, out record jsonb, out live boolean)
  language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
begin
  select coalesce((select jsonb_object_agg(d.name, d.pair -> 1) from jsonb_each(
        -- Where an entry names another person, the row holds that person's values, which erasing the first has left
        -- there.
        coalesce(w.present -> 'diff', '{}') - case when w.later ? {{person}} then {{embedded}} else '{}' end
          || coalesce(w.later, '{}')
      ) d (name, pair)), '{}'), coalesce((w.present -> 'live')::boolean, false)
    into record, live
    from (select {{present}} as present, {{later}} as later
      from (select record_before_log.stream, record_before_log.key, 0::bigint as seq) c) w;
end $$;

create or replace function mirror.history(stream text, key jsonb)
  returns table (valid_from timestamptz, valid_to timestamptz, operation text, record jsonb)
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
  shape constant jsonb := case stream {{shapes}} end;
  entry record;
  before record;
  known boolean := false;
begin
  if shape is null then
    raise exception 'There is no stream %.', coalesce(quote_literal(left(stream, 100)), 'null') using errcode = '22023';
  end if;
  -- A key with another name in it, or too many, would be one that no record has.
  if jsonb_typeof(key) is distinct from 'object' or (select jsonb_agg(k order by k) from jsonb_object_keys(key) k)
      is distinct from (select jsonb_agg(k order by k) from jsonb_array_elements_text(shape -> 'key') k) then
    raise exception 'The key is %. It must be an object with the members %.', coalesce(left(key::text, 100), 'null'), shape ->> 'key'
      using errcode = '22023';
  end if;
  perform company_access.refuse(stream) where stream in ({{persons}});
  before := mirror.record_before_log(stream, key);
  for entry in select e.* from mirror_log.changes_of(stream, key) e loop
    if not known and entry.operation <> 'insert' then
      known := true;
      valid_from := (select l.changed_at from mirror.change_log l order by l.seq limit 1);
      record := (shape -> 'blank') || key || before.record;
    end if;
    -- Only the payload was other.
    continue when entry.operation = 'update' and not exists
      (select from jsonb_object_keys(entry.diff) name where left(name, 1) <> '_');
    valid_to := entry.changed_at;
    if known and (operation is not null or valid_from < valid_to) then
      return next;
    end if;
    known := true;
    valid_from := entry.changed_at;
    operation := entry.operation;
    record := case when operation <> 'delete' then
      case when operation = 'insert' then shape -> 'blank' else record end
        || coalesce((select jsonb_object_agg(d.name, d.pair -> 1) from jsonb_each(entry.diff) d (name, pair)
          where left(d.name, 1) <> '_'), '{}') end;
  end loop;
  if not known and before.live and mirror_log.was_owned(stream, key) then
    known := true;
    valid_from := coalesce((select l.changed_at from mirror.change_log l order by l.seq limit 1), '-infinity');
    record := (shape -> 'blank') || key || before.record;
  end if;
  if known then
    valid_to := null;
    return next;
  end if;
end $$;

create or replace function mirror.record_at(stream text, key jsonb, at timestamptz) returns jsonb
  language sql stable set search_path = pg_catalog, pg_temp
  as $$ select h.record from mirror.history($1, $2) h
    where h.valid_from <= $3 and (h.valid_to > $3 or h.valid_to is null) order by h.valid_from desc limit 1 $$;
