// Claims changes, in turn by role, under leases with a fence, and finds what is due next. The only file that claims.

import { sql } from 'kysely'
import { deadlineIn } from '../clock.ts'
import type { Quota } from '../config.ts'
import { claiming, isFree, leaseLost } from '../database/leases.ts'
import { durably, inMs, on, type Queryable } from '../database/sql.ts'
import { isUniqueViolation } from '../database/sql-states.ts'
import { type BoatMirrorError, messageOf } from '../errors.ts'
import { processLife } from '../service.ts'
import { isChangeDecisionOpen } from '../sync/decisions.ts'
import { inBatches, mostTogether } from './batches.ts'
import { type Change, type ChangeRow, changeColumns, toChange } from './change.ts'
import { leaseMs, type PushContext } from './context.ts'
import { heldBack, holdForQuota, lockRoom, readRoom } from './quota-room.ts'
import { goneRoles, inStates } from './states.ts'

/**
 * Whether it is a change's turn. A queued change must be the first of its aggregate, no other change of the aggregate may be
 * `sending`, its dependencies must be done, it must have moved to its created record ({@link tidy}), and its role must exist.
 * `case` makes Postgres check row by row, so that a claim stops at the first row that fits. Dependencies are looked up by a
 * subquery: a join of two tables that were never analysed may scan one of them for every row.
 */
const itsTurn = `case when q.epoch <> (select i.epoch from outbox.installation i where i.undecided) then false
    when q.status = 'sending' then true else
    not exists (select from outbox.queue b where b.aggregate = q.aggregate and b.id < q.id
                and ${inStates('b.status', 'holding')})
    and not exists (select from outbox.queue b where b.aggregate = q.aggregate and b.status = 'sending')
    and not exists (select from outbox.dependencies d where d.change_id = q.id
                    and (select c.status from outbox.queue c where c.id = d.depends_on) <> 'done')
    and case when q.aggregate like 'change:%' then not exists (select from outbox.queue c
      where c.id = substr(q.aggregate, 8)::bigint and c.aggregate <> q.aggregate) else true end
    and q.enqueued_by not in (${goneRoles})
  end`

/** Changes that cannot wait: those with an unknown outcome, and the steps of rentals that expire while pending. */
const urgent = `(q.status = 'sending' or (q.status = 'queued' and q.deadline is not null))`
const any = inStates('q.status', 'claimable')
const isDue = `q.next_attempt_at <= clock_timestamp() and ${isFree('q.')}
      and (q.expires_at is null or q.expires_at > clock_timestamp() or q.status = 'sending'
        or q.epoch <> (select i.epoch from outbox.installation i))`

/** The values of the placeholders in due.sql. */
export const dueConditions = {
  ...{ urgent, due: `${isDue} and ${itsTurn}`, claimable: any, free: isDue },
  ...{ claiming: claiming('pusher', 'lease_ms'), durably },
}

const claimAttempts = 2
const claimRounds = 20 // of changes that wait for the quota: the lock is not held for ever

/**
 * Claims up to `most` due changes of different aggregates. Changes with an unknown outcome and of pending rentals come first. Then
 * come the oldest of each role in turn, starting after `servedLast`, so that one role with 10,000 changes does not block the
 * others. Locks the rows (`for update skip locked`), marks them `sending` until `leaseMs` from now, and gives each a new
 * fence. The fence is random: after a crash or failover that lost a claim, a counter would give its number again.
 */
export async function claimChanges(
  db: Queryable,
  owner: string,
  {
    leaseMs: lease,
    most,
    servedLast,
  }: { readonly leaseMs: number; readonly most: number; readonly servedLast: string },
): Promise<readonly Change[]> {
  for (let attempt = 1; attempt <= claimAttempts; attempt++) {
    try {
      const claimed = `select ${changeColumns} from outbox.claim($1, $2, $3, $4) q`
      return (await db.query<ChangeRow>(claimed, [owner, lease, most, servedLast])).rows.map(toChange)
    } catch (error) {
      if (!isUniqueViolation(error)) throw error // another pusher took a change of the same aggregate at the same moment
    }
  }
  return []
}

/** The same within a quota, in a separate transaction. Holds the changes beyond it (`held`) for a while, and claims others instead. */
async function claimWithin(
  db: Queryable,
  owner: string,
  wanted: Parameters<typeof claimChanges>[2],
  quota: Quota,
): Promise<{ readonly changes: readonly Change[]; readonly held: number }> {
  await lockRoom(db)
  let held = 0
  for (let round = 0; round < claimRounds; round++) {
    const claimed = await claimChanges(db, owner, wanted)
    const kept = claimed.length === 0 ? [] : heldBack(claimed, await readRoom(db, quota, claimed))
    if (kept.length > 0) await holdForQuota(db, kept)
    held += kept.length
    const changes = claimed.filter(({ id }) => !kept.includes(id))
    if (changes.length > 0 || claimed.length === 0) return { changes, held }
  }
  return { changes: [], held }
}

/** Renews the leases of a pusher, except of changes that wait for their next attempt. Returns the ids of those renewed. */
export async function renewLeases(db: Queryable, owner: string, lease: number): Promise<readonly string[]> {
  const renewed = await on(db)
    .updateTable('outbox.queue')
    .set({ lease_until: inMs(lease) })
    .where('status', '=', 'sending')
    .where('owner', '=', owner)
    .where('lease_until', 'is not', null)
    .returning('id')
    .execute()
  return renewed.map(({ id }) => id)
}

const heartbeatsPerLease = 3

/** Claims changes for one pusher, and renews their leases until they end. `onHeld` is called if the quota does not cover a change. */
export function createClaims({ database, log, settings }: PushContext, onHeld: () => void) {
  const owner = processLife()
  const lease = leaseMs(settings)
  /** Of each claimed change, whether its lease has run out. */
  const claims = new Map<string, () => boolean>()
  let heartbeat: NodeJS.Timeout | undefined
  /** The role that queued the change claimed last: the next claim begins after it. */
  let servedLast = ''

  const renew = async (): Promise<void> => {
    const hasRunOut = deadlineIn(lease) // counted from before the database does, so that it ends before
    for (const id of await renewLeases(database.pool, owner, lease)) if (claims.has(id)) claims.set(id, hasRunOut)
  }
  const beat = (): void => {
    renew().catch((error: unknown) =>
      log.warn({ event: 'lease_not_renewed', reason: messageOf(error) }, 'could not renew the leases of changes'),
    )
  }
  const claimInTurn = async (most: number): Promise<readonly Change[]> => {
    const wanted = { leaseMs: lease, most, servedLast }
    const { quota } = settings.api
    const { changes, held } =
      quota === null
        ? { changes: await claimChanges(database.pool, owner, wanted), held: 0 }
        : await database.transaction((client) => claimWithin(client, owner, wanted, quota))
    if (held > 0) onHeld()
    servedLast = changes.at(-1)?.enqueuedBy ?? servedLast
    return changes
  }
  /** Callers that arrive during a claim are served by the next one, which claims a change for each of them. */
  const claim = inBatches(mostTogether, (asking: readonly undefined[]) => {
    const hasRunOut = deadlineIn(lease)
    const found = claimInTurn(asking.length)
    return asking.map(async (_, index) => {
      const change = (await found)[index]
      if (change === undefined) return null
      claims.set(change.id, hasRunOut)
      heartbeat ??= setInterval(beat, lease / heartbeatsPerLease)
      return change
    })
  })
  return {
    /** Claims the next change that is due; null: none is. */
    next: () => claim(undefined),
    /** Whether the claim on a change holds, as far as this process knows. */
    holds: (id: string): boolean => claims.get(id)?.() === false,
    /** Ends a claim: the change is settled or returned. */
    end: (id: string): void => {
      claims.delete(id)
      if (claims.size > 0) return
      clearInterval(heartbeat)
      heartbeat = undefined
    },
  }
}

/** Returns a change as if it had not been claimed, to be claimed after `delayMs`. A dispatched change keeps its mark. */
export async function releaseChange(db: Queryable, change: Change, delayMs = 0): Promise<void> {
  await on(db)
    .updateTable('outbox.queue')
    .set({
      status: sql`case when departed then status else 'queued' end`,
      attempts: sql`attempts - case when departed then 0 else 1 end`,
      next_attempt_at: inMs(delayMs),
      owner: null,
      lease_until: null,
    })
    .where('id', '=', change.id)
    .where('fence', '=', change.fence)
    .where('status', '=', 'sending')
    .where(sql<boolean>`${sql.raw(durably)}`)
    .execute()
}

/** Notices that this database has another history than before: see sql/history.sql. */
export async function noticeHistory(db: Queryable): Promise<void> {
  await db.query('select outbox.notice_history()')
}

/** Before claiming: notices another history of the database, expires what is late, moves changes whose record was created meanwhile. */
export async function tidy(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ expired: number }>('select outbox.tidy() as expired')
  return rows[0]?.expired ?? 0
}

/**
 * The earliest time at which a change may be claimed or expires; null when that needs a decision or another change. `offset 0` makes
 * Postgres sort first, so that it asks whose turn it is only until one has it: of 10,000 queued changes 14 ms instead of 125.
 */
export async function nextDueAt(db: Queryable): Promise<Date | null> {
  const { rows } = await db.query<{ due: Date | null }>(`select least(
    (select q.at from (select q.id, q.aggregate, q.status, q.epoch, q.enqueued_by, greatest(q.next_attempt_at, q.lease_until) as at
        from outbox.queue q where ${any} order by at offset 0) q where ${itsTurn} limit 1),
    (select min(q.expires_at) from outbox.queue q where q.expires_at is not null and ${inStates('q.status', 'waiting')}),
    case when ${isChangeDecisionOpen} then clock_timestamp() end
  ) as due`)
  return rows[0]?.due ?? null
}

/** Whether anything may still settle without a decision: a change is being sent, or is next in turn. */
export async function canProgress(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ can: boolean }>(
    `select exists (select from outbox.queue q where ${any} and ${itsTurn}) or ${isChangeDecisionOpen} as can`,
  )
  return rows[0]?.can === true
}

/** The error of a pusher whose change another has claimed since. */
export const changeLost = ({ id }: Change): BoatMirrorError => leaseLost(`Change ${id}`)
