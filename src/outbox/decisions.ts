// What a person decides about a change: again, not at all, how a conflict ends, whether an unknown one took effect.
// Each decision is one transaction and refuses states in which it would mean nothing.

import { sql } from 'kysely'
import type { PoolClient } from 'pg'
import { isObject, type Json, type JsonObject, parseJson, stringifyJson } from '../api/wire/json.ts'
import type { Database } from '../database/database.ts'
import { now, on } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import { type Change, type ChangeRow, changeColumns, toChange } from './change.ts'
import { kindOf } from './kinds/kinds.ts'
import type { ReadBack } from './read-back.ts'
import { settleDone } from './settle.ts'
import { type Event, stateSets, statesBefore, transition } from './states.ts'

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

const afresh = {
  status: 'queued',
  departed: false,
  owner: null,
  lease_until: null,
  settled_at: null,
  error: null,
  conflict: null,
  blocked_by: null,
  next_attempt_at: now,
} as const

const update = (client: PoolClient, id: string) => on(client).updateTable('outbox.queue').where('id', '=', id)

const wake = (client: PoolClient): Promise<unknown> => client.query(`select pg_notify('boat_mirror_outbox', '')`)

const tell = (client: PoolClient, id: string): Promise<unknown> =>
  client.query(`select pg_notify('boat_mirror_settled', $1)`, [id])

/** What a change waits for and will not get. */
const deadCause = (client: PoolClient, id: string): Promise<{ id: string; status: string } | undefined> =>
  on(client)
    .selectFrom('outbox.dependencies as d')
    .innerJoin('outbox.queue as q', 'q.id', 'd.depends_on')
    .select(['q.id', 'q.status'])
    .where('d.change_id', '=', id)
    .where('q.status', 'in', stateSets.dead)
    .orderBy('q.id')
    .limit(1)
    .executeTakeFirst()

/** Queues a failed, expired, canceled or conflicting change again. @throws BoatMirrorError NOT_FOUND, USAGE */
export async function retryChange(database: Database, id: string): Promise<void> {
  await database.transaction(async (client) => {
    await take(client, id, 'retried', 'retried')
    const cause = await deadCause(client, id)
    if (cause !== undefined)
      throw new BoatMirrorError('USAGE', `Change ${id} waits for change ${cause.id}, which is ${cause.status}.`, {
        remedy: `Retry change ${cause.id} first.`,
      })
    await update(client, id)
      .set({
        ...afresh,
        proof: null,
        left_out: [],
        deadline: null,
        expires_at: sql`case when expires_at <= clock_timestamp() then null else expires_at end`,
      })
      .execute()
    await wake(client)
  })
}

/** Cancels a change that is not on its way; what refers to it is blocked. @throws BoatMirrorError NOT_FOUND, USAGE */
export async function cancelChange(database: Database, id: string): Promise<void> {
  await database.transaction(async (client) => {
    await take(client, id, 'canceled', 'canceled')
    await update(client, id)
      .set({ status: 'canceled', settled_at: now, blocked_by: null, proof: null, error: 'Canceled by a person.' })
      .execute()
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

/** Settles a change as done on a person's word. Reading back from the API holds no lock: the state is checked before and after. */
async function settleByPerson(
  database: Database,
  check: (client: PoolClient) => Promise<Change>,
  resultId: string | null,
  readBack: ReadBack,
): Promise<void> {
  const done = await readBack(await database.transaction(check), resultId)
  await database.transaction(async (client) => {
    const change = await check(client)
    await settleDone(client, [{ change, done }])
    await wake(client)
  })
}

async function takeConflict(client: PoolClient, id: string): Promise<Change> {
  const change = await take(client, id, 'resolved-done', 'decided with --take')
  if (change.status === 'conflict') return change
  throw new BoatMirrorError('USAGE', `Change ${id} is ${change.status}; decide it with --took-effect or --did-not.`)
}

/** The change goes again: over what was seen, or without the fields in conflict. */
async function takeSide(client: PoolClient, change: Change, side: 'local' | 'remote'): Promise<void> {
  const conflict = await conflictOf(client, change.id)
  const seen = Object.fromEntries(Object.entries(conflict).map(([name, sides]) => [name, sides.remote]))
  const query = update(client, change.id).set(afresh)
  if (side === 'local')
    await query
      .set({
        base: sql`base || ${stringifyJson(seen)}::jsonb`,
        seen_at: now,
        seen_snapshot: sql`pg_current_snapshot()`,
      })
      .execute()
  else await query.set({ kept_remote: sql`kept_remote || ${Object.keys(seen)}::text[]` }).execute()
  await wake(client)
}

/**
 * Ends a conflict. `local`: what the API shows was seen, the change goes over it. `remote`: the conflicting fields stay
 * as they are upstream, the others are sent; what can't be replaced (a user, a document) is read back and done.
 * @throws BoatMirrorError NOT_FOUND, USAGE
 */
export async function resolveConflict(
  database: Database,
  id: string,
  side: 'local' | 'remote',
  readBack: ReadBack,
): Promise<void> {
  const replaceable = await database.transaction(async (client) => {
    const change = await takeConflict(client, id)
    if (kindOf(change.write).replaces) {
      await takeSide(client, change, side)
      return true
    }
    if (side === 'remote') return false
    throw new BoatMirrorError('USAGE', `Change ${id}: ${change.operation} can't replace what is there.`, {
      remedy: 'Take remote, and queue an update or another user for another rental instead.',
    })
  })
  if (!replaceable) await settleByPerson(database, (client) => takeConflict(client, id), null, readBack)
}

/** Ids that may be the result of an unknown change, as a person sees them. */
async function needsResult(client: PoolClient, id: string): Promise<boolean> {
  const waiting = await on(client)
    .selectFrom('outbox.dependencies as d')
    .innerJoin('outbox.queue as q', 'q.id', 'd.change_id')
    .select('q.id')
    .where('d.depends_on', '=', id)
    .where('q.status', 'in', stateSets.waiting)
    .limit(1)
    .executeTakeFirst()
  return waiting !== undefined
}

async function takeUnknown(client: PoolClient, id: string, event: Event): Promise<Change> {
  const change = await take(client, id, event, 'resolved')
  if (change.status === 'unknown') return change
  throw new BoatMirrorError('USAGE', `Change ${id} is ${change.status}; decide it with --take local or remote.`)
}

/** Decides that a change had no effect: it is sent again. @throws BoatMirrorError NOT_FOUND, USAGE */
export async function resolveDidNot(database: Database, id: string): Promise<void> {
  await database.transaction(async (client) => {
    await takeUnknown(client, id, 'resolved-again')
    await update(client, id)
      .set({ ...afresh, proof: null, response: null })
      .execute()
    await wake(client)
  })
}

/**
 * Decides that a change took effect; the mirror gets what the API shows of it.
 * @param resultId id of the record it made, null where it makes none; needed when other changes wait for it.
 * @throws BoatMirrorError NOT_FOUND, USAGE
 */
export async function resolveTookEffect(
  database: Database,
  id: string,
  resultId: string | null,
  readBack: ReadBack,
): Promise<void> {
  const check = async (client: PoolClient): Promise<Change> => {
    const change = await takeUnknown(client, id, 'resolved-done')
    const makes = kindOf(change.write).makesRecord
    if (resultId !== null && !makes)
      throw new BoatMirrorError('USAGE', `Change ${id} (${change.operation}) makes no record that --id could name.`)
    if (resultId === null && makes && (await needsResult(client, id)))
      throw new BoatMirrorError('USAGE', `Other changes wait for the id that change ${id} made.`, {
        remedy: `Name it: changes resolve ${id} --took-effect --id ID. "changes show ${id}" lists the candidates.`,
      })
    return change
  }
  await settleByPerson(database, check, resultId, readBack)
}
