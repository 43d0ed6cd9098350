-- Which changes a claim may take. The planner is held to the indexes in the order of the ids, whatever is known of the table:
-- one that was never analysed it takes for so small that it would sort all of the queue for each claim.

create or replace function outbox.due_of_role(role name, most int, but bigint[]) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return array(select q.id from outbox.queue q
    where q.status = 'queued' and q.deadline is null and q.enqueued_by = role and {{due}} and q.id <> all(but)
    order by q.id limit most);
end $$;
comment on function outbox.due_of_role(name, int, bigint[]) is
  'Returns the oldest due changes of a role, except the given ones and those that cannot wait.';

create or replace function outbox.due_changes(most int, after_role name) returns setof bigint
language plpgsql stable rows 16
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
  pressing constant bigint[] := array(
    select q.id from outbox.queue q where {{urgent}} and {{due}} order by q.id limit most);
  free constant int := most - cardinality(pressing);
  role name := after_role;
  wrapped boolean := false;
  roles name[] := '{}';
  chosen bigint[] := '{}';
  found_ids bigint[];
  laps int[] := '{}';
  share int;
begin
  -- One for each role that has one whose turn it is: the roles after the one that was served last, then those up to it.
  while cardinality(chosen) < free loop
    select q.enqueued_by into role from outbox.queue q
      where q.status = 'queued' and q.enqueued_by > role order by q.enqueued_by limit 1;
    exit when wrapped and (not found or role > after_role);
    if not found then
      wrapped := true;
      role := '';
      continue;
    end if;
    found_ids := outbox.due_of_role(role, 1, '{}');
    if cardinality(found_ids) > 0 then
      roles := roles || role;
      chosen := chosen || found_ids;
      laps := laps || 1;
    end if;
  end loop;
  -- The rest in equal shares, and then to roles with more changes.
  for lap in 2 .. 3 loop
    exit when cardinality(roles) = 0;
    share := ceil((free - cardinality(chosen))::numeric / case lap when 2 then cardinality(roles) else 1 end);
    foreach role in array roles loop
      exit when cardinality(chosen) >= free;
      found_ids := outbox.due_of_role(role, least(share, free - cardinality(chosen)), chosen);
      chosen := chosen || found_ids;
      laps := laps || array(select lap + place from generate_series(1, cardinality(found_ids)) place);
    end loop;
  end loop;
  return query select u.id from unnest(pressing) with ordinality u (id, place) order by u.place;
  return query select u.id from unnest(chosen, laps) with ordinality u (id, lap, place) order by u.lap, u.place;
end $$;
comment on function outbox.due_changes(int, name) is
  'Returns due changes. Those with an unknown outcome and those of pending rentals come first. Then come the oldest of each role in turn, starting after the given role. Stable: it sees what the claim sees.';
