-- Functions that the report views call, and partners with them.

-- A currency comes as text or as an object. Inlined by the planner.
create or replace function report.currency_code(currency jsonb) returns text
language sql immutable parallel safe
as $$
  select nullif(btrim(case jsonb_typeof(currency) when 'string' then currency #>> '{}'
    when 'object' then coalesce(currency ->> 'code', currency ->> 'iso', currency ->> 'id') end), '')
$$;
comment on function report.currency_code(jsonb) is
  'The code of a currency that is a text, or an object with code, iso or id; null for anything else.';

-- `current_date` is that of the connection's zone. With its owner's rights, as views have them.
create or replace function report.today() returns date
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select {{today}} $$;
comment on function report.today() is 'The current day in TIME_ZONE.';

-- The time that an unavailability takes. Its shape is not published, so any text may stand there: one that is no date ends as null.
create or replace function report.unavailability_span(payload jsonb) returns tstzrange
language plpgsql stable security definer parallel restricted set search_path = pg_catalog, pg_temp as $$
declare
  starts constant text := {{starts}};
  ends constant text := {{ends}};
  zone constant text := {{time_zone}};
  date_first constant text := '^[0-9]{4}-[0-9]{2}-[0-9]{2}';
  with_offset constant text := '[0-9](Z|[+-][0-9]{2}(:?[0-9]{2})?)$';
  first timestamptz;
  last timestamptz;
begin
  if coalesce(starts !~ date_first or ends !~ date_first, true) then
    return null;
  end if;
  first := case when length(starts) > 10 and starts ~ with_offset then starts::timestamptz
    else starts::timestamp at time zone zone end;
  last := case when length(ends) = 10 then (ends::timestamp + interval '1 day') at time zone zone
    when ends ~ with_offset then ends::timestamptz
    else ends::timestamp at time zone zone end;
  return case when first < last then tstzrange(first, last) end;
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  return null;
end $$;
comment on function report.unavailability_span(jsonb) is
  'The time span of an unavailability, from its payload, including the last day; null if the payload has no readable span.';

create or replace function report.is_block_of_rental(payload jsonb) returns boolean
language sql immutable parallel safe
as $$
  select payload ?| array['rental', 'rentalId', 'rental_id'] or jsonb_path_exists(payload,
    '$.* ? (@.type() == "string" && @ like_regex "^(rental|booking)$" flag "i")')
$$;
comment on function report.is_block_of_rental(jsonb) is
  'True for an unavailability that is marked as a rental.';
