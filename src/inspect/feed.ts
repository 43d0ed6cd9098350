// The change feed: its consumers, which of them are about to lose, or have lost, changes to retention; who holds it back; and the roles
// that are gone and left something.

import type { Queryable } from '../database/sql.ts'
import { duration } from '../format.ts'
import { inStates, isUnsettled } from '../outbox/states.ts'
import { oneLine } from '../text.ts'

/** The consumer of the feed by which the webhook follows it. */
export const webhookConsumer = 'boat-mirror.webhook'

export type ConsumerStatus = {
  readonly name: string
  readonly registeredAt: Date
  readonly ackedAt: Date | null
  /** Age of the oldest change that it has not acknowledged; 0: there is none. */
  readonly behindS: number
  /** `late`: behind by more than half of HISTORY_DAYS. `lost`: what it had not acknowledged is gone. */
  readonly state: 'following' | 'late' | 'lost'
}

export async function consumerStatus(db: Queryable, historyDays: number): Promise<readonly ConsumerStatus[]> {
  const { rows } = await db.query<Omit<ConsumerStatus, 'state'> & { lost: boolean }>(
    `select name, registered_at as "registeredAt", acked_at as "ackedAt", extract(epoch from behind)::float8 as "behindS", lost
     from sync.consumers order by name`,
  )
  const lateS = (historyDays * 86_400) / 2
  return rows.map(({ lost, ...consumer }) => ({
    ...consumer,
    state: lost ? 'lost' : consumer.behindS > lateS ? 'late' : 'following',
  }))
}

/** What a late or lost consumer needs, in words. */
export function describeConsumer({ name, behindS, state }: ConsumerStatus): string {
  const drop = `or delete the consumer with: select mirror.drop_consumer('${name}')`
  return state === 'lost'
    ? `The consumer ${name} lost changes: they were deleted before it acknowledged them. Restart it with: select mirror.reset_consumer('${name}', 'now'), and copy the tables it needs; ${drop}`
    : `The consumer ${name} has not acknowledged changes for ${duration(behindS)}. They are deleted after HISTORY_DAYS. Start the reader of this consumer, ${drop}`
}

export type FeedHolder = {
  /** null for a prepared transaction, which has no process. */
  readonly pid: number | null
  /** Name of a prepared transaction. */
  readonly gid: string | null
  readonly application: string
  readonly user: string
  readonly database: string
  /** The start of the transaction; if this role may not see it, since when a committed change waits. */
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

/** Names the session, and the command that ends it. */
export function describeHolder({ pid, gid, application, user, database, since }: FeedHolder): string {
  const who = gid === null ? `process ${pid}` : `prepared transaction ${oneLine(gid)}`
  const details = [application || 'no application name', `user ${user}`, `database ${database}`].map((each) =>
    oneLine(each),
  )
  const end =
    gid === null ? `select pg_terminate_backend(${pid})` : `rollback prepared '${oneLine(gid)}' in that database`
  return `mirror.changes_since returns nothing new: an open transaction of ${who} (${details.join(', ')}) has held it back since ${since.toISOString()}. End the transaction there, or run: ${end}`
}

/** `left`: open changes, consumers, and references if another role has the name. */
export type GoneRole = { readonly name: string; readonly since: Date | null; readonly left: readonly string[] }

/** The gone roles that left something, by name. */
export async function goneRoles(db: Queryable): Promise<readonly GoneRole[]> {
  const { rows } = await db.query<GoneRole>(
    `select p.name, coalesce(p.gone_at, w.since) as since, l.left
     from sync.partners p cross join lateral (select count(*) as changes, min(q.enqueued_at) as since from outbox.queue q
         where q.enqueued_by = p.partner and ${isUnsettled('q.status')} and ${inStates('q.status', 'waiting')}) w
       cross join lateral (select array(
         select 'changes on hold: ' || w.changes where w.changes > 0
         union all select 'consumer ' || c.name from sync.consumer_positions c where c.role = p.partner and c.name <> $1
         union all select 'references' where exists (select from pg_roles r where r.rolname = p.name)
           and exists (select from outbox.queue q where q.enqueued_by = p.partner and q.reference is not null)) as left) l
     where not exists (select from pg_roles r where r.oid = p.role) and cardinality(l.left) > 0 order by p.name, p.partner`,
    [webhookConsumer],
  )
  return rows
}
