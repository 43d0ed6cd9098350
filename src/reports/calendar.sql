-- report.calendar on the days asked for. With its owner's rights, as views have them, so that readers may call it.

create or replace function report.calendar(from_date date, to_date date default null) returns setof report.calendar
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
{{calendar}} and report.assert_days($1, coalesce($2, $1))
$$;
comment on function report.calendar(date, date) is
  'Returns report.calendar for a range of days, both inclusive. Without the second day, for one day.';
