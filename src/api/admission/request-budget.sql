-- The budget of requests that all workers borrow from (api/admission/request-budget.ts, quota.ts). Run by every migrate. Its
-- instants, in microseconds since 1970, are stored in sequences, which are changed in place: a row that is written many times a
-- second would leave a version each time, for as long as any transaction is open.
-- Runs with its owner's rights, for every role that may carry out tasks: rights on tables do not include sequences.

-- Windows of a quota: what was taken since the window began counts as used. They begin earlier than they must, by the time
-- that a request may be held and by the rest of a minute; the month of a minute ago is not over yet.
create or replace function sync.quota_windows(quota int[], at timestamptz)
  returns table (place int, allowed int, since timestamptz, used bigint)
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select w.place, quota[w.place], w.since,
    coalesce((select c.total from sync.request_counts c order by c.minute desc limit 1), 0)
      - coalesce((select c.total from sync.request_counts c where c.minute < w.since order by c.minute desc limit 1), 0)
  from (values
    (1, date_trunc('minute', at - interval '1 hour' - {{held}})),
    (2, date_trunc('minute', at - interval '24 hours' - {{held}})),
    (3, date_trunc('month', at - {{held}}, 'UTC') - {{held}})
  ) w (place, since)
$$;

-- Requests an hour that day and month allow in the long run; null: neither has a quota.
create or replace function sync.quota_pace(quota int[], at timestamptz) returns double precision
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select min(case w.place when 2 then w.allowed / 24.0 else greatest(0, w.allowed - w.used)
      / greatest(1, extract(epoch from date_trunc('month', at, 'UTC') + interval '1 month' - at) / 3600) end)::double precision
  from sync.quota_windows(quota, at) w where w.place in (2, 3) and w.allowed is not null
$$;

-- Takes requests from the quota: the number wanted, or fewer. If none are left, returns when there may be some. The
-- caller holds the lock of the budget.
create or replace function sync.take_from_quota(
  quota int[], priority text, wanted int, unused int, unused_since timestamptz, at timestamptz,
  out granted int, out free_at timestamptz
)
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  this_minute constant timestamptz := date_trunc('minute', at);
  newest sync.request_counts;
  used_window record;
  room bigint := wanted;
  least_room bigint;
  pace double precision;
  paced timestamptz;
begin
  select * into newest from sync.request_counts order by minute desc limit 1;
  -- The clock was set back: what was counted at times that are still to come counts as of now.
  if newest.minute > this_minute then
    delete from sync.request_counts where minute >= this_minute;
    insert into sync.request_counts values (this_minute, newest.total);
  end if;
  if unused > 0 then
    update sync.request_counts set total = total - unused where minute >= date_trunc('minute', unused_since);
    select * into newest from sync.request_counts order by minute desc limit 1;
  end if;

  for used_window in select * from sync.quota_windows(quota, at) w where w.allowed is not null loop
    least_room := case when priority = 'write' then used_window.allowed
        when priority = 'detail' and used_window.place = 1 then floor(used_window.allowed * {{details_of_hour}})
        else floor(used_window.allowed * {{reads}}) end - used_window.used;
    room := least(room, least_room);
    continue when least_room > 0 or wanted = 0;
    -- So much has to leave the window first, or a month to begin.
    free_at := greatest(free_at, case when used_window.place = 3
      then date_trunc('month', used_window.since + interval '1 day', 'UTC') + interval '1 month' + {{held}}
      else (select min(c.minute) from sync.request_counts c
          where c.minute >= used_window.since and c.total > newest.total - used_window.used - least_room)
        + interval '1 minute' + {{held}} + case used_window.place when 1 then interval '1 hour' else interval '24 hours' end
      end);
  end loop;

  pace := sync.quota_pace(quota, at) * {{details}};
  if pace is not null then
    select to_timestamp(case when s.last_value > extract(epoch from at + interval '31 days') * 1000000
        then 0 else s.last_value end / 1000000.0) into paced from sync.details_paced_until s;
    pace := greatest(pace, 1);
    paced := greatest(paced - unused * interval '1 hour' / pace, at);
    if priority = 'detail' and wanted > 0 then
      least_room := floor(extract(epoch from at + {{ahead}} - paced) / 3600 * pace);
      room := least(room, least_room);
      if least_room <= 0 then
        free_at := greatest(free_at, paced - {{ahead}} + interval '1 hour' / pace);
      end if;
    end if;
  end if;

  granted := greatest(room, 0);
  if pace is not null and granted + unused > 0 then
    perform setval('sync.details_paced_until', (extract(epoch from paced + granted * interval '1 hour' / pace) * 1000000)::bigint);
  end if;
  if granted > 0 then
    free_at := null;
    insert into sync.request_counts values (this_minute, coalesce(newest.total, 0) + granted)
      on conflict (minute) do update set total = excluded.total;
  elsif wanted > 0 then
    free_at := coalesce(free_at, at + interval '1 minute');
  end if;
end $$;

create or replace function sync.lend_requests(
  rate int, priority text, wanted int, unused int, more boolean,
  quota int[] default null, unused_since timestamptz default null,
  out granted int, out wait_ms double precision, out lent_at timestamptz, out free_at timestamptz
)
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
  allowed int := wanted;
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
  if not has_table_privilege(company_access.caller(), 'sync.tasks', 'update') then
    raise exception 'Role % may not run tasks, so it gets no requests.', quote_ident(pg_get_userbyid(company_access.caller()))
      using errcode = '42501';
  end if;
  if quota is null then
    -- A crash loses a loan or two, so nothing waits for the disk. A quota loses nothing.
    perform set_config('synchronous_commit', 'off', true);
  end if;
  perform pg_advisory_xact_lock(hashtext('boat-mirror.request-budget'));
  lent_at := clock_timestamp();
  now_us := extract(epoch from lent_at) * 1000000;
  wait_ms := 0;
  if rate > 0 then
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
    if others > now_us then
      allowed := 0;
    end if;
  end if;

  granted := allowed;
  if quota is not null then
    select t.granted, t.free_at into granted, free_at
      from sync.take_from_quota(quota, priority, allowed, unused, unused_since, lent_at) t;
  end if;
  if rate <= 0 or free_at is not null then
    -- No caller stands back for one that waits for the quota; only returned requests are available to it.
    if rate > 0 then
      perform setval('sync.requests_lent_until', lent);
    end if;
    return;
  end if;

  start := case when others > now_us then others
    when priority = 'write' then greatest(least(lent, now_us), lent - {{ahead_us}}) else lent end;
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
