-- A month's end, on the first days of the next month: psql "$DATABASE_URL" -f examples/months-end.sql
-- Run it as a member of boat_mirror_operator, or of a role that is restricted to one company, which closes that company.

-- 1. Keep the figures under the name of the month, such as 2026-10. Once they are kept, this returns them again.
select * from report.close(to_char(report.today() - interval '1 month', 'YYYY-MM'));

-- 2. What the month comes to, for each company and currency.
select company_id, currency, rentals, amount, paid, due
from report.close_totals(to_char(report.today() - interval '1 month', 'YYYY-MM'));

-- 3. What is new, changed or canceled since the close before: these amounts are the difference of the two totals, to the cent.
select c.name as since, s.what, s.rental_id, s.reference_id, s.currency, s.amount_then, s.amount_now, s.paid_then, s.paid_now, s.changed
from (select name from report.closes where name < to_char(report.today() - interval '1 month', 'YYYY-MM') order by closed_at desc limit 1) c
cross join lateral report.since_close(c.name, to_char(report.today() - interval '1 month', 'YYYY-MM')) s
order by s.rental_id, s.currency;

-- 4. Receipts of the month by day, currency, method and VAT rate.
select r.day, r.currency, r.method, r.vat_rate, sum(r.amount) as amount
from (select date_trunc('month', report.today() - interval '1 month')::date as first_day) m
cross join lateral report.receipts(m.first_day, (m.first_day + interval '1 month')::date - 1) r
group by 1, 2, 3, 4
order by 1, 2, 3, 4;
