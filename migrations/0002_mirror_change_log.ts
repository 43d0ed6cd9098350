// The change log of the mirror and its feed. A reader that polled `seq > last` would lose what commits late, so the feed
// goes by (transaction id, seq) and stops below the oldest running transaction. Transaction ids mean something in one
// cluster only: each row carries the epoch it was written in, and rows of a former epoch (restored ones) come first.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const schema of ['mirror_views', 'report', 'outbox'])
    await sql`create schema if not exists ${sql.raw(schema)}`.execute(db)
  await sql`create table sync.repeatable (
    only_row boolean primary key default true check (only_row),
    version text not null,
    applied_at timestamptz not null default clock_timestamp()
  )`.execute(db)

  // Owner's rights, so that writer and reader always find the same epoch, whatever each of them may call. The timeline
  // changes with a recovery to a point in time, which would use transaction ids a second time.
  await sql`create function mirror.feed_epoch() returns bigint language plpgsql stable security definer
    set search_path = pg_catalog, pg_temp as $$
    declare
      cluster text := '';
    begin
      if has_function_privilege('pg_catalog.pg_control_system()', 'execute')
        and has_function_privilege('pg_catalog.pg_control_checkpoint()', 'execute') then
        select s.system_identifier || '/' || c.timeline_id into cluster
        from pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c;
      end if;
      return hashtextextended(cluster || '/' || (select oid from pg_catalog.pg_database where datname = current_database())
        || '/' || 'mirror.change_log'::regclass::oid, 0);
    end $$`.execute(db)

  await sql`create table mirror.change_log (
    seq bigint generated always as identity primary key,
    epoch bigint not null default mirror.feed_epoch(),
    xid xid8 not null default pg_current_xact_id(),
    stream text not null,
    key jsonb not null,
    operation text not null check (operation in ('insert', 'update', 'delete')),
    changed_at timestamptz not null default clock_timestamp(),
    diff jsonb not null
  )`.execute(db)
  await sql`create index change_log_feed on mirror.change_log (epoch, xid, seq)`.execute(db)
  await sql`create index change_log_key on mirror.change_log using hash (key)`.execute(db)
  // Which rentals ever held a person: needed when the person is erased.
  await sql`create index change_log_rental_user on mirror.change_log ((diff -> 'user_id' -> 1))
    where stream = 'rentals' and diff ? 'user_id'`.execute(db)
  await sql`create index change_log_rental_former_user on mirror.change_log ((diff -> 'user_id' -> 0))
    where stream = 'rentals' and diff -> 'user_id' -> 0 <> 'null'`.execute(db)

  await sql`create function mirror.read_change_log(position_text text, row_limit int)
    returns table (next_position text, seq bigint, stream text, key jsonb, operation text, changed_at timestamptz,
      diff jsonb)
    language plpgsql stable set search_path = pg_catalog, pg_temp as $$
    #variable_conflict use_column
    declare
      this_epoch constant bigint := mirror.feed_epoch();
      parts text[];
      from_xid xid8 := '0';
      from_seq bigint := 0;
      given int := 0;
    begin
      if row_limit is null or row_limit < 1 then
        raise exception 'max_rows is %, and takes a whole number from 1.', coalesce(row_limit::text, 'null')
          using errcode = '22023';
      end if;
      if position_text is not null then
        parts := regexp_match(position_text, '^1\.(-?[0-9]{1,19})\.([0-9]{1,18})\.([0-9]{1,18})$');
        if parts is null then
          raise exception 'The cursor is %, and takes null (from the beginning) or a cursor that mirror.changes_since gave.',
            quote_literal(left(position_text, 100)) using errcode = '22023';
        end if;
        -- A cursor of another cluster means nothing here: everything is repeated rather than something missed.
        if parts[1] = this_epoch::text then
          from_xid := parts[2]::xid8;
          from_seq := parts[3]::bigint;
        end if;
      end if;
      -- Rows of former epochs: all of them were committed long ago, and are numbered as transaction 0.
      if from_xid = '0'::xid8 then
        return query
          select '1.' || this_epoch || '.0.' || c.seq, c.seq, c.stream, c.key, c.operation, c.changed_at, c.diff
          from (
            select * from mirror.change_log where epoch < this_epoch
            union all
            select * from mirror.change_log where epoch > this_epoch
          ) c where c.seq > from_seq order by c.seq limit row_limit;
        get diagnostics given = row_count;
      end if;
      if given < row_limit then
        return query
          select '1.' || this_epoch || '.' || c.xid || '.' || c.seq, c.seq, c.stream, c.key, c.operation, c.changed_at,
            c.diff
          from mirror.change_log c
          where c.epoch = this_epoch and (c.xid, c.seq) > (from_xid, from_seq)
            and c.xid < pg_snapshot_xmin(pg_current_snapshot())
          order by c.xid, c.seq limit row_limit - given;
      end if;
    end $$`.execute(db)

  // A shell in SQL: only there may an argument and a column of the result both be called "cursor".
  await sql`create function mirror.changes_since(cursor text default null, max_rows int default 1000)
    returns table (cursor text, seq bigint, stream text, key jsonb, operation text, changed_at timestamptz, diff jsonb)
    language sql stable set search_path = pg_catalog, pg_temp
    as $$ select * from mirror.read_change_log($1, $2) $$`.execute(db)
}
