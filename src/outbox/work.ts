// One claimed change from its claim to its outcome: reconcile what has left, or prepare, write down, send.

import { ApiError } from '../errors.ts'
import type { Change } from './change.ts'
import type { PushContext } from './context.ts'
import { proofKind } from './operations.ts'
import type { Outcome } from './outcome.ts'
import { departChange, type Prepared, prepareChange } from './prepare.ts'
import { proveChange } from './prove.ts'
import { outcomeOf, reconcileChange, sentOf } from './reconcile.ts'
import { retryLater, sendChange } from './send.ts'

/** Kinds whose second sending would make a second record. */
const makesRecord = (change: Change): boolean => ['rental', 'user', 'addition'].includes(proofKind(change.write))

/**
 * A last look before a create or an add goes again: what an earlier attempt made may have become visible since. The ids
 * known before the first attempt stay the ones to compare with.
 */
async function prepareAgain(context: PushContext, change: Change, signal: AbortSignal): Promise<Prepared | Outcome> {
  const mayBeThere = change.proof.ambiguous === true && change.request !== null && makesRecord(change)
  if (!mayBeThere) return await prepareChange(context, change, signal)
  const sent = sentOf(change)
  const outcome = await outcomeOf(context, change, sent, await proveChange(context, change, sent, signal), signal)
  if (outcome !== null) return outcome
  const prepared = await prepareChange(context, change, signal)
  return prepared.kind === 'prepared' ? { ...prepared, proof: { ...prepared.proof, ...change.proof } } : prepared
}

/**
 * Works on a claimed change up to its outcome.
 * @throws BoatMirrorError LEASE_LOST, or what made an outcome impossible: a failing database, a requested stop.
 */
export async function workOnChange(context: PushContext, change: Change, signal: AbortSignal): Promise<Outcome> {
  if (change.departed) return await reconcileChange(context, change, signal)
  let prepared: Prepared | Outcome
  try {
    prepared = await prepareAgain(context, change, signal)
  } catch (error) {
    if (!(error instanceof ApiError) || signal.aborted) throw error
    return retryLater(context, change, error) // nothing has left: what is there now could not be read
  }
  if (prepared.kind !== 'prepared') return prepared
  const sentAt = await departChange(context.database.pool, change, prepared)
  return await sendChange(context, { ...change, departed: true, sentAt, proof: prepared.proof }, prepared, signal)
}
