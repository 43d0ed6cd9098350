-- Requests to read now. Run by every migrate. Runs with its owner's rights: roles that request a refresh may not
-- write the table.

create or replace function mirror.refresh(stream text, key jsonb default null) returns bigint
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := company_access.registered();
  wanted_stream constant text := stream;
  -- JSON's own null means none, as SQL's does.
  wanted_key constant jsonb := nullif(key, 'null');
  columns constant text[] := case stream {{columns}} end;
  key_text text;
  request bigint;
  companies constant bigint[] := company_access.visible();
begin
  if columns is null then
    raise exception 'There is no stream %. Streams are named after their tables: select stream from sync.streams.',
      coalesce(quote_literal(left(stream, 100)), 'null') using errcode = '22023';
  end if;
  if wanted_key is not null then
    begin
      if jsonb_typeof(wanted_key) = 'object' and array(select jsonb_object_keys(wanted_key)) <@ columns then
        key_text := case stream {{key}} end;
      end if;
    exception when data_exception then
      key_text := null;
    end;
    if key_text is null or exists (select from unnest(columns) name where wanted_key ->> name is null) then
      raise exception 'The key is %. It must be an object with % as in the change log: {"%": …}.',
        left(wanted_key::text, 100), case stream {{types}} end, columns[1] using errcode = '22023';
    end if;
  end if;
  if companies is not null and (wanted_key is null or (case stream {{company}} end = any (companies)) is not true) then
    raise exception 'Role % sees only companies %. It may refresh only their records, by key, of %.',
      quote_ident(company_access.name_of(caller)), array_to_string(companies, ', '), stream using errcode = '42501';
  end if;

  if exists (select from sync.streams s where s.stream = wanted_stream and s.paused_by is not null) then
    raise exception '% is paused: resume it first.', wanted_stream using errcode = '55000', hint = 'See sync.stream_plans.';
  end if;

  -- A second request for the same at the same moment waits here, and then finds it open.
  perform pg_advisory_xact_lock(hashtextextended('boat-mirror refresh ' || caller, 0));
  select q.id into request from sync.requests q
    where q.stream = wanted_stream and q.record_key is not distinct from key_text and q.finished_at is null;
  if found then
    return request;
  end if;
  if (select count(*) from sync.requests q
      where q.role = caller and q.requested_at > clock_timestamp() - interval '1 minute') >= {{per_minute}} then
    raise exception 'Role % asked for {{per_minute}} refreshes within a minute. Wait a moment, or ask for the whole stream: select mirror.refresh(%).',
      quote_ident(company_access.name_of(caller)), quote_literal(stream) using errcode = '53400';
  end if;
  -- Another role may have asked for the same meanwhile.
  insert into sync.requests (trigger, stream, record_key, role)
    values ({{trigger}}, wanted_stream, key_text, caller)
    on conflict (stream, (coalesce(record_key, ''))) where stream is not null and finished_at is null do nothing
    returning id into request;
  if request is null then
    select q.id into request from sync.requests q
      where q.stream = wanted_stream and q.record_key is not distinct from key_text and q.finished_at is null;
  end if;
  perform pg_notify({{channel}}, '');
  return request;
end $$;
