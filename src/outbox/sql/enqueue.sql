-- outbox.enqueue and the steps it is made of: checks, order, idempotence and the first state of a change.
-- The function is the only thing that boat_mirror_enqueue may call; it runs with its owner's rights.

create or replace function outbox.check_options(operation text, spec outbox.operations, options jsonb) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  given text;
begin
  if options = '{}' then return; end if;
  for given in select jsonb_object_keys(options) loop
    if given not in ('reference', 'expires_at', 'on_conflict', 'base') then
      perform outbox.refuse(format('%s: options.%s is unknown; allowed: reference, expires_at, on_conflict, base.', operation, left(given, 100)));
    end if;
  end loop;
  if options ? 'reference' and (jsonb_typeof(options->'reference') <> 'string' or length(options->>'reference') not between 1 and 500) then
    perform outbox.refuse(format('%s: options.reference is %s. It must be text of 1 to 500 characters.', operation, outbox.shown(options->'reference')));
  end if;
  if options ? 'on_conflict' and coalesce(options->>'on_conflict', '') not in ('fail', 'local_wins', 'remote_wins') then
    perform outbox.refuse(format('%s: options.on_conflict is %s. It must be one of fail, local_wins, remote_wins.', operation, outbox.shown(options->'on_conflict')));
  end if;
  if options ? 'base' and (jsonb_typeof(options->'base') not in ('object', 'null') or spec.kind <> 'update') then
    perform outbox.refuse(format('%s: options.base must be an object of the fields that the editor saw, or null to overwrite any value. Only updates accept it.', operation));
  end if;
  if jsonb_typeof(options->'base') = 'object' then
    if jsonb_path_exists(options->'base', 'strict $.**{10}') then
      perform outbox.refuse(format('%s: options.base is nested deeper than nine levels, which no record of the API is.', operation));
    end if;
    for given in select jsonb_object_keys(options->'base') loop
      if not spec.body @> jsonb_build_array(jsonb_build_object('name', given)) then
        perform outbox.refuse(format('%s: options.base.%s cannot be written; allowed: %s.', operation, left(given, 100), outbox.names(spec.body)));
      end if;
    end loop;
  end if;
end $$;

create or replace function outbox.expiry(operation text, options jsonb) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  if not options ? 'expires_at' then return null; end if;
  if jsonb_typeof(options->'expires_at') <> 'string' or options->>'expires_at' !~ '^[0-9]{4}-' then
    raise invalid_datetime_format;
  end if;
  return (options->>'expires_at')::timestamptz;
exception when data_exception then
  perform outbox.refuse(format('%s: options.expires_at is %s. It must be a date-time such as 2026-07-14T09:00:00+02:00.',
    operation, outbox.shown(options->'expires_at')));
  return null;
end $$;

create or replace function outbox.lock_aggregate(aggregate text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$ begin perform pg_advisory_xact_lock(hashtextextended('boat-mirror outbox ' || aggregate, 0)); end $$;
comment on function outbox.lock_aggregate(text) is
  'Locks an aggregate until the end of the transaction, so that its ids commit in order.';

create or replace function outbox.lock_order(spec outbox.operations, target jsonb) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  owner_value jsonb := target->(case spec.aggregate when 'rental' then 'rentalId' else 'userId' end);
  aggregate text;
  moved text;
begin
  if jsonb_typeof(owner_value) <> 'object' then
    aggregate := spec.aggregate || ':' || (owner_value #>> '{}');
    perform outbox.lock_aggregate(aggregate);
    return aggregate;
  end if;
  aggregate := 'change:' || (owner_value->>'change');
  perform outbox.lock_aggregate(aggregate);
  select q.aggregate into moved from outbox.queue q where q.id = (owner_value->>'change')::bigint;
  if moved <> aggregate then
    perform outbox.lock_aggregate(moved);
  end if;
  return moved;
end $$;
comment on function outbox.lock_order(outbox.operations, jsonb) is
  'Locks and returns the aggregate of a change. A change below a record that does not exist yet belongs to the change that creates the record.';

-- Where a function is given a name, its texts are compared in the collation of names, and no index is used: so those here have
-- theirs back.
create or replace function outbox.assert_current(operation text, changes bigint[] default '{}', aggregate text default null, role name default null)
returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') not in ('repeatable read', 'serializable') then return; end if;
  -- Not `for key share`, which takes the old version of a row. Undone at once: no worker's heartbeat waits for the caller.
  perform from outbox.queue q where q.id = any (changes || array(select c.id from outbox.queue c
    where c.aggregate = assert_current.aggregate collate "default" and c.operation = 'rental.create')) for share;
  perform from outbox.counted_roles c where c.name = role for share;
  raise sqlstate 'BM000';
exception
  when sqlstate 'BM000' then null;
  when serialization_failure then raise exception using errcode = '40001', message = format(
    '%s: the outbox has changed since the snapshot of this transaction. Repeat the transaction.', operation);
end $$;
comment on function outbox.assert_current(text, bigint[], text, name) is
  'Refuses a snapshot that is older than the given changes, the creation of the rental of an aggregate, or what a role has queued.';

create or replace function outbox.result_in(value jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) = 'object' and value ? 'change' then
    return (select q.result->'id' from outbox.queue q where q.id = (value->>'change')::bigint and q.status = 'done');
  end if;
  return value;
end $$;

create or replace function outbox.mirrored(spec outbox.operations, target jsonb, body jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  condition text;
  payload jsonb;
begin
  if spec.kind <> 'update' then return jsonb '{}'; end if;
  select string_agg(format('%I = %L', part->>'column', outbox.result_in(target->(part->>'param')) #>> '{}'), ' and ')
    into condition
    from jsonb_array_elements(spec.key) as list (part);
  begin
    execute format('select _payload from mirror.%I where %s and _deleted_at is null', spec.stream, condition) into payload;
  exception when data_exception then
    return jsonb '{}'; -- the API named an id that is none for this table: nothing of it is mirrored
  end;
  if payload is null then return jsonb '{}'; end if;
  return (select coalesce(jsonb_object_agg(field.name, coalesce(payload->'_exact'->field.name, payload->field.name,
            case when payload ? '{{erased_member}}' then jsonb '"{{hash_prefix}}erased"' else 'null' end)), '{}')
          from jsonb_object_keys(body) as field (name));
end $$;
comment on function outbox.mirrored(outbox.operations, jsonb, jsonb) is
  'Returns what the mirror shows for the fields of an update, as the base of the three-way merge. Empty while the record is not mirrored; a mark for what `privacy apply` erased.';

create or replace function outbox.earlier_changes(of_aggregate text, change bigint, role name, looked_at timestamptz, key text,
  of_stream text, seen pg_snapshot, patience_ms float8, own bigint)
returns table (id bigint, left_behind text, is_base boolean, ago_ms float8) language plpgsql stable {{by_index}} set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query select q.id, q.left_behind::text, l.is_base, l.ago_ms from outbox.queue q,
      lateral (select q.id < change and q.enqueued_by = role and (q.settled_at > looked_at or (q.settled_at > looked_at - interval '1 hour'
          and not pg_visible_in_snapshot(q.settled_xid, seen))) as is_base,
        (extract(epoch from clock_timestamp() - q.settled_at) * 1000)::float8 as ago_ms) l
    where q.aggregate = of_aggregate collate "default" and q.id <> change and q.status = 'done' and (l.is_base or l.ago_ms < patience_ms or q.id = own)
      and q.record_key = key collate "default" and q.left_behind is not null
      and (select o.stream from outbox.operations o where o.operation = q.operation) = of_stream;
end $$;
comment on function outbox.earlier_changes(text, bigint, name, timestamptz, text, text, pg_snapshot, float8, bigint) is
  'Returns what earlier changes left of a record: those that belong to the base of a change, and those that the API may not show yet.';

create or replace function outbox.refuse_hashes(place text, given jsonb) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  member text;
begin
  if position('{{hash_prefix}}' in given::text) = 0 then return; end if;
  for member in select key from jsonb_each(given)
                where jsonb_path_exists(value, 'strict $.** ? (@ starts with "{{hash_prefix}}")') loop
    perform outbox.refuse(format('%s.%s is a hash from the mirror (%s…), not a value, and would be sent as it is. Give the value, or omit the field.',
      place, left(member, 100), '{{hash_prefix}}'));
  end loop;
end $$;
comment on function outbox.refuse_hashes(text, jsonb) is
  'Refuses hashes that replace personal values in the mirror, so that they are never written to the API.';

create or replace function outbox.same_record(place text, target jsonb, aggregate text) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  part record;
  other text;
begin
  for part in select key, value from jsonb_each(target)
              where key not in ('rentalId', 'userId') and jsonb_typeof(value) = 'object' loop
    select q.aggregate into other from outbox.queue q where q.id = (part.value->>'change')::bigint;
    if other <> aggregate then
      perform outbox.refuse(format('%s.%s refers to change %s, which belongs to %s, not to %s.',
        place, part.key, part.value->>'change', other, aggregate));
    end if;
  end loop;
end $$;

create or replace function outbox.wait_for_user(assignment bigint, target jsonb, body jsonb) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  creation bigint := (target#>>'{rentalId,change}')::bigint;
  person bigint := (body#>>'{userId,change}')::bigint;
begin
  if creation is null or person is null then return; end if;
  insert into outbox.dependencies (change_id, depends_on, implied_by)
    select q.id, person, assignment from outbox.queue q where q.id = creation and q.status in ({{waiting}})
    on conflict do nothing;
  perform outbox.block_dependants(person);
end $$;
comment on function outbox.wait_for_user(bigint, jsonb, jsonb) is
  'Makes the creation of a rental wait for its user, because a pending rental expires after 15 minutes.';

create or replace function outbox.check_limit(operation text, role name) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $$
declare
  allowed constant int := (select s.outbox_limit from sync.settings s);
  open_changes bigint;
begin
  if allowed is null then return; end if;
  -- Until the transaction ends no other session of this role enqueues, so that the count is complete.
  perform pg_advisory_xact_lock(hashtextextended('boat-mirror outbox of ' || role, 0));
  perform outbox.assert_current(operation, role => role);
  insert into outbox.counted_roles as c (name, counted_by) values (role, pg_current_xact_id())
    on conflict (name) do update set counted_by = excluded.counted_by where c.counted_by <> excluded.counted_by;
  select count(*) into open_changes from outbox.queue q where q.enqueued_by = role and {{is_unsettled}};
  if open_changes >= allowed then
    raise exception using errcode = '53400', message = format(
      '%s: role %s has %s open changes, and OUTBOX_LIMIT allows %s. Wait until some are done, or decide those that need your decision: select id, operation, status, error from outbox.changes where settled_at is null;',
      operation, quote_ident(company_access.name_of(role)), open_changes, allowed);
  end if;
end $$;
comment on function outbox.check_limit(text, name) is
  'Refuses a change if its role already has OUTBOX_LIMIT open changes. The refusal also undoes what the same transaction queued before.';

create or replace function outbox.is_of(aggregate text, role name, companies bigint[]) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select exists (select from outbox.queue q
      where q.aggregate = is_of.aggregate collate "default" and q.enqueued_by = role and (q.operation = 'user.create'
        or q.operation = 'rental.create' and company_access.of_resources(q.body->>'resourceId') = any (companies)))
    or case when aggregate like 'rental:%' then company_access.of_rentals(substr(aggregate, 8)::bigint) = any (companies) end
    is true
$$;
comment on function outbox.is_of(text, name, bigint[]) is
  'For a role with access by company: returns whether the aggregate belongs to its companies, or the role created it.';

create or replace function outbox.is_of_caller(aggregate text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select outbox.is_of(aggregate, company_access.partner(), company_access.visible()) $$;
comment on function outbox.is_of_caller(text) is
  'The same for the calling role, which learns of nothing else.';

create or replace function outbox.check_company(operation text, aggregate text, body jsonb, role name, companies bigint[])
returns void
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  person constant jsonb := body->'userId';
  foreign_part text;
begin
  if companies is null or operation = 'user.create' then return; end if;
  if operation = 'rental.create' then
    if (company_access.of_resources(body->>'resourceId') = any (companies)) is not true then
      foreign_part := format('resource %s', body->>'resourceId');
    end if;
  elsif not outbox.is_of(aggregate, role, companies) then
    foreign_part := replace(aggregate, ':', ' ');
  elsif jsonb_typeof(person) = 'number' and not outbox.is_of('user:' || (person #>> '{}'), role, companies)
    and not exists (select from mirror.rentals r where r.user_id = (person #>> '{}')::bigint and r.company_id = any (companies)) then
    foreign_part := format('user %s', person);
  end if;
  if foreign_part is not null then
    raise exception using errcode = '42501', message = format(
      '%s: %s is nothing that role %s may write to: it sees companies %s alone.',
      operation, foreign_part, quote_ident(company_access.name_of(role)), array_to_string(companies, ', '));
  end if;
end $$;
comment on function outbox.check_company(text, text, jsonb, name, bigint[]) is
  'Refuses changes outside the companies of a role. It may write to rentals of its companies, and to rentals and users that it created.';

create or replace function outbox.enqueue(operation text, target jsonb, body jsonb default '{}', options jsonb default '{}')
returns bigint
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  caller constant name := company_access.registered();
  spec outbox.operations;
  existing record;
  waits_for bigint[];
  new_aggregate text;
  new_id bigint;
  change_base jsonb;
  seen pg_snapshot;
  dead bigint;
begin
  -- the requested operation
  select o.* into spec from outbox.operations o where o.operation = enqueue.operation;
  if spec.operation is null then
    perform outbox.refuse(format('The operation %s is unknown; allowed: %s.', coalesce(left(operation, 100), 'NULL'),
      (select string_agg(o.operation, ', ' order by o.operation) from outbox.operations o)));
  end if;
  target := coalesce(target, '{}');
  body := coalesce(body, '{}');
  options := coalesce(options, '{}');
  perform outbox.check_size(operation, 'target', target);
  perform outbox.check_size(operation, 'body', body);
  perform outbox.check_size(operation, 'options', options);
  if jsonb_typeof(target) <> 'object' then perform outbox.refuse(format('%s: target is %s. It must be an object of %s.', operation, outbox.shown(target), outbox.names(spec.target))); end if;
  if jsonb_typeof(body) <> 'object' then perform outbox.refuse(format('%s: body is %s. It must be an object of %s.', operation, outbox.shown(body), outbox.names(spec.body))); end if;
  if jsonb_typeof(options) <> 'object' then perform outbox.refuse(format('%s: options is %s. It must be an object of reference, expires_at, on_conflict, base.', operation, outbox.shown(options))); end if;
  perform outbox.check_options(operation, spec, options);
  target := outbox.with_numbers(spec.target, target);
  body := outbox.with_numbers(spec.body, body);
  if jsonb_typeof(options->'base') = 'object' then
    options := options || jsonb_build_object('base', outbox.with_numbers(spec.body, options->'base'));
  end if;

  -- the same again is the same change
  if options ? 'reference' then
    select q.id, q.operation, q.target, q.body into existing from outbox.queue q
      where q.enqueued_by = caller and q.reference = options->>'reference';
    if found then
      perform outbox.assert_current(operation, array[existing.id]);
      return outbox.same_change(existing.id, operation, target, body);
    end if;
  end if;

  perform outbox.check_limit(operation, caller);

  -- every value
  waits_for := outbox.check_members(operation || ': target', spec.target, target)
            || outbox.check_members(operation || ': body', spec.body, body);
  perform outbox.refuse_hashes(operation || ': target', target);
  perform outbox.refuse_hashes(operation || ': body', body);
  if spec.kind = 'update' and body = '{}' then
    perform outbox.refuse(format('%s: body is empty; allowed: %s.', operation, outbox.names(spec.body)));
  end if;

  -- order: the id is taken under the aggregate's lock
  if spec.kind <> 'create' then
    new_aggregate := outbox.lock_order(spec, target);
  end if;
  perform outbox.assert_current(operation, waits_for, new_aggregate);
  if company_access.restricts() then
    perform outbox.check_company(operation, new_aggregate, body, caller, company_access.visible());
  end if;
  if waits_for <> '{}' then
    perform outbox.same_record(operation || ': target', target, new_aggregate);
  end if;
  new_id := nextval('outbox.queue_id_seq');
  new_aggregate := coalesce(new_aggregate, 'change:' || new_id);
  seen := pg_current_snapshot(); -- before the base is read: what is committed in between counts as not seen
  change_base := outbox.mirrored(spec, target, body) || coalesce(nullif(options->'base', 'null'), '{}');

  insert into outbox.queue (id, operation, target, body, options, aggregate, reference, enqueued_by, expires_at, on_conflict, base, seen_snapshot, deadline, epoch)
    values (new_id, operation, target, body, options, new_aggregate, options->>'reference', caller,
      outbox.expiry(operation, options), coalesce(options->>'on_conflict', 'fail'), change_base, seen,
      (select max(q.deadline) from outbox.queue q where q.aggregate = new_aggregate and q.operation = 'rental.create'),
      (select h.epoch from sync.history() h))
    on conflict (enqueued_by, reference) where reference is not null do nothing;
  if not found then
    select q.id into existing from outbox.queue q
      where q.enqueued_by = caller and q.reference = options->>'reference';
    return outbox.same_change(existing.id, operation, target, body);
  end if;

  if exists (select from sync.erased) then
    perform outbox.refuse_erased(q) from outbox.queue q where q.id = new_id;
  end if;

  -- what it waits for
  if waits_for <> '{}' then
    insert into outbox.dependencies (change_id, depends_on)
      select distinct new_id, needed from unnest(waits_for) as list (needed);
    if operation = 'rental_user.assign' then
      perform outbox.wait_for_user(new_id, target, body);
    end if;
    for dead in select q.id from outbox.queue q
                where q.id = any(waits_for) and q.status in ({{dead}}) loop
      perform outbox.block_dependants(dead);
    end loop;
  end if;
  perform pg_notify('boat_mirror_outbox', '');
  return new_id;
end $$;
comment on function outbox.enqueue(text, jsonb, jsonb, jsonb) is
  'Queues one change for the API inside the caller''s transaction and returns its id. A refusal says what is accepted.';

create or replace function outbox.same_change(existing bigint, operation text, target jsonb, body jsonb) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  known record;
begin
  select q.operation, q.target, q.body, q.reference, q.veiled into known from outbox.queue q where q.id = existing;
  if known.operation = operation and known.target = target and (known.body is null or known.veiled or known.body = body) then
    return existing;
  end if;
  raise exception using errcode = '23505', message = format(
    '%s: options.reference %s is taken by change %s with other content (%s); a reference names one change.',
    operation, outbox.shown(to_jsonb(known.reference)), existing, known.operation);
end $$;
