// Senders: a worker's own calls to an address, such as webhooks. One worker at a time holds the lease of a sender,
// with a fencing number. Its position and last error are stored for the next holder, and for operators.

import { sql } from 'kysely'
import { isFree, lasting, leaseLost, newFence } from './leases.ts'
import { inMs, now, on, type Queryable } from './sql.ts'

export type SenderName = 'webhook' | 'alert'

/** A worker that does not extend the lease for this long has lost it; longer than one attempt may take. */
const leaseMs = 60_000
/** It is extended when less than this is left: an attempt that begins must end within it. */
const extendedBelowMs = 40_000

/** The right to send, until another worker takes it. */
export type Lease = {
  readonly name: SenderName
  readonly fence: string
  /** Attempts that failed in a row. */
  readonly attempts: number
  /** False: the next attempt is not due yet. */
  readonly due: boolean
}

/**
 * Takes or extends the lease; null: another worker has it. A worker that has just started does not wait for the next attempt
 * of the one before: you may have repaired the receiver.
 * @param address identifies the present address: a new one is tried immediately
 */
export async function takeLease(
  db: Queryable,
  name: SenderName,
  { owner, address }: { readonly owner: string; readonly address: string },
): Promise<Lease | null> {
  const { rows } = await db.query<Lease>(
    `with taken as (
       insert into sync.senders as s (name, owner, address, fence, lease_until)
       values ($1, $2, $3, ${newFence}, clock_timestamp() + ${leaseMs} * interval '1 ms')
       on conflict (name) do update set owner = $2, address = $3, ${lasting(leaseMs)},
         fence = case when s.owner = $2 then s.fence else excluded.fence end,
         attempts = case when s.address is distinct from $3 then 0 else s.attempts end,
         failing_since = case when s.address is not distinct from $3 then s.failing_since end,
         last_error = case when s.address is not distinct from $3 then s.last_error end,
         next_attempt_at = case when s.address = $3 and s.owner = $2 and s.lease_until is not null then s.next_attempt_at end
       where ${isFree('s.')} or s.owner = $2
         and (s.address is distinct from $3 or s.lease_until < clock_timestamp() + ${extendedBelowMs} * interval '1 ms')
       returning s.*
     )
     select name, fence, attempts, coalesce(next_attempt_at <= clock_timestamp(), true) as due from (
       select * from taken
       union all
       select * from sync.senders where name = $1 and owner = $2 and not exists (select from taken)
     ) s where lease_until > clock_timestamp()`,
    [name, owner, address],
  )
  return rows[0] ?? null
}

const ours = (db: Queryable, { name, fence }: Lease) =>
  on(db).updateTable('sync.senders').where('name', '=', name).where('fence', '=', fence)

/**
 * Locks the sender's row until the transaction ends: no other worker can take the lease meanwhile. @throws
 * BoatMirrorError LEASE_LOST
 */
export async function holdLease(client: Queryable, { name, fence }: Lease): Promise<void> {
  const { rowCount } = await client.query('select from sync.senders where name = $1 and fence = $2 for update', [
    name,
    fence,
  ])
  if (rowCount !== 1) throw leaseLost(`The ${name} sender`)
}

/** Records that the receiver accepted a call. False: another worker has the lease by now. */
export async function noteDelivered(db: Queryable, lease: Lease, count: number): Promise<boolean> {
  const { numUpdatedRows } = await ours(db, lease)
    .set({ attempts: 0, failing_since: null, next_attempt_at: null, last_error: null, delivered_at: now })
    .set({ delivered: sql`delivered + ${count}` })
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Notes a failed attempt and when the next one is due, unless another worker has the lease by now. */
export async function noteFailure(
  db: Queryable,
  lease: Lease,
  { error, waitMs }: { readonly error: string; readonly waitMs: number },
): Promise<void> {
  await ours(db, lease)
    .set({ attempts: sql`attempts + 1`, last_error: error, next_attempt_at: inMs(waitMs) })
    .set({ failing_since: sql`coalesce(failing_since, clock_timestamp())` })
    .executeTakeFirst()
}

/** Makes the next attempt due now, if it goes to this address. */
export async function hurrySender(db: Queryable, name: SenderName, address: string): Promise<void> {
  await on(db)
    .updateTable('sync.senders')
    .set({ next_attempt_at: null })
    .where('name', '=', name)
    .where('address', '=', address)
    .execute()
}

/** Gives the lease back, so that another worker need not wait until it runs out. */
export async function giveLeaseBack(db: Queryable, name: SenderName, owner: string): Promise<void> {
  await on(db)
    .updateTable('sync.senders')
    .set({ lease_until: null })
    .where('name', '=', name)
    .where('owner', '=', owner)
    .executeTakeFirst()
}

export type SenderState = {
  readonly delivered: number
  readonly deliveredAt: Date | null
  /** When the attempts began to fail; null: the last one did not. */
  readonly failingSince: Date | null
  /** The same in seconds until now. */
  readonly failingS: number | null
  readonly nextAttemptAt: Date | null
  readonly attempts: number
  /** In our words: what a receiver answers is not quoted. */
  readonly lastError: string | null
}

/** How far a sender is; null: no worker has sent yet. */
export async function senderState(db: Queryable, name: SenderName): Promise<SenderState | null> {
  const row = await on(db)
    .selectFrom('sync.senders')
    .select((eb) => [
      eb.cast<number>('delivered', 'float8').as('delivered'),
      'delivered_at as deliveredAt',
      'failing_since as failingSince',
      sql<number | null>`extract(epoch from clock_timestamp() - failing_since)::float8`.as('failingS'),
      'next_attempt_at as nextAttemptAt',
      'attempts',
      'last_error as lastError',
    ])
    .where('name', '=', name)
    .executeTakeFirst()
  return row ?? null
}
