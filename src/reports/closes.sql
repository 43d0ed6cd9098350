-- Closes. A role that is restricted to companies may close its own; all others need what operators have. What is kept of a rental
-- is chosen in closes.ts. Run by every migrate.

create or replace function sync.assert_may_close(of_company bigint) returns void
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  caller constant oid := company_access.caller();
  companies constant bigint[] := company_access.visible();
begin
  if companies is null and not has_function_privilege(caller, 'sync.release(bigint, text)', 'execute') then
    raise exception 'Role % may not make or remove closes.', quote_ident(pg_get_userbyid(caller))
      using errcode = '42501', hint = 'Members of boat_mirror_operator may, and roles that are restricted to the company.';
  elsif companies is not null and (of_company = any (companies)) is not true then
    raise exception 'Role % sees only companies %. It may make and remove closes of one of them.',
      quote_ident(pg_get_userbyid(caller)), array_to_string(companies, ', ') using errcode = '42501';
  end if;
end $$;
comment on function sync.assert_may_close(bigint) is 'Refuses a caller who may not make or remove closes of a company (null: of all).';

create or replace function sync.close_named(close_name text) returns sync.closes
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  found_close sync.closes;
begin
  select c.* into found_close from sync.closes c where c.name = close_name;
  if not found then
    raise exception 'There is no close %.', coalesce(quote_literal(left(close_name, 100)), 'null')
      using errcode = 'P0002', hint = 'List them with: boat-mirror close list, or in report.closes.';
  end if;
  return found_close;
end $$;
comment on function sync.close_named(text) is 'Returns a close that the caller may see.';

create or replace function report.close(name text, company bigint default null) returns setof report.closes
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  companies constant bigint[] := company_access.visible();
  of_company constant bigint := coalesce(company, case when cardinality(companies) = 1 then companies[1] end);
begin
  perform sync.assert_may_close(of_company);
  if not exists (select from sync.closes c where c.name = $1) then
    if of_company is not null and not exists (select from mirror.companies c where c.id = of_company
        union all select from mirror.rentals r where r.company_id = of_company) then
      raise exception 'There is no company % in the mirror.', of_company using errcode = 'P0002', hint = 'report.fleet names the companies.';
    end if;
    -- All rows are computed and sorted before the first is written: who writes holds the feed back.
    with made as (insert into sync.closes (name, company_id) values ($1, of_company) on conflict do nothing returning id)
    insert into sync.closed_rentals (close_id, {{columns}})
      select m.id, k.* from (select {{present}} order by r.takes_place, r.rental_id) k
        cross join lateral (select id from made where k.rental_id is not null offset 0) m;
  end if;
  if (select c.company_id from sync.closes c where c.name = $1) is distinct from of_company then
    raise exception 'There is a close % of another company.', quote_literal(left($1, 100))
      using errcode = '22023', hint = 'Choose another name, such as one with the company in it.';
  end if;
  return query select * from report.closes c where c.name = $1;
end $$;
comment on function report.close(text, bigint) is
  'Keeps the rentals of a company (null: of all), as report.rentals shows them now, under a name. The same name and company again returns the close that is there. A role restricted to one company closes that one.';

create or replace function report.remove_close(name text) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  base constant sync.closes := sync.close_named(name);
begin
  perform sync.assert_may_close(base.company_id);
  delete from sync.closes c where c.id = base.id;
end $$;
comment on function report.remove_close(text) is 'Removes a close and what it keeps.';

create or replace function report.close_totals(name text)
  returns table (company_id bigint, currency text, rentals bigint, amount numeric, paid numeric, due numeric, currencies text[], paid_unknown bigint)
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  base constant sync.closes := sync.close_named(name);
begin
  return query select k.company_id, case when cardinality(k.currencies) = 1 then k.currencies[1] end,
      count(*) filter (where k.takes_place), sum(a.amount), sum(k.total_paid), sum(a.amount - k.total_paid), k.currencies,
      count(*) filter (where k.total_paid is null)
    from sync.closed_rentals k cross join lateral (select case when k.takes_place then k.total_to_pay else 0 end) a (amount)
    where k.close_id = base.id group by k.company_id, k.currencies order by k.company_id, k.currencies;
end $$;
comment on function report.close_totals(text) is
  'Adds up a close by company and currency; rentals of several currencies stand apart, by their set (currencies). rentals and amount: those that take place. paid: what was paid, also for canceled ones; due: amount minus paid. Rentals of which it is unknown what was paid (paid_unknown) are in neither.';

create or replace function report.since_close(name text, until text default null)
  returns table (what text, rental_id bigint, reference_id text, company_id bigint, resource_id text, departure_day date, currency text,
    amount_then numeric, amount_now numeric, paid_then numeric, paid_now numeric, changed jsonb, currencies text[])
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  base constant sync.closes := sync.close_named(name);
  other constant sync.closes := case when until is not null then sync.close_named(until) end;
  of_company constant bigint := base.company_id;
begin
  if until is not null and other.company_id is distinct from of_company then
    raise exception 'The closes % and % are not of the same company.', quote_literal(left(name, 100)), quote_literal(left(until, 100))
      using errcode = '22023', hint = 'Compare closes of one company, or of all.';
  end if;
  return query with t as (select {{columns}} from sync.closed_rentals where close_id = base.id),
    n as (select {{columns}} from sync.closed_rentals where close_id = other.id
      union all select {{present}} and until is null),
    pairs as (select t, n, case when t.takes_place then t.total_to_pay else 0 end as t_amount,
        case when n.takes_place then n.total_to_pay else 0 end as n_amount,
        (t.company_id, t.currencies) is not distinct from (n.company_id, n.currencies) as same
      from t full join n on n.rental_id = t.rental_id where t is distinct from n)
    select case when (t).rental_id is null then 'new' when (n).rental_id is null then 'gone' when (t).takes_place and not (n).takes_place then 'canceled'
        when (n).takes_place and not (t).takes_place then 'reinstated' else 'changed' end,
      coalesce((n).rental_id, (t).rental_id), coalesce((n).reference_id, (t).reference_id), s.company_id,
      coalesce((n).resource_id, (t).resource_id), coalesce((n).departure_day, (t).departure_day),
      case when cardinality(s.currencies) = 1 then s.currencies[1] end, s.amount_then, s.amount_now, s.paid_then, s.paid_now,
      (select jsonb_object_agg(key, jsonb_build_object('then', b.value, 'now', a.value))
        from jsonb_each(to_jsonb(t)) b join jsonb_each(to_jsonb(n)) a using (key) where a.value <> b.value),
      s.currencies
    from pairs cross join lateral (
      -- What has another company or currency now is taken from the former and added to the present one.
      select (t).company_id, (t).currencies, t_amount, case when same then n_amount else 0 end, (t).total_paid,
          case when same then (n).total_paid else 0 end where (t).rental_id is not null
      union all
      select (n).company_id, (n).currencies, 0, n_amount, 0, (n).total_paid where (n).rental_id is not null and not same
    ) s (company_id, currencies, amount_then, amount_now, paid_then, paid_now)
    order by 2, s.company_id, s.currencies;
end $$;
comment on function report.since_close(text, text) is
  'Returns what has changed since a close, until another close of the same company or (null) now: a row for each rental and currency that differs. what: new, changed, canceled (does not take place any more), reinstated or gone. Amounts are those of close_totals: the differences of all rows are the difference of the totals. changed: {field: {then, now}} of what the close keeps.';
