-- Nothing of the outbox is public; boat_mirror_enqueue may queue changes, see its own and decide about them, and
-- boat_mirror_operator may see and decide about all.

revoke all on all functions in schema outbox from public;
revoke all on all tables in schema outbox from public;
-- Every reader of the view outbox.changes calls it.
grant execute on function outbox.is_of_caller(text) to public;
do $$
begin
  if exists (select from pg_roles where rolname = 'boat_mirror_enqueue') then
    grant usage on schema outbox to boat_mirror_enqueue;
    grant execute on function outbox.enqueue(text, jsonb, jsonb, jsonb), outbox.retry(bigint, text), outbox.cancel(bigint, text)
      to boat_mirror_enqueue;
    grant select on outbox.changes to boat_mirror_enqueue;
  end if;
  if exists (select from pg_roles where rolname = 'boat_mirror_operator') then
    grant usage on schema outbox, sync, report to boat_mirror_operator;
    grant execute on function outbox.retry(bigint, text), outbox.cancel(bigint, text), outbox.resolve(bigint, text, bigint, text),
      outbox.former_database(text, boolean), sync.release(bigint, text), sync.pause(text, text), sync.resume(text, text),
      sync.hand_over(name, name), sync.acknowledge(text, text) to boat_mirror_operator;
    grant select on outbox.changes, sync.held_plans, sync.stream_plans, sync.decisions, sync.held, sync.runs, sync.streams,
      report.closes
      to boat_mirror_operator;
  end if;
  if exists (select from pg_roles where rolname = 'boat_mirror_partner') then
    grant select on mirror.rentals_local to boat_mirror_partner;
  end if;
end $$;
