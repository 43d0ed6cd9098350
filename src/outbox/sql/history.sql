-- Changes and the history of the database (sync.history). A change that was queued in another history may have been sent in a
-- future that this database has lost, or by the database that this one is a copy of.

create or replace function outbox.notice_history() returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  here constant record := sync.history();
  known outbox.installation;
begin
  perform company_access.notice_roles();
  select i.* into known from outbox.installation i;
  if known.epoch = here.epoch and known.cluster is not null then return; end if;
  select i.* into known from outbox.installation i for update;
  if known.epoch = here.epoch or known.cluster = here.cluster and known.place = here.place then
    -- The same database, maybe promoted or recovered to an earlier point in time.
    update outbox.installation i set epoch = here.epoch, cluster = here.cluster, place = here.place,
      since = case when known.epoch = here.epoch then i.since else clock_timestamp() end;
  else
    update outbox.installation i set epoch = here.epoch, cluster = here.cluster, place = here.place, since = clock_timestamp(),
      id = substr(replace(gen_random_uuid()::text, '-', ''), 1, 10), number = floor(random() * 900000 + 100000),
      former = i.former || jsonb_build_object('id', i.id, 'number', i.number),
      undecided = exists (select from outbox.queue q where {{is_unsettled}} and q.epoch <> here.epoch);
  end if;
end $$;
comment on function outbox.notice_history() is
  'Notices that this database has another history than before. After a promotion or a recovery, changes queued before are verified first. In a copy they wait for outbox.former_database, and the copy gets an installation id of its own. Notices what became of the roles of partners, too.';

create or replace function outbox.tidy() returns int language plpgsql volatile {{by_index}} set plan_cache_mode = force_custom_plan as $$
begin
  perform outbox.notice_history();
  update outbox.queue q set aggregate = c.aggregate from outbox.queue c
    where {{is_unsettled}} and q.status in ({{waiting}}) and q.aggregate like 'change:%' and q.aggregate <> 'change:' || q.id
      and c.id = substr(q.aggregate, 8)::bigint and c.status = 'done' and c.aggregate <> q.aggregate;
  return outbox.expire_due();
end $$;
comment on function outbox.tidy() is
  'Before claiming: notices another history of the database, moves changes whose record was created meanwhile, expires what is late. Returns how many expired.';

create or replace function outbox.settle_former(state text, undetected boolean, who text, via text) returns bigint
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
declare
  known outbox.installation;
  waiting bigint[];
  change bigint;
begin
  if state is null or state not in ('gone', 'lives') then
    perform outbox.refuse(format('The state of the former database is %s. It must be gone or lives.', quote_nullable(left(state, 100))));
  end if;
  perform company_access.refuse('decisions about the database');
  perform outbox.notice_history();
  select i.* into known from outbox.installation i for update;
  if not known.undecided then
    if not undetected then
      raise exception 'Nothing shows that this database is a copy whose changes wait for a decision.' using errcode = '55000',
        hint = 'For a copy that nothing inside can show, such as a volume snapshot or a branch, add --undetected (in SQL: undetected => true).';
    end if;
    -- From here on it is another database, for the feed, too.
    update sync.log_identity l set number = floor(random() * 9e15);
    perform outbox.notice_history();
    select i.* into known from outbox.installation i for update;
  end if;
  waiting := array(select q.id from outbox.queue q where {{is_unsettled}} and q.epoch <> known.epoch order by q.id for update);
  perform sync.note_decision('former_' || state, 'database', known.epoch::text, null, who, via, false);
  update outbox.installation i set undecided = false, since = clock_timestamp();
  if state = 'lives' then
    update outbox.queue q set status = 'canceled', settled_at = clock_timestamp(), departed = false, owner = null, lease_until = null,
        blocked_by = null, proof = null, error = 'Canceled: the database that this one is a copy of lives on, and decides about its change.'
      where q.id = any (waiting);
    foreach change in array waiting loop
      perform outbox.block_dependants(change);
      perform pg_notify('boat_mirror_settled', change::text);
    end loop;
  end if;
  perform pg_notify('boat_mirror_outbox', '');
  return cardinality(waiting);
end $$;
comment on function outbox.settle_former(text, boolean, text, text) is
  'Carries out outbox.former_database, in the name of the caller or of the given name.';

create or replace function outbox.former_database(state text, undetected boolean default false) returns bigint
language sql volatile security definer set search_path = pg_catalog, pg_temp
as $$ select outbox.settle_former(state, undetected, null, null) $$;
comment on function outbox.former_database(text, boolean) is
  'Decides about the changes that were queued before this database became a copy. gone: the former database sends nothing any more, so each is verified and then sent if it had no effect. lives: it sends them itself, so they are canceled here. undetected: nothing inside shows that this is a copy. Returns the number of changes.';
