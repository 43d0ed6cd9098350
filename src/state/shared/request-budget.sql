-- The budget of requests that all workers borrow from: the rule of api/admission/request-budget.ts. Run by every migrate. Its instants, in microseconds since 1970, stand in sequences, which are changed in place: a row that is written
-- many times a second would leave a version each time, for as long as any transaction is open. Runs with its owner's rights,
-- for whoever may carry out tasks: rights on tables do not include sequences.

create or replace function sync.lend_requests(
  rate int, priority text, wanted int, unused int, more boolean, out granted int, out wait_ms double precision
)
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_us bigint;
  changes bigint;
  reads bigint;
  details bigint;
  lent bigint;
  others bigint;
  start bigint;
  length bigint;
  waits bigint;
begin
  if not has_table_privilege(mirror.caller(), 'sync.tasks', 'update') then
    raise exception 'Role % carries out no tasks, so nothing is lent to it.', quote_ident(mirror.caller())
      using errcode = '42501';
  end if;
  -- What a crash forgets is a loan or two: nobody has to wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(hashtext('boat-mirror.request-budget'));
  now_us := extract(epoch from clock_timestamp()) * 1000000;
  select case when c.last_value > now_us + {{far}} then now_us else c.last_value end,
      case when r.last_value > now_us + {{far}} then now_us else r.last_value end,
      case when d.last_value > now_us + {{far}} then now_us else d.last_value end,
      case when l.last_value > now_us + {{far}} then now_us else l.last_value end - unused * 1000000::bigint / rate
    into changes, reads, details, lent
    from sync.changes_wait_until c, sync.reads_wait_until r, sync.details_lent_until d, sync.requests_lent_until l;
  if lent < now_us - {{late}} then
    lent := now_us;
  end if;

  others := case priority when 'write' then 0 when 'read' then changes
    else greatest(changes, least(reads, details)) end;
  granted := case when others > now_us then 0 else wanted end;
  start := case when others > now_us then others
    when priority = 'write' then greatest(least(lent, now_us), lent - {{ahead}}) else lent end;
  length := granted * 1000000::bigint / rate;
  waits := start + case when others > now_us then {{grace}} when more then length else 0 end;
  wait_ms := (start - now_us) / 1000.0;

  perform setval('sync.requests_lent_until', lent + length);
  if priority = 'write' and waits > changes then
    perform setval('sync.changes_wait_until', waits);
  elsif priority = 'read' and waits > reads then
    perform setval('sync.reads_wait_until', waits);
  elsif priority = 'detail' and reads > now_us and granted > 0 then
    perform setval('sync.details_lent_until', greatest(details, now_us + length * {{detail_every}}));
  end if;
end $$;
