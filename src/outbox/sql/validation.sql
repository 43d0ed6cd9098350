-- Refuses a wrong change at once, naming the field, its value and what is allowed. Everything is checked against
-- outbox.operations; values are parameters, never parts of a statement. All of it is internal to outbox.enqueue.

create or replace function outbox.refuse(message text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$ begin raise exception using errcode = '22023', message = message; end $$;

create or replace function outbox.shown(value jsonb) returns text
language sql immutable set search_path = pg_catalog, pg_temp
as $$ select case when length(value::text) > 100 then left(value::text, 100) || '…' else value::text end $$;

create or replace function outbox.megabytes(bytes bigint) returns text
language sql immutable set search_path = pg_catalog, pg_temp
as $$ select trim_scale(ceil(bytes / 1e4) / 100) || ' MB' $$;

create or replace function outbox.check_size(operation text, part text, value jsonb) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  size bigint := octet_length(value::text);
begin
  if size <= {{largest_part}} then return; end if;
  perform outbox.refuse(format('%s: %s is %s of JSON%s. It must be at most %s.', operation, part, outbox.megabytes(size),
    (select format(', %s.%s alone %s', part, left(key, 100), outbox.megabytes(octet_length(member.value::text)))
     from jsonb_each(case jsonb_typeof(value) when 'object' then value else '{}' end) as member
     order by octet_length(member.value::text) desc limit 1),
    outbox.megabytes({{largest_part}})));
end $$;

create or replace function outbox.names(specs jsonb) returns text
language sql immutable set search_path = pg_catalog, pg_temp
as $$ select coalesce(string_agg(spec->>'name', ', ' order by place), 'none')
      from jsonb_array_elements(specs) with ordinality as list (spec, place) $$;

create or replace function outbox.with_numbers(specs jsonb, value jsonb) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'object' or value::text !~ '"-?[0-9]' then return value; end if; -- apart: the rest starts a query
  return coalesce((
    select jsonb_object_agg(given.key, case
        when jsonb_typeof(given.value) = 'object' then
          outbox.with_numbers(coalesce(spec->'members', '[]') || '[{"name": "change", "type": "integer"}]', given.value)
        when jsonb_typeof(given.value) = 'string' and spec->>'type' in ('integer', 'number')
          and given.value #>> '{}' ~ '^-?[0-9]{1,200}([.][0-9]{1,200})?$' then to_jsonb((given.value #>> '{}')::numeric)
        else given.value end)
    from jsonb_each(value) as given left join jsonb_array_elements(specs) as list (spec) on spec->>'name' = given.key), '{}');
end $$;
comment on function outbox.with_numbers(jsonb, jsonb) is
  'Returns fields with texts of digits as numbers where numbers are expected, so that both are the same change of the same record.';

create or replace function outbox.check_reference(place text, results jsonb, value jsonb) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  change_id bigint;
  earlier record;
  allowed text;
begin
  if coalesce(jsonb_array_length(results), 0) = 0 then
    perform outbox.refuse(format('%s cannot be the result of another change.', place));
  end if;
  if (select count(*) from jsonb_object_keys(value)) <> 1 or jsonb_typeof(value->'change') <> 'number'
     or (value->>'change') !~ '^[0-9]{1,18}$' then
    perform outbox.refuse(format('%s is %s. A reference must be written as {"change": 17}.', place, outbox.shown(value)));
  end if;
  change_id := (value->>'change')::bigint;
  select q.operation, q.enqueued_by into earlier from outbox.queue q where q.id = change_id;
  if not found or earlier.enqueued_by <> company_access.partner()
     and not has_table_privilege(company_access.caller(), 'outbox.queue', 'select') then
    perform outbox.refuse(format('%s refers to change %s, which does not exist for %s.', place, change_id, pg_get_userbyid(company_access.caller())));
  end if;
  if not results ? earlier.operation then
    select string_agg(name, ', ') into allowed from jsonb_array_elements_text(results) as list (name);
    perform outbox.refuse(format('%s refers to change %s, a %s. It must refer to the result of %s.',
      place, change_id, earlier.operation, allowed));
  end if;
  return change_id;
end $$;

create or replace function outbox.fits(kind text, value jsonb) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  content text := value #>> '{}';
begin
  case kind
    when 'string' then return jsonb_typeof(value) = 'string';
    when 'integer' then
      return jsonb_typeof(value) = 'number' and content ~ '^-?[0-9]+$'
        and content::numeric between -9223372036854775807 and 9223372036854775807;
    when 'number' then return jsonb_typeof(value) = 'number';
    when 'boolean' then return jsonb_typeof(value) = 'boolean';
    when 'object' then return jsonb_typeof(value) = 'object';
    when 'email' then return jsonb_typeof(value) = 'string' and content ~ '^[^@[:space:]]+@[^@[:space:]]+$';
    when 'uri' then return jsonb_typeof(value) = 'string' and content ~ '^[A-Za-z][A-Za-z0-9+.-]*:[^[:space:]]+$';
    when 'date' then
      if jsonb_typeof(value) <> 'string' or content !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' then return false; end if;
      begin
        return to_char(content::date, 'YYYY-MM-DD') = content;
      exception when datetime_field_overflow or invalid_datetime_format then
        return false;
      end;
    else raise exception 'outbox.operations holds the unknown type %', kind;
  end case;
end $$;

create or replace function outbox.check_value(place text, spec jsonb, value jsonb) returns bigint[]
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  kind text := spec->>'type';
begin
  if jsonb_typeof(value) = 'null' then
    if coalesce((spec->>'required')::boolean, false) or not coalesce((spec->>'clearable')::boolean, true) then
      perform outbox.refuse(format('%s cannot be null. It must be %s.', place, outbox.expected(spec)));
    end if;
    return array[]::bigint[];
  end if;
  if jsonb_typeof(value) = 'object' and value ? 'change' and not coalesce(spec->'members', '[]') @> '[{"name": "change"}]' then
    return array[outbox.check_reference(place, spec->'result', value)];
  end if;
  if not outbox.fits(kind, value) or (spec ? 'values' and not (spec->'values') ? (value #>> '{}')) then
    perform outbox.refuse(format('%s is %s. It must be %s.', place, outbox.shown(value), outbox.expected(spec)));
  end if;
  if kind = 'object' then
    return outbox.check_members(place, spec->'members', value);
  end if;
  return array[]::bigint[];
end $$;

create or replace function outbox.expected(spec jsonb) returns text
language sql immutable set search_path = pg_catalog, pg_temp
as $$
  select case
    when spec ? 'values' then 'one of ' || (select string_agg(item, ', ') from jsonb_array_elements_text(spec->'values') as list (item))
    else case spec->>'type'
      when 'string' then 'text'
      when 'integer' then 'a whole number'
      when 'number' then 'a number'
      when 'boolean' then 'true or false'
      when 'date' then 'a date as YYYY-MM-DD'
      when 'email' then 'an e-mail address'
      when 'uri' then 'a URI'
      else 'an object of ' || outbox.names(spec->'members')
    end
  end $$;

create or replace function outbox.check_members(place text, specs jsonb, value jsonb) returns bigint[]
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  last constant int := jsonb_array_length(specs) - 1;
  unknown jsonb := value;
  spec jsonb;
  referred bigint[] := array[]::bigint[];
begin
  -- Counted through, because a loop over a query costs 5 us, and nearly all changes name two or three fields.
  for i in 0 .. last loop
    unknown := unknown - (specs->i->>'name');
  end loop;
  if unknown <> '{}' then
    perform outbox.refuse(format('%s.%s cannot be written; allowed: %s.', place, left(given, 100), outbox.names(specs)))
      from jsonb_object_keys(unknown) as list (given) limit 1;
  end if;
  for i in 0 .. last loop
    spec := specs->i;
    if value ? (spec->>'name') then
      referred := referred || outbox.check_value(place || '.' || (spec->>'name'), spec, value->(spec->>'name'));
    elsif coalesce((spec->>'required')::boolean, false) then
      perform outbox.refuse(format('%s.%s is missing. It must be %s.', place, spec->>'name', outbox.expected(spec)));
    end if;
  end loop;
  return referred;
end $$;
