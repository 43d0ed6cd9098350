-- What people decide about changes: again, not at all, how a conflict ends, whether an unknown one took effect. A call checks
-- rights, plan and state and notes the decision (src/sync/decisions.sql). What needs the API, to read back what is there,
-- stays open until a pusher has carried it out (src/outbox/decisions.ts); everything else takes effect at once.

create or replace function outbox.plan_of(change bigint, before bigint default null) returns text
  language sql stable set search_path = pg_catalog, pg_temp
  as $$ select {{plan}} from outbox.queue q where q.id = change $$;
comment on function outbox.plan_of(bigint, bigint) is
  'Returns the hash that outbox.changes shows, or showed before a decision.';

create or replace function outbox.check_access_again(change outbox.queue) returns void
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  role constant oid := (select r.oid from pg_roles r where r.oid =
    case when exists (select from sync.partners p where p.partner = change.enqueued_by)
      then (select p.role from sync.partners p where p.partner = change.enqueued_by)
      else to_regrole(quote_ident(change.enqueued_by)) end);
  companies bigint[];
begin
  if role is null then return; end if;
  if not has_function_privilege(role, 'outbox.enqueue(text, jsonb, jsonb, jsonb)', 'execute') then
    raise exception 'Change % was queued by role %, which may no longer queue changes.', change.id, quote_ident(pg_get_userbyid(role))
      using errcode = '42501';
  end if;
  companies := company_access.of_role(role);
  if companies is not null then
    perform outbox.check_company(change.operation, change.aggregate, change.body, change.enqueued_by, companies);
  end if;
end $$;
comment on function outbox.check_access_again(outbox.queue) is
  'Refuses to send a change that its role could not queue now.';

create or replace function outbox.why_unsent(change outbox.queue) returns jsonb
  language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  erased constant text := outbox.erased_user(change);
  refused text;
begin
  if change.expires_at <= clock_timestamp() then
    return jsonb_build_object('status', 'expired', 'error', 'Not sent before its expires_at.');
  elsif not change.departed and exists (select from outbox.queue b
      where b.aggregate = change.aggregate and b.id < change.id and b.status in ({{holding}})) then
    return jsonb_build_object('status', 'queued', 'error', 'An earlier change of the same record goes first.');
  elsif erased is not null then
    return jsonb_build_object('status', 'failed', 'error', format('Not sent: user %s is erased.', erased));
  elsif not company_access.restricts() and (select has_function_privilege(r.oid, 'outbox.enqueue(text, jsonb, jsonb, jsonb)'::regprocedure, 'execute')
      from sync.partners p join pg_roles r on r.oid = p.role where p.partner = change.enqueued_by) then
    return null; -- nearly always
  elsif ({{role_missing}}) is not null then
    return jsonb_build_object('status', 'queued', 'error', {{role_missing}});
  end if;
  begin
    perform outbox.check_access_again(change);
  exception when insufficient_privilege then
    get stacked diagnostics refused = message_text;
    return jsonb_build_object('status', 'failed', 'error', format(
      'Not sent: %s Once it may be sent, run: boat-mirror changes retry %s.', refused, change.id));
  end;
  return null;
end $$;
comment on function outbox.why_unsent(outbox.queue) is
  'Returns why a change that is ready may not be sent now, as status and error; null: it may.';

-- `case` makes Postgres join first: otherwise it checks every change that is `sending`, 4.5 times as often.
create or replace function outbox.mark_dispatched(
    ids bigint[], fences bigint[], requests text[], proofs text[], keys text[], warnings text[], of_generation bigint)
  returns table (id bigint, sent_at timestamptz) language plpgsql volatile {{by_index}} set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
  perform {{choosing_plan}};
  return query with privacy as (select generation from sync.privacy for share)
    update outbox.queue q set departed = true, sent_at = clock_timestamp(), request = s.request::jsonb, proof = s.proof::jsonb,
      record_key = s.record_key, warning = s.warning, looks = 0, error = null, response = null, conflict = null
    from unnest(ids, fences, requests, proofs, keys, warnings) as s (id, fence, request, proof, record_key, warning)
    where q.id = s.id and q.fence = s.fence and q.epoch = (select h.epoch from sync.history() h)
      and (select generation from privacy) = coalesce(of_generation, (select generation from privacy))
      -- Within `case`, so that rows are found by id and not by the index of all that are being sent.
      and {{durably}} and case when q.id = s.id
        then q.status = 'sending' and q.lease_until > clock_timestamp() and outbox.why_unsent(q) is null end
    returning q.id, q.sent_at;
end $$;
comment on function outbox.mark_dispatched(bigint[], bigint[], text[], text[], text[], text[], bigint) is
  'Marks claimed changes as dispatched. Checks the conditions of sending again (outbox.why_unsent), because the reads since the claim may take long; the quota is not among them: a request beyond it is not sent. Outdated rules for personal data write nothing.';

create or replace function outbox.decide(what text, change_id bigint, expected text, result_id bigint, who text, via text)
  returns bigint language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  caller constant name := company_access.partner();
  target constant text := 'change:' || change_id;
  again constant boolean := what in ('retry', 'local', 'remote', 'did_not');
  change outbox.queue;
  plan text;
  cause record;
  seen jsonb;
  noted bigint;
begin
  perform {{durably}}; -- a decision that was answered is not lost
  select q.* into change from outbox.queue q where q.id = change_id;
  if not found or not (has_function_privilege(company_access.caller(), 'outbox.resolve(bigint, text, bigint, text)', 'execute')
      or change.enqueued_by = caller and what in ('retry', 'cancel'))
    or company_access.visible() is not null and not outbox.is_of_caller(change.aggregate) then
    raise exception 'There is no change %.', change_id using errcode = 'P0002';
  end if;
  if what = 'retry' and change.status in ({{final}}) then
    -- Before the row is locked: outbox.enqueue locks in this order.
    perform outbox.check_limit(change.operation, change.enqueued_by);
  end if;
  select q.* into change from outbox.queue q where q.id = change_id for update;
  plan := outbox.plan_of(change_id);
  perform sync.assert_plan(target, plan, expected);

  if what = 'retry' and change.status not in ({{retried}}) then
    raise exception 'Change % is %; only {{retried_words}} can be retried.', change_id, change.status using errcode = '55000';
  elsif what = 'cancel' and change.status not in ({{canceled}}) then
    raise exception 'Change % is %; only {{canceled_words}} can be canceled.', change_id, change.status using errcode = '55000';
  elsif what in ('local', 'remote') and change.status <> 'conflict' then
    raise exception 'Change % is %; %.', change_id, change.status, case change.status
      when 'unknown' then 'resolve it with took_effect or did_not' else 'only conflict can be resolved with local or remote' end
      using errcode = '55000';
  elsif what in ('took_effect', 'did_not') and change.status <> 'unknown' then
    raise exception 'Change % is %; %.', change_id, change.status, case change.status
      when 'conflict' then 'resolve it with local or remote' else 'only unknown can be resolved with took_effect or did_not' end
      using errcode = '55000';
  end if;

  if what = 'local' and change.operation not in ({{replacing}}) then
    raise exception 'Change %: % cannot replace the existing value.', change_id, change.operation
      using errcode = '55000', hint = 'Take remote, and queue an update or another user for another rental instead.';
  elsif result_id is not null and (what <> 'took_effect' or change.operation not in ({{making}})) then
    perform outbox.refuse(format('Change %s (%s) creates no record that result_id could name.', change_id, change.operation));
  elsif what = 'took_effect' and result_id is null and change.operation in ({{making}}) and exists (
      select from outbox.dependencies d join outbox.queue w on w.id = d.change_id
      where d.depends_on = change_id and w.status in ({{waiting}})) then
    raise exception 'Other changes wait for the id of the record that change % created.', change_id using errcode = '22023', hint = format(
      'Name it: changes resolve %1$s --took-effect --id ID, or outbox.resolve(%1$s, ''took_effect'', ID). The response of the change lists the candidates.', change_id);
  end if;
  if what = 'retry' then
    select c.id, c.status into cause from outbox.dependencies d join outbox.queue c on c.id = d.depends_on
      where d.change_id = change_id and c.status in ({{dead}}) order by c.id limit 1;
    if found then
      raise exception 'Change % waits for change %, which is %.', change_id, cause.id, cause.status
        using errcode = '55000', hint = format('Retry change %s first.', cause.id);
    end if;
  end if;
  if again then
    perform outbox.refuse_erased(change);
    perform outbox.check_access_again(change);
  end if;

  if what = 'took_effect' or what = 'remote' and change.operation not in ({{replacing}}) then
    noted := sync.note_decision(what, target, plan, result_id, who, via, true);
    perform pg_notify('boat_mirror_outbox', '');
    return noted;
  end if;
  noted := sync.note_decision(what, target, plan, null, who, via, false);
  if again then
    seen := (select coalesce(jsonb_object_agg(f.key, f.value->'remote'), '{}') from jsonb_each(coalesce(change.conflict, '{}')) f);
    update outbox.queue q set status = 'queued', departed = false, owner = null, lease_until = null, settled_at = null,
        error = null, conflict = null, blocked_by = null, next_attempt_at = clock_timestamp(),
        proof = case when what in ('retry', 'did_not') then null else q.proof end,
        epoch = case what when 'did_not' then mirror.feed_epoch() else q.epoch end, -- not verified again
        response = case what when 'did_not' then null else q.response end,
        left_out = case what when 'retry' then '{}' else q.left_out end,
        deadline = case what when 'retry' then null else q.deadline end,
        expires_at = case when what = 'retry' and q.expires_at <= clock_timestamp() then null else q.expires_at end,
        base = case what when 'local' then q.base || seen else q.base end,
        seen_at = case what when 'local' then clock_timestamp() else q.seen_at end,
        seen_snapshot = case what when 'local' then pg_current_snapshot() else q.seen_snapshot end,
        kept_remote = case what when 'remote' then q.kept_remote || array(select jsonb_object_keys(seen)) else q.kept_remote end
      where q.id = change_id;
  else
    update outbox.queue q set status = 'canceled', settled_at = clock_timestamp(), blocked_by = null, proof = null,
        error = 'Canceled by an operator.'
      where q.id = change_id;
    perform outbox.drop_implied(change_id);
    perform outbox.block_dependants(change_id);
    perform pg_notify('boat_mirror_settled', change_id::text);
  end if;
  perform pg_notify('boat_mirror_outbox', '');
  return noted;
end $$;
comment on function outbox.decide(text, bigint, text, bigint, text, text) is
  'Carries out outbox.retry, outbox.cancel and outbox.resolve, in the name of the caller or of the given name.';

create or replace function outbox.retry(id bigint, expected text default null) returns bigint
  language sql volatile security definer set search_path = pg_catalog, pg_temp
  as $$ select outbox.decide('retry', id, expected, null, null, null) $$;
comment on function outbox.retry(bigint, text) is
  'Queues a failed, expired, canceled or conflicting change again. The role that queued it must still be allowed to queue it. Returns sync.decisions.id. expected: outbox.changes.plan.';

create or replace function outbox.cancel(id bigint, expected text default null) returns bigint
  language sql volatile security definer set search_path = pg_catalog, pg_temp
  as $$ select outbox.decide('cancel', id, expected, null, null, null) $$;
comment on function outbox.cancel(bigint, text) is
  'Cancels a change that is not being sent. Changes that refer to it are blocked. Returns sync.decisions.id. expected: outbox.changes.plan.';

create or replace function outbox.resolve(id bigint, choice text, result_id bigint default null, expected text default null) returns bigint
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  if choice is null or choice not in ('local', 'remote', 'took_effect', 'did_not') then
    perform outbox.refuse(format('The choice is %s. It must be one of local, remote, took_effect, did_not.', quote_nullable(left(choice, 100))));
  end if;
  return outbox.decide(choice, id, expected, result_id, null, null);
end $$;
comment on function outbox.resolve(bigint, text, bigint, text) is
  'Resolves a conflict or an unknown change. Conflict: local overwrites what is there, remote keeps the conflicting fields as they are. Unknown: after took_effect a worker reads the record back and the change is done, after did_not it is sent again. result_id: the record that it created. Returns sync.decisions.id. expected: outbox.changes.plan.';

create or replace function outbox.cancel_unsent(role name, most int, token text) returns int
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  unsent constant bigint[] := array(select q.id from outbox.queue q
    where q.enqueued_by = role and {{is_unsettled}} and (q.status in ({{canceled}}) or q.status = 'sending' and not q.departed)
      and not exists (select from sync.decisions d where d.target = 'change:' || q.id and d.done_at is null)
    order by q.id limit most for update);
  change bigint;
begin
  foreach change in array unsent loop
    -- Its pusher finds that it has lost the claim.
    update outbox.queue q set status = 'queued', owner = null, lease_until = null where q.id = change and q.status = 'sending';
    perform outbox.decide('cancel', change, null, null, null, 'command');
    update outbox.queue q set error = format(
      'Access token %s was revoked before this was sent. If it is still wanted, queue it again as another role.', token)
      where q.id = change;
  end loop;
  return cardinality(unsent);
end $$;
comment on function outbox.cancel_unsent(name, int, text) is
  'Cancels changes of an access token''s role that were not dispatched, up to a number, when the token is revoked. Returns how many.';
