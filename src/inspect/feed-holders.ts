// Who holds the change feed back: it stops below the oldest running transaction that writes, in any database of the
// cluster, because that one may have taken its number before rows that are given already.

import type { Queryable } from '../database/sql.ts'
import { oneLine } from '../text.ts'

export type FeedHolder = {
  /** null for a prepared transaction, which has no process. */
  readonly pid: number | null
  /** Name of a prepared transaction. */
  readonly gid: string | null
  readonly application: string
  readonly user: string
  readonly database: string
  /** Where this role may not see when the transaction began: since when a committed change waits. */
  readonly since: Date
}

/** Transactions that have held the feed back for longer than a minute, oldest first, ten at most. */
export async function feedHolders(db: Queryable): Promise<readonly FeedHolder[]> {
  const { rows } = await db.query<FeedHolder>(
    `with writing as (
       select pid, null as gid, application_name as application, usename as "user", datname as database,
         xact_start as began, backend_xid as xid
       from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()
       union all
       select null, gid, 'a prepared transaction', owner, database, prepared, transaction from pg_prepared_xacts),
     waiting as (
       select changed_at from mirror.change_log
       where epoch = (select mirror.feed_epoch()) and xid >= pg_snapshot_xmin(pg_current_snapshot())
       order by epoch, xid, seq limit 1)
     select pid, gid, coalesce(application, '') as application, coalesce("user", '') as "user",
       coalesce(database, '') as database, coalesce(began, (select changed_at from waiting)) as since
     from writing
     where coalesce(began, (select changed_at from waiting)) < clock_timestamp() - interval '1 minute'
     order by age(xid) desc limit 10`,
  )
  return rows
}

/** Describes the session and the command that ends it. */
export function describeHolder({ pid, gid, application, user, database, since }: FeedHolder): string {
  const who = gid === null ? `process ${pid}` : `prepared transaction ${oneLine(gid)}`
  const details = [application || 'no application name', `user ${user}`, `database ${database}`].map((each) =>
    oneLine(each),
  )
  const end =
    gid === null ? `select pg_terminate_backend(${pid})` : `rollback prepared '${oneLine(gid)}' in that database`
  return `mirror.changes_since returns nothing new: an open transaction of ${who} (${details.join(', ')}) has held it back since ${since.toISOString()}. End the transaction there, or run: ${end}`
}
