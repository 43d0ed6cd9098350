// Settles a change: its state and result, the rows of the mirror, its dependants and the notification, in one transaction. The
// transaction also checks that the claim on the change still holds.

import { sql, type UpdateObject } from 'kysely'
import type { PoolClient } from 'pg'
import { keyText } from '../catalog/keys.ts'
import { sleep } from '../clock.ts'
import type { MirrorDatabase } from '../database/schema.generated.ts'
import { columnsOf, durably, inMs, now, on } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import { doubtDetails } from '../mirror/records.ts'
import { applyWrites, DataRefused } from '../mirror/writer.ts'
import { bindApi } from '../profile/mirrored-api.ts'
import { pendingRentalMs } from './attempts.ts'
import { inBatches, mostTogether } from './batches.ts'
import type { Change } from './change.ts'
import { changeLost } from './claim.ts'
import type { PushContext } from './context.ts'
import { type Done, isFinal, jsonParameter, type Outcome, outcomeOfFault } from './outcome.ts'
import { hashEnded, storedOutcome } from './personal.ts'
import { rootOf } from './reads.ts'

export type DoneChange = { readonly change: Change; readonly done: Done }

/** The outcome without its answer: a change is done even if Postgres refuses the data of the answer. */
export const unmirrored = (done: Done): Done => ({
  ...done,
  mirror: {},
  warnings: [...done.warnings, 'The answer could not be mirrored: Postgres refused its data.'],
})

/** Columns of a change as an update sets them. */
type Assignments = UpdateObject<MirrorDatabase, 'outbox.queue'>

async function write(client: PoolClient, change: Change, assignments: Assignments): Promise<void> {
  const { numUpdatedRows } = await on(client)
    .updateTable('outbox.queue')
    .set({ ...assignments, owner: null, lease_until: null })
    .where('id', '=', change.id)
    .where('fence', '=', change.fence)
    .where('status', '=', change.status)
    .where(sql<boolean>`${sql.raw(durably)}`)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) throw changeLost(change)
}

async function writeDone(client: PoolClient, settled: readonly DoneChange[]): Promise<void> {
  const rows = settled.map(({ change, done }) => [
    change.id,
    change.fence,
    change.status,
    jsonParameter(done.result),
    jsonParameter(done.response),
    done.recordKey === null ? null : keyText(done.recordKey),
    jsonParameter(done.leftBehind),
    done.warnings.join(' ') || null,
  ])
  const written = await client.query<{ id: string }>(
    'select id from outbox.write_done($1, $2, $3, $4, $5, $6, $7, $8) id',
    columnsOf(rows, 8),
  )
  const lost = settled.find(({ change }) => !written.rows.some(({ id }) => id === change.id))
  if (lost !== undefined) throw changeLost(lost.change)
}

/** The aggregate that a change belongs to once it is done. */
export const aggregateOf = ({ change, done }: DoneChange): string =>
  done.madeRoot ? `${change.write.aggregate}:${done.rootId}` : change.aggregate

/** Whether the change created the record of its new aggregate. It locks both aggregates before any row, so it is settled alone. */
const moves = (settled: DoneChange): boolean => aggregateOf(settled) !== settled.change.aggregate

/**
 * Makes changes `done`: results, mirror rows, the moved aggregate, deadlines, dependants and notifications. Several changes must
 * be of different aggregates, and none of them may move.
 * @returns how many rows of the mirror changed.
 * @throws BoatMirrorError LEASE_LOST when one of them is no longer as it was taken.
 */
export async function settleDone(client: PoolClient, settled: readonly DoneChange[]): Promise<number> {
  const moved = settled.filter(moves)
  // Aggregates are locked before any row, in the order of outbox.enqueue.
  for (const each of moved)
    for (const aggregate of [each.change.aggregate, aggregateOf(each)])
      await client.query(`select outbox.lock_aggregate($1)`, [aggregate])
  await writeDone(client, settled)
  // Only now: the record's own aggregate may have a change in progress, and never two.
  for (const each of moved)
    await client.query(`select outbox.move_aggregate($1, $2)`, [each.change.id, aggregateOf(each)])
  const { counts } = await applyWrites(client, {
    tables: settled.flatMap(({ done }) => done.mirror.tables ?? []),
    filled: settled.flatMap(({ done }) => done.mirror.filled ?? []),
    tombstones: settled.flatMap(({ done }) => done.mirror.tombstones ?? []),
  })
  await followUp(client, settled)
  return [...counts.values()].reduce((total, each) => total + each.inserted + each.updated + each.deleted, 0)
}

/** All transactions lock stored states of records in the order of their keys. */
const byKey = (a: { readonly key: string | null }, b: { readonly key: string | null }): number =>
  (a.key ?? '') < (b.key ?? '') ? -1 : 1

async function followUp(client: PoolClient, settled: readonly DoneChange[]): Promise<void> {
  const all = settled
    .map((each) => {
      const { change, done } = each
      const root = rootOf(change.write).stream.name
      return { each, below: change.write.stream, root, key: done.rootId === null ? null : keyText([done.rootId]) }
    })
    .sort(byKey)
  await doubtDetails(
    client,
    all.flatMap(({ below, root, key }) => (key === null || below === root ? [] : [{ stream: below, key }])),
  )
  const rows = all.map(({ each, root, key }) => [each.change.id, aggregateOf(each), root, key, each.done.rentalStatus])
  await client.query(
    `select outbox.after_done(s.id, s.aggregate, s.root, s.key, s.status, $6)
     from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) as s (id, aggregate, root, key, status)`,
    [...columnsOf(rows, 5), pendingRentalMs],
  )
}

function assignmentsOf(change: Change, outcome: Exclude<Outcome, Done>): Assignments {
  switch (outcome.kind) {
    case 'retry':
      return {
        status: 'queued',
        departed: false,
        error: outcome.error,
        next_attempt_at: inMs(outcome.delayMs),
        left_out: sql`left_out || ${outcome.leaveOut ?? []}::text[]`,
        attempts: sql`attempts - ${outcome.heldBack ? 1 : 0}::int`,
        ...(outcome.heldBack && { sent_at: sql`case when departed then null else sent_at end` }),
        // An attempt that was verified may still show an effect later.
        proof: change.evidence.former
          ? null
          : change.dispatched
            ? sql`coalesce(proof, '{}') || '{"ambiguous": true}'`
            : sql`case when proof ? 'ambiguous' then proof end`,
      }
    case 'verify': {
      const { answered, finished, response } = outcome
      const refused = outcome.refused && { refused: outcome.error }
      const known = { ambiguous: true, ...(answered && { answered }), ...(finished && { finished }), ...refused }
      return {
        error: outcome.error,
        looks: sql`looks + 1`,
        next_attempt_at: inMs(outcome.delayMs),
        proof: sql`coalesce(proof, '{}') || ${jsonParameter(known)}::jsonb`,
        ...(response !== undefined && { response: jsonParameter(response) }),
      }
    }
    case 'conflict':
      return {
        status: 'conflict',
        settled_at: now,
        departed: false,
        conflict: jsonParameter(outcome.conflict),
        error: `Changed in the API and in this change: ${Object.keys(outcome.conflict).join(', ')}. Decide with: changes resolve ${change.id} --take local|remote.`,
      }
    case 'unknown':
    case 'failed':
    case 'expired':
      return {
        status: outcome.kind,
        settled_at: now,
        departed: false,
        error: outcome.error,
        response: sql`coalesce(${jsonParameter(outcome.response)}::jsonb, case when proof ? 'refused' then response end)`,
        attempts: sql`attempts - ${outcome.unsent ? 1 : 0}::int`,
        ...(outcome.kind !== 'unknown' && { proof: null }),
      }
    default:
      return outcome satisfies never
  }
}

/**
 * Settles a change, or parks it until its next attempt or verification. One transaction; NOTIFY boat_mirror_settled with the
 * change's id as payload.
 * @throws BoatMirrorError LEASE_LOST when another pusher took the change over; nothing is written then.
 */
export async function settleChange(context: PushContext, change: Change, outcome: Outcome): Promise<void> {
  if (outcome.kind === 'done') return await settleChanges(context, [{ change, done: outcome }])
  await context.database.transaction((client) => settleOther({ context, client }, change, outcome))
}

type Settling = { readonly context: PushContext; readonly client: PoolClient }

async function settleOther(
  { context, client }: Settling,
  change: Change,
  outcome: Exclude<Outcome, Done>,
): Promise<void> {
  await context.privacy?.assertCurrent(client)
  await write(client, change, assignmentsOf(change, storedOutcome(context.privacy, change.write, outcome)))
  if (outcome.kind === 'failed' || outcome.kind === 'expired')
    await client.query(`select outbox.block_dependants($1)`, [change.id])
  await client.query('select outbox.end_erased($1)', [[change.id]])
  if (!isFinal(outcome)) return
  await hashEnded(client, context.privacy, { ids: [change.id] })
  await client.query(`select pg_notify('boat_mirror_settled', $1)`, [change.id])
}

/** Settles a change after an unexpected error. Only the table shows whether its request had been dispatched. @throws BoatMirrorError LEASE_LOST */
export async function settleFault(context: PushContext, change: Change, error: unknown): Promise<Outcome> {
  return await context.database.transaction(async (client) => {
    await context.privacy?.assertCurrent(client) // before any lock for which `privacy apply` may wait
    const row = await on(client)
      .selectFrom('outbox.queue')
      .select(['departed', 'attempts', 'looks'])
      .where('id', '=', change.id)
      .where('fence', '=', change.fence)
      .forUpdate()
      .executeTakeFirst()
    if (row === undefined) throw changeLost(change)
    const tries = row.departed ? row.looks + 1 : row.attempts
    const outcome = outcomeOfFault(error, { changeId: change.id, dispatched: row.departed, tries })
    await settleOther({ context, client }, change, outcome)
    return outcome
  })
}

/** The same for changes that took effect, all of them or none: see {@link settleDone}. */
async function settleChanges(context: PushContext, settled: readonly DoneChange[]): Promise<void> {
  const written = await context.database.transaction(async (client) => {
    await context.privacy?.assertCurrent(client)
    const kept = settled.map(({ change, done }) => ({
      change,
      done: storedOutcome(context.privacy, change.write, done),
    }))
    await bindApi(client, context.settings)
    const rows = await settleDone(client, kept)
    await hashEnded(client, context.privacy, { ids: settled.map(({ change }) => change.id) })
    return rows
  })
  if (written > 0) context.onCommit?.(written)
}

const settleAttempts = 5

/** Settles changes as their outcomes become known: those that took effect together with others, all others alone. */
export function createSettling(context: PushContext): (change: Change, outcome: Outcome) => Promise<void> {
  /** Only this process knows the answer, which must survive a restart of the database. */
  const alone = async (change: Change, outcome: Outcome): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await settleChange(context, change, outcome)
      } catch (error) {
        if (error instanceof DataRefused && outcome.kind === 'done')
          return await settleChange(context, change, unmirrored(outcome))
        const mayPass = error instanceof BoatMirrorError && error.kind === 'retry'
        if (!mayPass || attempt === settleAttempts) throw error
        await sleep(200 * 2 ** attempt)
      }
    }
  }
  /** If a batch fails for any reason, each change of it is settled alone. */
  const together = inBatches(mostTogether, (settled: readonly DoneChange[]) => {
    const areSettled =
      settled.length > 1 &&
      settleChanges(context, settled).then(
        () => true,
        () => false,
      )
    return settled.map(async ({ change, done }) => {
      if (!(await areSettled)) await alone(change, done)
    })
  })
  return async (change, outcome) => {
    if (outcome.kind !== 'done' || moves({ change, done: outcome })) await alone(change, outcome)
    else await together({ change, done: outcome })
  }
}
