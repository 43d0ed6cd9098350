-- Nothing of the outbox is public; boat_mirror_enqueue may queue changes and see its own.

revoke all on all functions in schema outbox from public;
revoke all on all tables in schema outbox from public;
-- Whoever reads the view outbox.changes calls it.
grant execute on function outbox.is_of_caller(text) to public;
do $$
begin
  if exists (select from pg_roles where rolname = 'boat_mirror_enqueue') then
    grant usage on schema outbox to boat_mirror_enqueue;
    grant execute on function outbox.enqueue(text, jsonb, jsonb, jsonb) to boat_mirror_enqueue;
    grant select on outbox.changes to boat_mirror_enqueue;
  end if;
  if exists (select from pg_roles where rolname = 'boat_mirror_partner') then
    grant select on mirror.rentals_local to boat_mirror_partner;
  end if;
end $$;
