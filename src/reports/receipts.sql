-- Payment lines with the day on which each was first seen: the API gives them no date. What a payment was before and after each entry
-- of the log is the present row with the old values of all later entries on it, from the last to the next. Run by every migrate.

create or replace aggregate report.overlaid(jsonb) (sfunc = jsonb_concat, stype = jsonb, initcond = '{}');
comment on aggregate report.overlaid(jsonb) is 'Puts objects over each other: of each member the last one counts.';

create or replace function report.receipts(from_day date, to_day date)
  returns table (day date, company_id bigint, rental_id bigint, payment_id bigint, entry text, currency text, method text, vat_rate numeric,
    amount numeric, first_seen_at timestamptz, seen_at timestamptz)
  language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
with span as (select s.time_zone, $1::timestamp at time zone s.time_zone as begins, ($2 + 1)::timestamp at time zone s.time_zone as ends
    from sync.settings s),
  -- Entries after the days lead back to them. A part of a rental that has a VAT rate: its boat, which it always has, or an option.
  log as materialized (
    select l.seq, l.changed_at, l.stream, l.operation, l.diff, not l.whole as is_first, k.*
    from mirror.change_log l cross join lateral (
      select (l.key ->> case l.stream when 'rentals' then 'id' else 'rental_id' end)::bigint,
        case l.stream when 'rental_payments' then (l.key ->> 'id')::bigint end,
        case l.stream when 'rental_options' then ' ' || (l.key ->> 'id') when 'rental_resources' then ' boat' else '' end,
        case l.stream when 'rental_payments' then '{live,price,currency,method,method_id}'::text[] when 'rental_options' then '{live,vat_rate}'
          when 'rental_resources' then '{vat_rate}' else '{company_id}' end) k (rental_id, payment_id, part, names)
    where l.changed_at >= (select begins from span) and l.stream in ('rental_payments', 'rental_options', 'rental_resources', 'rentals')
      and (l.stream = 'rental_payments' or l.stream = 'rental_options' and l.operation <> 'update'
        or l.diff ?| k.names or l.diff -> '_before' ?| k.names)
  ),
  payments as materialized (
    select p.rental_id, p.id, coalesce(f.changed_at, o.changed_at, p._changed_at) as first_seen_at,
      f.changed_at is null and o.operation is distinct from 'insert' as is_older,
      jsonb_build_object('live', p._deleted_at is null, 'price', p.price, 'currency', p.currency, 'method', p.method, 'method_id', p.method_id,
        'company_id', (select r.company_id from mirror.rentals r where r.id = p.rental_id),
        'vat_rate boat', (select v.vat_rate from mirror.rental_resources v where v.rental_id = p.rental_id))
      || (select coalesce(jsonb_object_agg('vat_rate ' || v.id, v.vat_rate) || jsonb_object_agg('live ' || v.id, v._deleted_at is null), '{}')
        from mirror.rental_options v where v.rental_id = p.rental_id) as present
    from mirror.rental_payments p
    left join log f on f.rental_id = p.rental_id and f.payment_id = p.id and f.is_first and f.operation = 'insert'
    left join lateral (select k.changed_at, k.operation
      from (select * from mirror.change_log k where k.key = jsonb_build_object('rental_id', p.rental_id, 'id', p.id) offset 0) k
      where k.stream = 'rental_payments' order by k.seq limit 1) o on f.changed_at is null
    where p._changed_at >= (select begins from span) and p._changed_at < (select ends from span)
      or p.rental_id in (select l.rental_id from log l where l.changed_at < (select ends from span))
  ),
  events as (
    -- A company that is null was not read yet.
    select p.rental_id, p.id, l.seq, l.changed_at, (
        select coalesce(jsonb_object_agg(o.name || l.part, o.value), '{}') from (
          select d.name, d.pair -> 0 from jsonb_each(l.diff) d (name, pair) where l.operation = 'update'
          union all select b.name, b.value from jsonb_each(l.diff -> '_before') b (name, value)
          union all select 'live', to_jsonb(l.operation <> 'insert')) o (name, value)
        where o.name = any (l.names) and (l.stream <> 'rentals' or o.value <> 'null')) as old
    from payments p join log l on l.rental_id = p.rental_id and (l.payment_id = p.id or l.payment_id is null)
    -- The log no longer has the beginning: it counts from what is known first.
    union all select p.rental_id, p.id, 0, p.first_seen_at, '{"live": false}' from payments p where p.is_older
  ),
  states as (
    select e.rental_id, e.id, e.seq, e.changed_at, e.old, p.first_seen_at, p.present || report.overlaid(e.old) over (
        partition by e.rental_id, e.id order by e.seq desc rows between unbounded preceding and 1 preceding) as after
    from events e join payments p using (rental_id, id)
  )
select (c.changed_at at time zone s.time_zone)::date, (c.after ->> 'company_id')::bigint, c.rental_id, c.id,
  case when not live.before then 'receipt' when not live.after then 'reversal' else 'correction' end,
  n.currency, n.method, n.vat_rate, n.amount, c.first_seen_at, c.changed_at
from states c cross join span s
cross join lateral (select (c.after || c.old) as before) b
cross join lateral (select (b.before ->> 'live')::boolean as before, (c.after ->> 'live')::boolean as after) live
-- What it was is taken back and what it is now added, for each currency, method and VAT rate on which the parts of the rental agree.
cross join lateral (
  select report.currency_code(t.state -> 'currency') as currency,
    coalesce((select m.name from mirror.rental_payment_methods m where m.id = (t.state ->> 'method_id')::bigint),
      t.state #>> '{method,name}', case jsonb_typeof(t.state -> 'method') when 'string' then t.state ->> 'method' end) as method,
    (select case when min(r.rate) = max(r.rate) then min(r.rate) end from (
        select (v.value #>> '{}')::numeric from jsonb_each(t.state) v
        where v.key like 'vat_rate %' and (t.state ->> ('live' || substr(v.key, 9)) = 'false') is not true) r (rate)) as vat_rate,
    sum(t.sign * (t.state ->> 'price')::numeric) as amount
  from (values (b.before, -1), (c.after, 1)) t (state, sign) where (t.state ->> 'live')::boolean
  group by 1, 2, 3 having coalesce(sum(t.sign * (t.state ->> 'price')::numeric), 0) <> 0 or not live.before
) n
where report.assert_days($1, $2) and c.changed_at >= s.begins and c.changed_at < s.ends
  and (company_access.visible() is null or (c.after ->> 'company_id')::bigint = any (company_access.visible()))
order by c.changed_at, c.seq, c.rental_id, c.id, n.amount
$$;
comment on function report.receipts(date, date) is
  'Returns the payment lines that were first seen on these days (both included, in TIME_ZONE), by the change log: receipt. What changed of one since is a correction with the difference, its disappearance a reversal. All lines until today add up to the payments as they are, per currency, method and VAT rate of the rental. A working paper, not certified accounting.';
revoke all on function report.overlaid(jsonb) from public;
