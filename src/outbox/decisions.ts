// Decisions about changes: retry, cancel, resolve a conflict or an unknown change. The functions of SQL (sql/decisions.sql) check
// and record each decision, and carry out those that do not need the API. This file carries out the others: it reads the record back,
// so that the mirror gets it in the transaction that makes the change `done`.

import type { PoolClient } from 'pg'
import type { Database } from '../database/database.ts'
import type { Queryable } from '../database/sql.ts'
import { translateDatabaseError } from '../database/sql-states.ts'
import { ApiError, BoatMirrorError, messageOf } from '../errors.ts'
import { DataRefused } from '../mirror/writer.ts'
import {
  closeDecision,
  type DecidedBy,
  type Decision,
  type DecisionKind,
  findDecision,
  lockDecision,
  openDecisions,
  planChanged,
} from '../sync/decisions.ts'
import { decided } from '../sync/refused-decision.ts'
import { type Change, type ChangeRow, changeColumns, toChange } from './change.ts'
import type { PushContext } from './context.ts'
import { kindOf } from './kinds/kinds.ts'
import { done, unverified } from './kinds/shared.ts'
import type { Done } from './outcome.ts'
import { storedOutcome } from './personal.ts'
import { singleRead } from './reads.ts'
import { sentOf } from './reconcile.ts'
import { settleDone, unmirrored } from './settle.ts'

export type ChangeDecision = Exclude<DecisionKind, 'release' | 'pause' | 'resume'>

type Wish = {
  readonly what: ChangeDecision
  readonly id: string
  /** For `took_effect`: the id of the created record. */
  readonly resultId?: string | null
}

const notShown = (id: string, resultId: string | null): BoatMirrorError =>
  new BoatMirrorError('NOT_FOUND', `The API has no record ${resultId} that change ${id} could have created.`)

/**
 * Records a decision about a change: `retry` and `cancel`; for a conflict `local` (the API's values were seen, the change overwrites them)
 * and `remote` (the fields in conflict stay as the API shows them, the others are sent); for a lost answer `took_effect` (`resultId` is
 * needed where other changes wait for the record that it made) and `did_not` (it is sent again). Only `took_effect`, and `remote` for a
 * change that cannot be replaced (a user, a document), need a read of the API then: {@link carryOutDecision}.
 * @returns the id of the decision
 * @throws BoatMirrorError NOT_FOUND, USAGE, PLAN_CHANGED
 */
export async function decideChange(
  db: Queryable,
  { what, id, resultId = null }: Wish,
  { via, who, expected }: DecidedBy,
): Promise<string> {
  if (resultId !== null && !/^-?\d{1,18}$/.test(resultId)) throw notShown(id, resultId)
  return await decided(db, 'outbox.decide', [what, id, expected ?? null, resultId, who ?? null, via])
}

type Taken = { readonly decision: Decision; readonly change: Change }

/** Locks a decision and its change; null if the decision has ended. */
async function take(client: PoolClient, id: string): Promise<Taken | null> {
  const decision = await lockDecision(client, id)
  if (decision === null) return null
  const { rows } = await client.query<ChangeRow & { plan: string }>(
    `select ${changeColumns}, outbox.plan_of(q.id, $2) as plan from outbox.queue q where q.id = $1 for update of q`,
    [decision.target.slice('change:'.length), id],
  )
  const [row] = rows
  if (row !== undefined && row.plan === decision.plan) return { decision, change: toChange(row) }
  await closeDecision(client, id, { error: planChanged })
  return null
}

/** Why a decision cannot be carried out; null: the error may pass, so it is retried. */
function refusalOf(thrown: unknown): string | null {
  const error = translateDatabaseError(thrown)
  if (error instanceof BoatMirrorError && error.code === 'NOT_FOUND') return error.message
  if (error instanceof BoatMirrorError && (error.kind !== 'fatal' || error.code === 'PRIVACY_DIFFERS')) return null
  if (error instanceof Error && error.name === 'TimeoutError') return null // the API is paused
  return `Not carried out: ${error instanceof BoatMirrorError ? error.code : 'INTERNAL'}.`
}

/**
 * Carries out a decision that is open still. Reading back holds no lock: plan and state are checked before and after.
 * @throws BoatMirrorError NOT_FOUND, PLAN_CHANGED
 */
export async function carryOutDecision(context: PushContext, id: string, stopped: AbortSignal): Promise<void> {
  const { database } = context
  const taken = await database.transaction((client) => take(client, id))
  if (taken === null) return await assertCarriedOut(database, id)
  try {
    const done = await readBack(context, taken, stopped)
    await settle(context, id, done).catch((error: unknown) => {
      if (!(error instanceof DataRefused)) throw error
      return settle(context, id, unmirrored(done))
    })
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal !== null) await closeDecision(database.pool, id, { error: refusal })
    throw error
  }
}

async function settle({ database, privacy }: PushContext, id: string, done: Done): Promise<void> {
  await database.transaction(async (client) => {
    await privacy?.assertCurrent(client)
    const taken = await take(client, id)
    if (taken === null) return
    await settleDone(client, [{ change: taken.change, done }])
    await closeDecision(client, id, {})
    await client.query(`select pg_notify('boat_mirror_outbox', '')`)
  })
}

/** Checks a decision that has ended. @throws BoatMirrorError if it was not carried out */
async function assertCarriedOut({ pool }: Database, id: string): Promise<void> {
  const error = (await findDecision(pool, id))?.error ?? null
  if (error !== null) throw new BoatMirrorError(error === planChanged ? 'PLAN_CHANGED' : 'NOT_FOUND', error)
}

/** Carries out the open decisions about changes. Failures are logged; temporary ones are retried. */
export async function carryOutDecisions(context: PushContext, stopped: AbortSignal): Promise<void> {
  const { database, log } = context
  for (const { id, target, what } of await openDecisions(database.pool, 'change'))
    try {
      await carryOutDecision(context, id, stopped)
      log.info({ event: 'decision_carried_out', decision: id, target, what }, `carried out ${what} of ${target}`)
    } catch (error) {
      log.warn(
        { event: 'decision_not_carried_out', decision: id, target, what, reason: messageOf(error) },
        `could not carry out ${what} of ${target}`,
      )
    }
}

const byPerson = 'Settled by an operator.'
const patienceMs = 10_000

const numberOrText = (id: string): number | string => (/^\d{1,15}$/.test(id) ? Number(id) : id)

/** Reads the result of a change from the API; where it does not answer, the change is settled without, and gets a warning. @throws BoatMirrorError NOT_FOUND */
async function readBack(context: PushContext, { change, decision }: Taken, stopped: AbortSignal): Promise<Done> {
  const { resultId } = decision
  const kind = kindOf(change.write)
  const before = sentOf(change)
  // The path of the record itself: that of its collection, and the id it has there.
  const [, param = ''] = resultId === null ? [] : (/\{(\w+)\}$/.exec(singleRead(change.write)) ?? [])
  const params = resultId === null ? before.params : { ...before.params, [param]: resultId }
  const result = resultId === null ? null : { id: numberOrText(resultId) }
  /** The outcome without the record. The next sync shows the rest. */
  const unseen = (why: string): Done => ({ ...done(change, params, resultId), result, warnings: [byPerson, why] })
  if (kind.makesRecord && resultId === null) return unseen('The mirror shows the created record after the next sync.')

  const signal = AbortSignal.any([stopped, AbortSignal.timeout(patienceMs)])
  // An operator has decided that the change took effect, so the present record counts, however early it is read.
  const delivery = { context, change, signal, startedAt: context.clock.now(), knownMs: Number.POSITIVE_INFINITY }
  try {
    const seen = (await kind.readBack?.(delivery, params)) ?? null
    if (seen === null && resultId !== null) throw notShown(change.id, resultId)
    if (seen === null && kind.readBack !== undefined) return unseen('The API does not show this record now.')
    const outcome = await kind.finish(delivery, { ...before, params, warnings: [byPerson] }, { response: null, seen })
    return outcome.kind === 'done' ? storedOutcome(context.privacy, change.write, outcome) : unseen(unverified)
  } catch (error) {
    if (!(error instanceof ApiError) || stopped.aborted) throw error
    // The API answered that the named id is invalid.
    if (error.code === 'API_REJECTED' && resultId !== null) throw notShown(change.id, resultId)
    return unseen(unverified)
  }
}
