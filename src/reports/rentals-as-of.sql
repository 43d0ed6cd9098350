-- report.rentals at a moment. With its owner's rights, so that readers may call it: what a role restricted to companies saw
-- then, it is shown. Options that were changed since name the currency that they name now.

create or replace function report.rentals_as_of(at timestamptz) returns setof report.rentals
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  companies constant bigint[] := company_access.visible();
begin
  perform mirror.check_moment(at);
  return query
    with harbours as materialized (select h.id, h.name from {{harbours}} h)
    {{rentals}};
end $$;
comment on function report.rentals_as_of(timestamptz) is
  'Returns report.rentals as the mirror had it at a time: rentals, payments and all names. Of payment lines it counts as read what has been read by now. A time that the change log does not cover, or of which open transactions may still write changes, is refused (22023).';
