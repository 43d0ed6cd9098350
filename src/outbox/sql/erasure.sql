-- Changes about persons who are erased, here or upstream: none is queued or sent, and nothing of them is kept but the outcome.

create or replace function outbox.forget(changes bigint[]) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
as $$
  update outbox.queue q
    set body = null, base = '{}', options = q.options - 'base', left_behind = null, proof = null, conflict = null,
        request = q.request - 'body', response = q.response - 'body', veiled = true,
        warning = regexp_replace(q.warning, '( could not be mirrored): .*', '\1.')
    where q.id = any(changes) and q.status in ({{final}}, 'unknown')
      and (q.body is not null or q.left_behind is not null or q.conflict is not null or q.response ? 'body')
$$;

create or replace function outbox.erase_person(user_id bigint) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
as $$ select outbox.forget(array(select q.id from outbox.queue q where q.aggregate = 'user:' || user_id)) $$;
comment on function outbox.erase_person(bigint) is
  'Removes the content of settled changes of a person who was deleted, and keeps their outcome.';

create or replace function outbox.forget_gone_user() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$ begin perform outbox.erase_person(new.id); return null; end $$;

create or replace function outbox.erased_user(change outbox.queue) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  -- Nearly always nobody is: 5 microseconds instead of 36 (loops in PL/pgSQL, embedded Postgres).
  if not exists (select from sync.erased) then return null; end if;
  return (select case e.stream when 'users' then e.key else coalesce(
      (select r.user_id::text from mirror.rentals r where r.id = substring(change.aggregate from '^rental:(\d{1,18})$')::bigint), 'USER') end
    from sync.erased e
    where e.stream = case when change.operation like 'rental\_crew\_member.%' then 'rental_crew_members' else 'users' end
      and e.key = case
        when change.operation like 'rental\_crew\_member.%' then coalesce(change.record_key,
          format('["%s","%s"]', substr(change.aggregate, 8), outbox.result_in(change.target->'crewMemberId') #>> '{}'))
        when change.operation = 'rental_user.assign' then outbox.result_in(change.body->'userId') #>> '{}'
        when change.aggregate like 'user:%' then substr(change.aggregate, 6) end);
end $$;
comment on function outbox.erased_user(outbox.queue) is
  'Returns the id of the erased user whom a change is about, or whose crew member; null if it is about nobody who is erased.';

create or replace function outbox.refuse_erased(change outbox.queue) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  user_id constant text := outbox.erased_user(change);
begin
  if user_id is not null then
    perform outbox.refuse(format('%s: user %s is erased, and a change would bring them back. Undo that first: boat-mirror privacy unerase %s.',
      change.operation, user_id, user_id));
  end if;
end $$;

create or replace function outbox.end_erased(candidates bigint[] default null) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
as $$
declare
  ended bigint[];
  victim bigint;
begin
  ended := array(select q.id from outbox.queue q where q.id = any(coalesce(candidates,
    array(select c.id from sync.erased e join outbox.queue c on c.aggregate =
        case e.stream when 'users' then 'user:' || e.key else 'rental:' || substring(e.key from '^\["(\d+)"') end)
      || array(select c.id from outbox.queue c where {{is_unsettled}} and c.operation = 'rental_user.assign')))
    and (outbox.erased_user(q) is not null
      or exists (select from mirror.users u where u.id = substring(q.aggregate from '^user:(\d{1,18})$')::bigint and u._deleted_at is not null)
      -- it failed to add a member to a crew that was erased
      or candidates is null and q.operation = 'rental_crew_member.add' and q.record_key is null and q.status in ({{final}})));
  if ended = '{}' then return; end if;
  for victim in
    update outbox.queue q set status = 'canceled', settled_at = clock_timestamp(), blocked_by = null,
        error = format('Canceled: user %s is erased.', outbox.erased_user(q))
      where q.id = any(ended) and q.status in ({{waiting}}, 'conflict') and outbox.erased_user(q) is not null returning q.id loop
    perform outbox.drop_implied(victim);
    perform outbox.block_dependants(victim);
    perform pg_notify('boat_mirror_settled', victim::text);
  end loop;
  perform outbox.forget(ended);
end $$;
comment on function outbox.end_erased(bigint[]) is
  'Ends changes about erased persons, all or these: what waits or is in conflict is canceled, and of what is settled or unknown the outcome is kept. The latter holds for users deleted upstream, too.';

create or replace function outbox.erased_changed() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- Until the end of the transaction no other one writes records; those that have read some read them again.
  update sync.privacy set generation = generation + 1;
  perform outbox.end_erased();
  return null;
end $$;
