// What a person decides about a change: again, not at all, how a conflict ends, whether an unknown one took effect.
// Each decision is one transaction and refuses states in which it would mean nothing.

import type { PoolClient } from 'pg'
import type { Json, JsonObject } from '../api/json.ts'
import { isObject, parseJson } from '../api/json.ts'
import { BoatMirrorError } from '../errors.ts'
import type { Database } from '../mirror/database.ts'
import { keyText } from '../mirror/records.ts'
import { resolveTarget } from './body.ts'
import { type Change, type ChangeRow, changeColumns, toChange } from './change.ts'
import { holderOf, mirrorKey, proofKind, yieldsId } from './operations.ts'
import { type Event, statesBefore, transition } from './transitions.ts'

/** Locks a change and checks that the decision fits its state. */
async function take(client: PoolClient, id: string, event: Event, decision: string): Promise<Change> {
  const { rows } = await client.query<ChangeRow>(
    `select ${changeColumns} from outbox.queue q where q.id = $1 for update of q`,
    [id],
  )
  const [row] = rows
  if (row === undefined) throw new BoatMirrorError('NOT_FOUND', `There is no change ${id}.`)
  if (transition(row.status, event) === null)
    throw new BoatMirrorError(
      'USAGE',
      `Change ${id} is ${row.status}; only ${statesBefore(event).join(', ')} can be ${decision}.`,
    )
  return toChange(row)
}

const afresh = `departed = false, owner = null, lease_until = null, settled_at = null, error = null, conflict = null,
  blocked_by = null, next_attempt_at = clock_timestamp(), status = 'queued'`

const wake = (client: PoolClient): Promise<unknown> => client.query(`select pg_notify('boat_mirror_outbox', '')`)

const tell = (client: PoolClient, id: string): Promise<unknown> =>
  client.query(`select pg_notify('boat_mirror_settled', $1)`, [id])

/** What a change waits for and will not get. */
async function deadCause(client: PoolClient, id: string): Promise<{ id: string; status: string } | undefined> {
  const { rows } = await client.query<{ id: string; status: string }>(
    `select q.id, q.status from outbox.dependencies d join outbox.queue q on q.id = d.depends_on
     where d.change_id = $1 and q.status in ('failed', 'expired', 'canceled', 'blocked') order by q.id limit 1`,
    [id],
  )
  return rows[0]
}

/** Queues a failed, expired, canceled or conflicting change again. @throws BoatMirrorError NOT_FOUND, USAGE */
export async function retryChange(database: Database, id: string): Promise<void> {
  await database.transaction(async (client) => {
    await take(client, id, 'retried', 'retried')
    const cause = await deadCause(client, id)
    if (cause !== undefined)
      throw new BoatMirrorError('USAGE', `Change ${id} waits for change ${cause.id}, which is ${cause.status}.`, {
        remedy: `Retry change ${cause.id} first.`,
      })
    await client.query(
      `update outbox.queue set ${afresh}, proof = null, left_out = '{}', deadline = null,
         expires_at = case when expires_at <= clock_timestamp() then null else expires_at end where id = $1`,
      [id],
    )
    await wake(client)
  })
}

/** Cancels a change that is not on its way; what refers to it is blocked. @throws BoatMirrorError NOT_FOUND, USAGE */
export async function cancelChange(database: Database, id: string): Promise<void> {
  await database.transaction(async (client) => {
    await take(client, id, 'canceled', 'canceled')
    await client.query(
      `update outbox.queue set status = 'canceled', settled_at = clock_timestamp(), blocked_by = null, proof = null,
         error = 'Canceled by a person.' where id = $1`,
      [id],
    )
    await client.query(`select outbox.drop_implied($1)`, [id])
    await client.query(`select outbox.block_dependants($1)`, [id])
    await tell(client, id)
    await wake(client)
  })
}

async function conflictOf(client: PoolClient, id: string): Promise<Readonly<Record<string, { remote: Json }>>> {
  const { rows } = await client.query<{ conflict: string | null }>(
    `select conflict::text from outbox.queue where id = $1`,
    [id],
  )
  const conflict = parseJson(rows[0]?.conflict ?? '{}').value
  return isObject(conflict) ? (conflict as Record<string, JsonObject & { remote: Json }>) : {}
}

/**
 * Ends a conflict. `local`: what the API shows was seen, the change goes over it. `remote`: the conflicting fields stay
 * as they are upstream, the others are sent.
 * @throws BoatMirrorError NOT_FOUND, USAGE
 */
export async function resolveConflict(database: Database, id: string, side: 'local' | 'remote'): Promise<void> {
  await database.transaction(async (client) => {
    const change = await take(client, id, 'resolved-done', 'decided with --take')
    if (change.status !== 'conflict')
      throw new BoatMirrorError('USAGE', `Change ${id} is ${change.status}; decide it with --took-effect or --did-not.`)
    const conflict = await conflictOf(client, id)
    if (proofKind(change.write) !== 'update') {
      if (side === 'local')
        throw new BoatMirrorError('USAGE', `Change ${id}: ${change.operation} can't replace what is there.`, {
          remedy: 'Take remote, and queue an update or another user for another rental instead.',
        })
      await finish(client, change, null)
      return
    }
    const seen = Object.fromEntries(Object.entries(conflict).map(([name, sides]) => [name, sides.remote]))
    const sent =
      side === 'local'
        ? { assignment: 'base = base || $2::jsonb', value: JSON.stringify(seen) }
        : { assignment: 'kept_remote = kept_remote || $2::text[]', value: Object.keys(seen) }
    await client.query(`update outbox.queue set ${afresh}, ${sent.assignment} where id = $1`, [id, sent.value])
    await wake(client)
  })
}

/** Ids that may be the result of an unknown change, as a person sees them. */
async function needsResult(client: PoolClient, id: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from outbox.dependencies d join outbox.queue q on q.id = d.change_id
     where d.depends_on = $1 and q.status in ('queued', 'blocked') limit 1`,
    [id],
  )
  return (rowCount ?? 0) > 0
}

/** Settles a change as done on a person's word: the mirror follows with the next read. */
async function finish(client: PoolClient, change: Change, resultId: string | null): Promise<void> {
  const params = resolveTarget(change.target, change.results) ?? {}
  const key = mirrorKey(change.write, params, resultId)
  const { stream, param } = holderOf(change.write)
  const holderId = change.write.kind === 'create' ? resultId : (params[param] ?? null)
  if (change.write.kind === 'create' && resultId !== null)
    await client.query(`select outbox.move_aggregate($1, $2)`, [change.id, `${change.write.aggregate}:${resultId}`])
  await client.query(
    `update outbox.queue set status = 'done', settled_at = clock_timestamp(), departed = false, proof = null, error = null,
       conflict = null, result = $2::jsonb, record_key = $3, warning = 'Settled by a person.' where id = $1`,
    [
      change.id,
      resultId === null ? null : JSON.stringify({ id: numberOrText(resultId) }),
      key === null ? null : keyText(key),
    ],
  )
  if (holderId !== null)
    await client.query(
      `insert into sync.records (stream, key) values ($1, $2)
       on conflict (stream, key) do update set changed_at = clock_timestamp()`,
      [stream.name, keyText([holderId])],
    )
  await client.query(`select outbox.revive_dependants($1)`, [change.id])
  await tell(client, change.id)
  await wake(client)
}

const numberOrText = (id: string): number | string => (/^\d{1,15}$/.test(id) ? Number(id) : id)

/**
 * Decides a change whose effect can't be proven.
 * @param resultId id of the record it made; needed when other changes wait for it.
 * @throws BoatMirrorError NOT_FOUND, USAGE
 */
export async function resolveUnknown(
  database: Database,
  id: string,
  decision: { readonly tookEffect: boolean; readonly resultId?: string | undefined },
): Promise<void> {
  await database.transaction(async (client) => {
    const event = decision.tookEffect ? 'resolved-done' : 'resolved-again'
    const change = await take(client, id, event, 'resolved')
    if (change.status !== 'unknown')
      throw new BoatMirrorError('USAGE', `Change ${id} is ${change.status}; decide it with --take local or remote.`)
    if (!decision.tookEffect) {
      await client.query(`update outbox.queue set ${afresh}, proof = null, response = null where id = $1`, [id])
      await wake(client)
      return
    }
    const resultId = yieldsId(change.operation) ? (decision.resultId ?? null) : null
    if (resultId === null && yieldsId(change.operation) && (await needsResult(client, id)))
      throw new BoatMirrorError('USAGE', `Other changes wait for the id that change ${id} made.`, {
        remedy: `Name it: changes resolve ${id} --took-effect --id ID. "changes show ${id}" lists the candidates.`,
      })
    await finish(client, change, resultId)
  })
}
