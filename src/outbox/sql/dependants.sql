-- Keeps a change's dependants in step with it: blocking, reviving, expiry, moving to the created record.
-- Called by outbox.enqueue and by the pusher, always inside the transaction that changes the state.
-- Dependants are looked up by id: `case` keeps the planner from an index of all changes in that state.

create or replace function outbox.block_dependants(cause bigint) returns void
language sql volatile set search_path = pg_catalog, pg_temp
as $$
  with recursive hit (id) as (
    select d.change_id from outbox.dependencies d
      join outbox.queue c on c.id = d.depends_on
      where d.depends_on = cause and c.status in ({{dead}})
    union
    select d.change_id from hit join outbox.dependencies d on d.depends_on = hit.id
  )
  update outbox.queue q
    set status = 'blocked', blocked_by = cause,
        error = (select format('Waits for change %s (%s), which is %s.', c.id, c.operation, c.status)
                 from outbox.queue c where c.id = cause)
    where q.id = any(array(select hit.id from hit)) and case when q.status = 'queued' then true end
$$;
comment on function outbox.block_dependants(bigint) is
  'Blocks the changes that refer to a change that did not succeed, directly or through others.';

create or replace function outbox.revive_dependants(cause bigint) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  loop
    with recursive hit (id) as (
      select d.change_id from outbox.dependencies d where d.depends_on = cause
      union
      select d.change_id from hit join outbox.dependencies d on d.depends_on = hit.id
    )
    update outbox.queue q
      set status = 'queued', blocked_by = null, error = null, next_attempt_at = clock_timestamp()
      where q.id = any(array(select hit.id from hit)) and case when q.status = 'blocked' then true end
        and not exists (select from outbox.dependencies d join outbox.queue c on c.id = d.depends_on
                        where d.change_id = q.id and c.status in ({{dead}}));
    exit when not found;
  end loop;
end $$;
comment on function outbox.revive_dependants(bigint) is
  'Queues blocked changes again once they wait for nothing that did not succeed. It repeats this, so that whole chains are queued.';

create or replace function outbox.drop_implied(assignment bigint) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  freed record;
begin
  for freed in delete from outbox.dependencies d where d.implied_by = assignment returning d.change_id, d.depends_on loop
    perform outbox.revive_dependants(freed.depends_on);
    update outbox.queue q set status = 'queued', blocked_by = null, error = null, next_attempt_at = clock_timestamp()
      where q.id = freed.change_id and q.status = 'blocked'
        and not exists (select from outbox.dependencies d join outbox.queue c on c.id = d.depends_on
                        where d.change_id = q.id and c.status in ({{dead}}));
    perform outbox.revive_dependants(freed.change_id);
  end loop;
end $$;
comment on function outbox.drop_implied(bigint) is
  'Lets the creation of a rental no longer wait for its user, after the assignment was canceled.';

create or replace function outbox.expire_due() returns int
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  victim bigint;
  count int := 0;
begin
  for victim in
    update outbox.queue q
      set status = 'expired', settled_at = clock_timestamp(), proof = null, error = 'Not sent before its expires_at.'
      where q.expires_at <= clock_timestamp() and q.status in ({{waiting}})
        and q.epoch = (select i.epoch from outbox.installation i) -- of another history it may have been sent in time
      returning q.id
  loop
    count := count + 1;
    perform outbox.block_dependants(victim);
    perform pg_notify('boat_mirror_settled', victim::text);
  end loop;
  return count;
end $$;
comment on function outbox.expire_due() is 'Expires waiting changes whose expires_at has passed. Returns their number.';

create or replace function outbox.move_aggregate(creation bigint, destination text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  perform outbox.lock_aggregate('change:' || creation);
  perform outbox.lock_aggregate(destination);
  update outbox.queue q set aggregate = destination where q.aggregate = 'change:' || creation;
end $$;
comment on function outbox.move_aggregate(bigint, text) is
  'Moves the waiting changes of a record to it once it exists. Locks in the same order as outbox.enqueue.';

create or replace function outbox.write_done(
  ids bigint[], fences bigint[], states text[], results text[], responses text[], keys text[], lefts text[], warnings text[])
returns setof bigint language plpgsql volatile {{by_index}} set plan_cache_mode = force_custom_plan as $$
begin
  perform {{choosing_plan}};
  return query with done as (
    update outbox.queue q set status = 'done', settled_at = clock_timestamp(), settled_xid = pg_current_xact_id(), departed = false,
      result = s.result::jsonb, response = coalesce(s.response::jsonb, case when q.proof ? 'answered' then q.response end),
      record_key = s.record_key, left_behind = s.left_behind::jsonb, warning = s.warning, error = null, conflict = null,
      proof = null, owner = null, lease_until = null
    from unnest(ids, fences, states, results, responses, keys, lefts, warnings)
      as s (id, fence, status, result, response, record_key, left_behind, warning)
    where q.id = s.id and q.fence = s.fence and q.status = s.status and {{durably}} returning q.id
  ), counted as ({{noting_done}}) select d.id from done d;
end $$;
comment on function outbox.write_done(bigint[], bigint[], text[], text[], text[], text[], text[], text[]) is
  'Makes changes done, and counts them. Returns those that were still as they had been claimed.';

create or replace function outbox.after_done(done_change bigint, belongs_to text, holder_stream text, holder_key text,
  rental_status text, pending_ms int) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  if holder_key is not null then
    -- The row is no longer as the list brought it: should the list show the same as before, that is a change.
    insert into sync.records (stream, key) values (holder_stream, holder_key)
      on conflict (stream, key) do update set changed_at = clock_timestamp(), list_hash = null;
  end if;
  if report.status_word(rental_status) <> 'PENDING' then
    update outbox.queue q set deadline = null where q.aggregate = belongs_to and q.deadline is not null;
  elsif report.status_word(rental_status) = 'PENDING' then
    update outbox.queue q set deadline = c.sent_at + pending_ms * interval '1 ms' from outbox.queue c
      where c.id = done_change and c.operation = 'rental.create'
        and q.aggregate = belongs_to and (q.id = done_change or q.status in ({{waiting}}));
  end if;
  if exists (select from outbox.dependencies d where d.depends_on = done_change) then
    perform outbox.revive_dependants(done_change);
  end if;
  -- Nearly always nobody is: to find that out costs more than all of the above.
  if belongs_to like 'user:%' or exists (select from sync.erased) then
    perform outbox.end_erased(array[done_change]);
  end if;
  perform pg_notify('boat_mirror_settled', done_change::text);
end $$;
comment on function outbox.after_done(bigint, text, text, text, text, int) is
  'Does what follows after a change is done. Requests a read of its record and everything that belongs to it. Sets the deadline of a pending rental''s steps, or removes it once the rental is confirmed or canceled. Queues the changes that waited, and notifies listeners.';
