// Writes down what came of a change: state, result, mirror rows, what hangs on it, and the news, in one transaction that
// also proves that the change is still ours.

import type { PoolClient } from 'pg'
import { streamNamed } from '../catalog/catalog.ts'
import { applyWrites } from '../mirror/writer.ts'
import { doubtDetails, keyText } from '../state/records.ts'
import { pendingRentalMs } from './attempts.ts'
import type { Change } from './change.ts'
import { leaseLost } from './claim.ts'
import type { PushContext } from './context.ts'
import { type Done, jsonParameter, type Outcome } from './outcome.ts'
import { rootOf } from './reads.ts'

const ours = `where id = $1 and fence = $2 and status = $3`
const released = `owner = null, lease_until = null`

async function write(
  client: PoolClient,
  change: Change,
  assignments: string,
  values: readonly unknown[],
): Promise<void> {
  const { rowCount } = await client.query(`update outbox.queue set ${assignments} ${ours}`, [
    change.id,
    change.fence,
    change.status,
    ...values,
  ])
  if (rowCount !== 1) throw leaseLost(change)
}

/**
 * Makes a change `done`: result, mirror rows, the moved aggregate, deadlines, what waited for it, the news.
 * @returns how many rows of the mirror changed.
 * @throws BoatMirrorError LEASE_LOST when the change is no longer as it was taken.
 */
export async function settleDone(client: PoolClient, change: Change, done: Done): Promise<number> {
  const aggregate = done.madeRoot ? `${change.write.aggregate}:${done.rootId}` : change.aggregate
  const moves = aggregate !== change.aggregate
  // Locks of aggregates come before any row lock, in the order of outbox.enqueue.
  if (moves)
    for (const each of [change.aggregate, aggregate]) await client.query(`select outbox.lock_aggregate($1)`, [each])
  await write(
    client,
    change,
    `status = 'done', settled_at = clock_timestamp(), settled_xid = pg_current_xact_id(), departed = false, result = $4::jsonb, response = $5::jsonb,
     record_key = $6, left_behind = $7::jsonb, warning = $8, error = null, conflict = null, proof = null, ${released}`,
    [
      jsonParameter(done.result),
      jsonParameter(done.response),
      done.recordKey === null ? null : keyText(done.recordKey),
      jsonParameter(done.leftBehind),
      done.warnings.join(' ') || null,
    ],
  )
  // Only now: the record's own aggregate may have a change on its way, and never has two.
  if (moves) await client.query(`select outbox.move_aggregate($1, $2)`, [change.id, aggregate])
  const counts = await applyWrites(client, done.mirror)
  const { stream } = rootOf(change.write)
  const { rootId } = done
  if (rootId !== null && change.write.stream !== stream.name)
    await doubtDetails(client, streamNamed(change.write.stream), [rootId])
  await client.query(`select outbox.after_done($1, $2, $3, $4, $5, $6)`, [
    change.id,
    aggregate,
    stream.name,
    rootId === null ? null : keyText([rootId]),
    done.rentalStatus,
    pendingRentalMs,
  ])
  return [...counts.values()].reduce((total, each) => total + each.inserted + each.updated + each.deleted, 0)
}

async function settleUndone(client: PoolClient, change: Change, outcome: Exclude<Outcome, Done>): Promise<void> {
  switch (outcome.kind) {
    case 'retry':
      return await write(
        client,
        change,
        `status = 'queued', departed = false, error = $4, next_attempt_at = clock_timestamp() + $5 * interval '1 ms',
         left_out = left_out || $6::text[], attempts = attempts - $7::int, proof = case when proof ? 'ambiguous' then proof end, ${released}`,
        [outcome.error, outcome.delayMs, outcome.leaveOut ?? [], outcome.heldBack ? 1 : 0],
      )
    case 'verify':
      return await write(
        client,
        change,
        `error = $4, looks = looks + 1, next_attempt_at = clock_timestamp() + $5 * interval '1 ms',
         proof = coalesce(proof, '{}') || $6::jsonb, ${released}`,
        [
          outcome.error,
          outcome.delayMs,
          jsonParameter({
            ambiguous: true,
            ...(outcome.answered && { answered: true }),
            ...(outcome.finished && { finished: true }),
          }),
        ],
      )
    case 'conflict':
      return await write(
        client,
        change,
        `status = 'conflict', settled_at = clock_timestamp(), departed = false, conflict = $4::jsonb, error = $5, ${released}`,
        [
          jsonParameter(outcome.conflict),
          `Changed upstream and here: ${Object.keys(outcome.conflict).join(', ')}. Decide with: changes resolve ${change.id} --take local|remote.`,
        ],
      )
    case 'unknown':
    case 'failed':
    case 'expired':
      return await write(
        client,
        change,
        `status = $4, settled_at = clock_timestamp(), departed = false, error = $5, response = $6::jsonb,
         proof = case when $4 = 'unknown' then proof end, ${released}`,
        [outcome.kind, outcome.error, jsonParameter(outcome.response)],
      )
    default:
      return outcome satisfies never
  }
}

/** True for outcomes after which nothing happens to the change by itself. */
export const isFinal = (outcome: Outcome): boolean => outcome.kind !== 'retry' && outcome.kind !== 'verify'

/**
 * Settles a change, or parks it until its next attempt or verification. One transaction; NOTIFY boat_mirror_settled with the
 * change's id as payload.
 * @throws BoatMirrorError LEASE_LOST when another pusher took the change over; nothing is written then.
 */
export async function settleChange(context: PushContext, change: Change, outcome: Outcome): Promise<void> {
  const written = await context.database.transaction(async (client) => {
    const rows = outcome.kind === 'done' ? await settleDone(client, change, outcome) : 0
    if (outcome.kind !== 'done') await settleUndone(client, change, outcome)
    if (outcome.kind === 'failed' || outcome.kind === 'expired')
      await client.query(`select outbox.block_dependants($1)`, [change.id])
    if (isFinal(outcome)) await forgetGonePerson(client, change)
    if (isFinal(outcome) && outcome.kind !== 'done')
      await client.query(`select pg_notify('boat_mirror_settled', $1)`, [change.id])
    return rows
  })
  if (written > 0) context.onCommit?.(written)
}

/** A change that settles after its person is gone keeps its outcome only. */
async function forgetGonePerson(client: PoolClient, change: Change): Promise<void> {
  if (change.write.aggregate !== 'user') return
  await client.query(
    `select outbox.erase_person(u.id) from outbox.queue q join mirror.users u on q.aggregate = 'user:' || u.id
     where q.id = $1 and u._deleted_at is not null`,
    [change.id],
  )
}
