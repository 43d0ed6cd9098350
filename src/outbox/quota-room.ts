// Which changes may start under a quota. Requests are reserved for changes that cannot wait: those with an unknown outcome, the steps of
// pending rentals, and all changes queued on a rental that is being created. Another change starts if the quota also covers it; a rental
// if it covers everything queued on it, because it expires while it is pending.

import { quotaValues } from '../api/admission/request-budget.ts'
import type { Quota } from '../config.ts'
import { inMs, on, type Queryable } from '../database/sql.ts'
import type { Change } from './change.ts'

/** The most requests of a change: a read before, its own, a read back, and a repeat. */
export const requestsAChange = 4

/** The error of a change that waits for the quota. */
export const waitsForQuota =
  'API_QUOTA_USED: waits until API_QUOTA has requests for it, and for all changes that depend on it.'

type Claimed = Pick<Change, 'id' | 'operation' | 'status' | 'dispatched' | 'deadline'>

/** The state of the quota when changes are claimed. */
export type Room = {
  /** Requests that changes may still take. */
  readonly left: number
  /** Changes that cannot wait, in addition to the claimed ones. */
  readonly pressing: number
  /** Changes queued on a rental not created yet, by the id of the change that creates it. */
  readonly chains: ReadonlyMap<string, number>
}

/** Ids of the changes that may not start yet. Changes that cannot wait always may. Pure. */
export function heldBack(claimed: readonly Claimed[], { left, pressing, chains }: Room): readonly string[] {
  const isPressing = ({ dispatched, deadline }: Claimed): boolean => dispatched || deadline !== null
  const others = claimed.filter((change) => !isPressing(change))
  let free = left - requestsAChange * (pressing + claimed.length - others.length)
  return others.flatMap(({ id, operation }) => {
    const changes = 1 + (operation === 'rental.create' ? (chains.get(id) ?? 0) : 0)
    if (changes * requestsAChange > free) return id
    free -= changes * requestsAChange
    return []
  })
}

/** Locks out other claims until the end of the transaction, because each relies on what it sees. */
export async function lockRoom(db: Queryable): Promise<void> {
  await db.query(`select pg_advisory_xact_lock(hashtext('boat-mirror.quota-room'))`)
}

/** Dependants of a rental's creation, and changes queued on it, follow it. */
const chainsSql = `with recursive making (root, id, is_claimed) as (
    select q.id, q.id, q.id = any($2) from outbox.queue q where q.status = 'sending' and q.operation = 'rental.create'
    union select m.root, n.id, m.is_claimed from making m cross join lateral (
      select d.change_id as id from outbox.dependencies d where d.depends_on = m.id
      union all select a.id from outbox.queue a where m.id = m.root and a.aggregate = 'change:' || m.root) n
  ), steps as (
    select m.root, m.is_claimed, count(*)::int as changes from making m join outbox.queue q on q.id = m.id
    where m.id <> m.root and case when q.status = 'queued' then q.deadline is null end group by 1, 2
  )
  select (select min(w.allowed - w.used)::float8 from sync.quota_windows($1, clock_timestamp()) w where w.allowed is not null) as "left",
    (select count(*) from outbox.queue q where (q.status = 'sending' or (q.status = 'queued' and q.deadline is not null))
       and q.id <> all($2))::int + coalesce((select sum(s.changes) from steps s where not s.is_claimed), 0)::int as pressing,
    coalesce((select jsonb_object_agg(s.root, s.changes) from steps s where s.is_claimed), '{}') as chains`

/** Reads the quota and the claims: the given ones, in this transaction, and others before. */
export async function readRoom(db: Queryable, quota: Quota, claimed: readonly Claimed[]): Promise<Room> {
  const { rows } = await db.query<{ left: number; pressing: number; chains: Readonly<Record<string, number>> }>(
    chainsSql,
    [quotaValues(quota), claimed.map(({ id }) => id)],
  )
  const [room] = rows
  if (room === undefined) throw new Error('A query without a from clause gave no row.')
  return { ...room, chains: new Map(Object.entries(room.chains)) }
}

const checkAgainMs = 30_000

/** Returns changes that were claimed in this transaction, with the reason. */
export async function holdForQuota(db: Queryable, ids: readonly string[]): Promise<void> {
  await on(db)
    .updateTable('outbox.queue')
    .set((eb) => ({
      status: 'queued',
      attempts: eb('attempts', '-', 1),
      next_attempt_at: inMs(checkAgainMs),
      owner: null,
      lease_until: null,
      error: waitsForQuota,
    }))
    .where('id', 'in', ids)
    .execute()
}
