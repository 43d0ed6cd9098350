with w as (
  select $1::timestamptz as before, $2::float8 as max_age_ms, {{soon_share}}::float8 as soon_share,
    $3::date as first_day, $4::date as last_day, $5::timestamptz as since,
    $6::boolean and {{list_suffices}} as listed, $6::boolean and {{reads_are_skipped}} as partly
)
select {{columns}}
from w cross join {{holders}} m
  {{remembered}}
  cross join lateral (select {{read_at}} as read_at, {{changed_at}} as changed_at, {{old_at}} as old_at) t
  cross join lateral (select case
    when {{is_always}} then 'always'
    when t.read_at is null then 'new'
    when t.read_at < t.changed_at or {{is_expected}} then 'changed'
    when t.read_at < w.before then 'asked'
    when d.partly and not w.partly then 'needed'
    when w.listed or t.old_at >= now() then null
    when {{is_soon}} then 'soon'
    else 'aged'
  end as reason) due
where m._deleted_at is null and not {{is_stub}} and {{is_in_horizon}} and {{is_found}}
  {{tail}}
