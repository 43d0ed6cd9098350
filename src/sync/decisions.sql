-- Decisions of operators. Run by every migrate. A call checks rights, state and plan, and records the decision. What
-- needs no API takes effect in the same transaction; the rest stays open until a worker has carried it out. The
-- constraint on sync.decisions prevents a second decision about the same plan. Runs with its owner's rights: roles
-- that decide may not write the tables.

create or replace function sync.plan_of_run(run bigint, before bigint default null) returns text
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select {{run_plan}} from sync.runs r where r.id = run
    and exists (select from sync.held h where h.run_id = r.id and h.released_at is null)
$$;
comment on function sync.plan_of_run(bigint, bigint) is
  'Returns the hash that sync.held_plans shows, or showed before a decision. Null if the run has no held deletions.';

create or replace function sync.plan_of_stream(name text, before bigint default null) returns text
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select {{stream_plan}} from sync.streams s where s.stream = name
$$;
comment on function sync.plan_of_stream(text, bigint) is 'Returns the hash that sync.stream_plans shows, or showed before a decision.';

create or replace function sync.assert_plan(about text, plan text, expected text) returns void
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  id constant text := substr(about, strpos(about, ':') + 1);
begin
  if expected is distinct from plan and expected is not null then
    raise exception '% has changed since you reviewed it: its plan is no longer %.', initcap(split_part(about, ':', 1)) || ' ' || id, left(expected, 100)
      using errcode = 'PT412', hint = case split_part(about, ':', 1)
        when 'change' then format('See the new plan with: boat-mirror changes show %1$s, or in outbox.changes. Then decide again.', id)
        when 'run' then format('See the new plan with: boat-mirror runs show %1$s, or in sync.held_plans. Then decide again.', id)
        else format('See the new plan with: boat-mirror %s %s --dry-run, or in sync.stream_plans. Then decide again.',
          (select case when s.paused_by is null then 'pause' else 'resume' end from sync.streams s where s.stream = id), id) end;
  end if;
end $$;
comment on function sync.assert_plan(text, text, text) is 'Refuses a decision about a plan that has changed, and names the view that shows the new one.';

create or replace function sync.note_decision(what text, target text, plan text, result_id bigint, who text, via text, is_open boolean)
  returns bigint language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  under_way record;
  noted bigint;
begin
  select d.id, d.what into under_way from sync.decisions d where d.target = target and d.done_at is null;
  if found then
    raise exception '% already has a decision: a worker carries out decision % (%).', initcap(replace(target, ':', ' ')), under_way.id, under_way.what
      using errcode = '55000';
  end if;
  insert into sync.decisions (who, via, what, target, plan, result_id, done_at)
    values (left(coalesce(who, pg_get_userbyid(company_access.caller())), 100), coalesce(via, 'sql'), what, target, plan, result_id,
      case when not is_open then clock_timestamp() end)
    on conflict on constraint decisions_target_plan_key do nothing
    returning id into noted;
  -- Only who reads an old snapshot gets here: for others the plan holds what was decided meanwhile.
  if noted is null then
    perform sync.assert_plan(target, null, plan);
  end if;
  return noted;
end $$;
comment on function sync.note_decision(text, text, text, bigint, text, text, boolean) is
  'Adds a row to sync.decisions, unless that plan was decided before.';

create or replace function sync.decide(what text, about text, expected text, who text, via text) returns bigint
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  run sync.runs;
  stream sync.streams;
  plan text;
  pause record;
  noted bigint;
  parent constant text := case about {{parents}} end;
  below constant text[] := case about {{below}} else '{}' end;
begin
  perform company_access.refuse('decisions about streams');
  if what = 'release' then
    select r.* into run from sync.runs r where r.id = about::bigint for update;
    if not found then
      raise exception 'There is no run %.', about using errcode = 'P0002';
    end if;
    plan := sync.plan_of_run(run.id);
    if plan is null then
      raise exception 'Run % of % holds no deletions.', run.id, run.stream
        using errcode = 'P0002', hint = 'List held deletions with: boat-mirror status';
    end if;
    perform sync.assert_plan('run:' || run.id, plan, expected);
    if exists (select from sync.runs r join sync.tasks t on t.run_id = r.id
        where r.status = 'running' and r.trigger = 'release' and t.payload->>'heldRunId' = about) then
      raise exception 'Another run already releases the deletions that run % holds.', run.id using errcode = '55000';
    end if;
    noted := sync.note_decision(what, 'run:' || run.id, plan, null, who, via, true);
    perform pg_notify({{channel}}, '');
    return noted;
  end if;

  select s.* into stream from sync.streams s where s.stream = about for update;
  if not found then
    raise exception 'There is no stream %. Streams are named after their tables: select stream from sync.streams.',
      coalesce(quote_literal(left(about, 100)), 'null') using errcode = '22023';
  end if;
  if parent is not null and what <> 'acknowledge' then
    raise exception '% is part of the records of %, and is read with them: % that stream.', about, parent, what
      using errcode = '22023';
  end if;
  plan := sync.plan_of_stream(about);
  perform sync.assert_plan('stream:' || about, plan, expected);
  select d.at, d.who, d.target into pause from sync.decisions d where d.id = stream.paused_by;
  if what = 'pause' and stream.paused_by is not null then
    raise exception '% is already paused, since %, by %.', about, to_char(pause.at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), pause.who
      using errcode = '55000';
  elsif what = 'resume' and stream.paused_by is null then
    raise exception '% is not paused.', about using errcode = '55000';
  elsif what = 'resume' and pause.target <> 'stream:' || about then
    raise exception '% is paused together with %: resume that stream.', about, substr(pause.target, 8) using errcode = '55000';
  elsif what = 'acknowledge' and not exists (select from sync.unknown_fields u where u.stream = about and {{is_new_field}}) then
    raise exception '% shows no new field.', about using errcode = '55000';
  end if;
  noted := sync.note_decision(what, 'stream:' || about, plan, null, who, via, false);
  if what = 'pause' then
    update sync.streams s set paused_by = noted
      where s.stream = about or s.stream = any (below) and s.paused_by is null;
  elsif what = 'resume' then
    update sync.streams s set paused_by = null
      where (s.stream = about or s.stream = any (below)) and s.paused_by = stream.paused_by;
    perform pg_notify({{channel}}, '');
  end if;
  return noted;
end $$;
comment on function sync.decide(text, text, text, text, text) is
  'Carries out sync.release, sync.pause, sync.resume and sync.acknowledge, in the name of the caller or of the given name.';

create or replace function sync.release(run_id bigint, expected text default null) returns bigint
  language sql volatile security definer set search_path = pg_catalog, pg_temp
  as $$ select sync.decide('release', run_id::text, expected, null, null) $$;
comment on function sync.release(bigint, text) is
  'Releases the deletions that a run holds. A worker requests each record again and marks it as deleted if it is still missing. Returns sync.decisions.id. expected: sync.held_plans.plan.';

create or replace function sync.pause(stream text, expected text default null) returns bigint
  language sql volatile security definer set search_path = pg_catalog, pg_temp
  as $$ select sync.decide('pause', stream, expected, null, null) $$;
comment on function sync.pause(text, text) is
  'Stops reading the stream and everything below it until sync.resume. A running run ends first. Returns sync.decisions.id. expected: sync.stream_plans.plan.';

create or replace function sync.resume(stream text, expected text default null) returns bigint
  language sql volatile security definer set search_path = pg_catalog, pg_temp
  as $$ select sync.decide('resume', stream, expected, null, null) $$;
comment on function sync.resume(text, text) is
  'Ends sync.pause. Overdue reads start at once. Returns sync.decisions.id. expected: sync.stream_plans.plan.';

create or replace function sync.acknowledge(stream text, expected text default null) returns bigint
  language sql volatile security definer set search_path = pg_catalog, pg_temp
  as $$ select sync.decide('acknowledge', stream, expected, null, null) $$;
comment on function sync.acknowledge(text, text) is
  'Takes note of the new fields of a stream: they no longer need attention. Returns sync.decisions.id. expected: sync.stream_plans.plan.';

revoke all on function sync.plan_of_run(bigint, bigint), sync.plan_of_stream(text, bigint), sync.assert_plan(text, text, text),
  sync.note_decision(text, text, text, bigint, text, text, boolean), sync.decide(text, text, text, text, text),
  sync.release(bigint, text), sync.pause(text, text), sync.resume(text, text), sync.acknowledge(text, text) from public;
