-- The rows of a stream as the mirror had them at a moment; as-of.ts explains how. Run by every migrate.

-- Refuses a moment before the log begins, and one of which a transaction that is still open may write changes: an entry has
-- the time at which it was written, and is seen when its transaction ends. The caller reads in a later statement, which sees
-- whatever was committed before this one looked, unless its transaction keeps an older snapshot.
create or replace function mirror.check_moment(at timestamptz) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
  set timezone = 'UTC' as $$
declare
  begins constant timestamptz := (select c.changed_at from mirror.change_log c order by c.seq limit 1);
  settled timestamptz := clock_timestamp();
begin
  if current_setting('transaction_isolation') not like 'read %' then
    raise exception 'The transaction is %. Ask for the past in READ COMMITTED: an older snapshot may lack changes of that time.',
      upper(current_setting('transaction_isolation')) using errcode = '25001';
  end if;
  if at is null or begins is null or at < begins then
    raise exception 'The moment is %. The change log %.', coalesce(at::text, 'null'),
      coalesce('begins at ' || begins, 'is empty') using errcode = '22023',
      hint = 'Ask for a later moment. Changes are kept for HISTORY_DAYS.';
  end if;
  perform pg_stat_clear_snapshot();
  settled := least(settled, (select min(w.began) - interval '1 microsecond' from (
      select a.xact_start as began from pg_stat_activity a
        where a.backend_xid is not null and a.datname = current_database() and a.pid <> pg_backend_pid()
          and a.backend_type is distinct from 'autovacuum worker'
      union all
      -- Of another role's session, and of a prepared transaction, only the locks are seen.
      select coalesce(a.xact_start, '-infinity') from pg_locks l join pg_class c on c.oid = l.relation
        left join pg_stat_activity a on a.pid = l.pid
        where l.database = (select d.oid from pg_database d where d.datname = current_database())
          and c.relnamespace = 'mirror'::regnamespace and c.relkind in ('r', 'p') and l.mode = 'RowExclusiveLock' and l.pid is distinct from pg_backend_pid()
      union all
      select '-infinity' where pg_is_in_recovery()
    ) w));
  if at > settled then
    raise exception 'The moment is %. Changes of a transaction that was open %are not known yet.', at,
      case when isfinite(settled) then 'at ' || settled || ' ' else '' end using errcode = '22023',
      hint = 'Ask for an earlier moment, or again when that transaction has ended. Ask the primary, not a standby.';
  end if;
end $$;

create or replace function mirror.as_of(stream text, at timestamptz) returns table (key jsonb, record jsonb)
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set jit = off set timezone = 'UTC' as $$
declare
  companies constant bigint[] := company_access.visible();
  selected constant text := case stream {{selects}} end;
begin
  if selected is null then
    raise exception 'There is no stream %.', coalesce(quote_literal(left(stream, 100)), 'null') using errcode = '22023';
  end if;
  perform mirror.check_moment(at);
  return query execute selected using at, companies;
end $$;
