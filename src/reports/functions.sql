-- Functions that the report views call, and partners with them.

-- A currency comes as text or as an object. The planner inlines these functions: their bodies are parsed here and need no search path.
create or replace function report.currency_code(currency jsonb) returns text
language sql immutable parallel safe
return nullif(upper(btrim(coalesce(currency ->> 'code', currency ->> 'iso', currency ->> 'id',
    case when jsonb_typeof(currency) = 'string' then currency #>> '{}' end)) collate "C"), '');
comment on function report.currency_code(jsonb) is
  'Returns the code of a currency that is a text, or an object with code, iso or id, in capitals. Null for anything else.';

-- The usual ones are in this form already: to see that takes a fifth of the time.
create or replace function report.status_word(status text) returns text
language sql immutable parallel safe
return case when status in ('VALIDATED', 'PENDING', 'CANCELED_BY_CLIENT', 'CANCELED_BAD_WEATHER', 'CANCELED_PAYMENT') then status
  else replace(translate(upper(btrim(status) collate "C"), '- ', '__'), 'CANCELLED', 'CANCELED') end;
comment on function report.status_word(text) is
  'Returns a status as the views compare it: in capitals, with _ for - and spaces, and CANCELED for CANCELLED.';

-- What few rentals need is looked up by these. With their owner's rights, as views have them; plpgsql plans them once a session.
create or replace function report.currencies_of(rental bigint) returns text[]
language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp
as $$ begin
  return array(select p.currency from {{named_currencies}} p where p.rental_id = rental and p.currency is not null
    union select report.currency_code(r.deposit_currency) from mirror.rentals r where r.id = rental and report.currency_code(r.deposit_currency) is not null
    order by 1);
end $$;
comment on function report.currencies_of(bigint) is
  'Returns every currency that the payments, the options and the deposit of a rental name.';

create or replace function report.paid_in_lines(rental bigint) returns numeric
language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp
as $$ begin
  return (select case when count(*) = count(l.price) and exists (select from sync.records d where d.stream = 'rental_payments'
      and d.key = rental::text and d.detail_read_at is not null) and cardinality(report.currencies_of(rental)) < 2 then coalesce(sum(l.price), 0) end
    from mirror.rental_payments l where l.rental_id = rental and l._deleted_at is null);
end $$;
comment on function report.paid_in_lines(bigint) is
  'Returns the sum of the payment lines of a rental. Null, unknown: they were not read, one has no amount, or several currencies are named.';

-- `current_date` is that of the connection's zone. With its owner's rights, as views have them.
create or replace function report.today() returns date
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select {{today}} $$;
comment on function report.today() is 'Returns the current day in TIME_ZONE.';

create or replace function report.assert_days(from_day date, to_day date) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$ begin
  if from_day <= to_day then
    return true;
  end if;
  raise exception 'The days are % to %.', coalesce(from_day::text, 'null'), coalesce(to_day::text, 'null')
    using errcode = '22023', hint = 'Name the first day, then the last, which is included.';
end $$;
comment on function report.assert_days(date, date) is 'Refuses days of which the last is before the first, or one is null.';

create or replace function report.is_block_of_rental(payload jsonb) returns boolean
language sql immutable parallel safe
return payload ?| array['rental', 'rentalId', 'rental_id'] or jsonb_path_exists(payload,
    '$.* ? (@.type() == "string" && @ like_regex "^(rental|booking)$" flag "i")');
comment on function report.is_block_of_rental(jsonb) is
  'Returns true if an unavailability says that it is a rental.';
