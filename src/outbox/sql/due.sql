-- Claims changes. outbox.claim holds the planner to the indexes in the order of the ids, in all functions here and whatever is known
-- of the table: one that was never analysed it takes for so small that it would sort all of the queue for each claim.

create or replace function outbox.due_of_role(role name, most int, but bigint[]) returns bigint[]
language plpgsql stable
as $$
begin
  return array(select q.id from outbox.queue q
    where q.status = 'queued' and q.deadline is null and q.enqueued_by = role and {{due}} and q.id <> all(but)
    order by q.id limit most);
end $$;
comment on function outbox.due_of_role(name, int, bigint[]) is
  'Returns the oldest due changes of a role, except the given ones and those that cannot wait.';

create or replace function outbox.due_changes(most int, after_role name) returns setof bigint
language plpgsql stable rows 16 set plan_cache_mode = force_generic_plan
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

-- Asks for eight more changes than needed, because another pusher may have locked the first ones, and checks each again after it
-- has locked it. `case` hides the states from the planner, so that it looks up each change by its id.
create or replace function outbox.claim(pusher text, lease_ms int, most int, after_role name) returns setof outbox.queue
language plpgsql volatile rows 16 {{by_index}} set plan_cache_mode = force_custom_plan set enable_bitmapscan = off set enable_sort = off as $$
begin
  perform {{choosing_plan}};
  return query with here as materialized (
    select i.epoch, i.since from outbox.installation i, sync.history() h where i.epoch = h.epoch
  ), candidate as materialized (
    select q.id, d.place, here.epoch, case when q.epoch <> here.epoch then here.since end as former_until
    from here, outbox.due_changes(most + 8, after_role) with ordinality as d (id, place) join outbox.queue q on q.id = d.id
    where case when {{claimable}} then {{free}} end
    order by d.place limit most for update of q skip locked
  ), claimed as (
    update outbox.queue q set status = 'sending', {{claiming}},
      attempts = q.attempts + case when q.departed or former_until is not null then 0 else 1 end,
      departed = q.departed or former_until is not null,
      sent_at = case when former_until is null then q.sent_at else greatest(q.sent_at, former_until) end,
      proof = case when former_until is null then q.proof
        when q.departed or q.proof ? 'ambiguous' then q.proof - '{finished,refused}'::text[]
        else jsonb_build_object('former', q.epoch::text) end,
      epoch = candidate.epoch
    from candidate where q.id = candidate.id and {{durably}} returning q, candidate.place
  ) select (c.q).* from claimed c order by c.place;
end $$;
comment on function outbox.claim(text, int, int, name) is
  'Claims due changes for a pusher, in the order of outbox.due_changes. Claims nothing if the history of the database has changed since it was last noticed. A change of another history may have been sent there, so it is claimed as dispatched and verified first; if it has no evidence of an attempt, `former` names its history.';

-- Volatile, so that it sees all that a claim in the same statement has seen as done. `offset 0`: each is looked up by its id.
create or replace function outbox.results_of(change bigint) returns jsonb language plpgsql volatile {{by_index}} set plan_cache_mode = force_generic_plan as $$
begin
  return (select jsonb_object_agg(d.depends_on::text, c.made) from outbox.dependencies d cross join lateral (
    select q.result->'id' as made from outbox.queue q where q.id = d.depends_on and q.status = 'done' offset 0) c where d.change_id = change);
end $$;
comment on function outbox.results_of(bigint) is 'Returns the results of the changes that a change refers to, by their ids.';
