-- Functions that the report views call, and partners with them.

-- A currency comes as text or as an object. The planner inlines these functions: their bodies are parsed here and need no search path.
create or replace function report.currency_code(currency jsonb) returns text
language sql immutable parallel safe
return nullif(upper(btrim(case jsonb_typeof(currency) when 'string' then currency #>> '{}'
    when 'object' then coalesce(currency ->> 'code', currency ->> 'iso', currency ->> 'id') end) collate "C"), '');
comment on function report.currency_code(jsonb) is
  'Returns the code of a currency that is a text, or an object with code, iso or id, in capitals. Null for anything else.';

create or replace function report.status_word(status text) returns text
language sql immutable parallel safe
return replace(translate(upper(btrim(status) collate "C"), '- ', '__'), 'CANCELLED', 'CANCELED');
comment on function report.status_word(text) is
  'Returns a status as the views compare it: in capitals, with _ for - and spaces, and CANCELED for CANCELLED.';

-- `current_date` is that of the connection's zone. With its owner's rights, as views have them.
create or replace function report.today() returns date
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select {{today}} $$;
comment on function report.today() is 'Returns the current day in TIME_ZONE.';

create or replace function report.is_block_of_rental(payload jsonb) returns boolean
language sql immutable parallel safe
return payload ?| array['rental', 'rentalId', 'rental_id'] or jsonb_path_exists(payload,
    '$.* ? (@.type() == "string" && @ like_regex "^(rental|booking)$" flag "i")');
comment on function report.is_block_of_rental(jsonb) is
  'Returns true if an unavailability says that it is a rental.';
