// One claimed change from its claim to its outcome: reconcile what has left, or prepare, write down, send.

import { deadlineIn } from '../clock.ts'
import { ApiError } from '../errors.ts'
import type { Change } from './change.ts'
import type { PushContext } from './context.ts'
import { makesRecord } from './operations.ts'
import type { Outcome } from './outcome.ts'
import { departChange, type Prepared, prepareChange } from './prepare.ts'
import { proveChange } from './prove.ts'
import { outcomeOf, reconcileChange, sentOf } from './reconcile.ts'
import { retryLater, sendChange } from './send.ts'

/**
 * A last look before a create or an add goes again: what an earlier attempt made may have become visible since. The ids
 * known before the first attempt stay the ones to compare with.
 */
async function prepareAgain(context: PushContext, change: Change, signal: AbortSignal): Promise<Prepared | Outcome> {
  const mayBeThere = change.proof.ambiguous === true && change.request !== null && makesRecord(change.write)
  if (!mayBeThere) return await prepareChange(context, change, signal)
  const sent = sentOf(change)
  const outcome = await outcomeOf(context, change, sent, await proveChange(context, change, sent, signal), signal)
  if (outcome !== null) return outcome
  const prepared = await prepareChange(context, change, signal)
  return prepared.kind === 'prepared' ? { ...prepared, proof: { ...prepared.proof, ...change.proof } } : prepared
}

/**
 * Works on a claimed change up to its outcome. `isOurs` tells whether the claim holds: others take the change up after it.
 * @throws BoatMirrorError LEASE_LOST, or what made an outcome impossible: a failing database, a requested stop.
 */
export async function workOnChange(
  context: PushContext,
  change: Change,
  isOurs: () => boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  if (change.departed) return await reconcileChange(context, change, signal)
  let prepared: Prepared | Outcome
  try {
    prepared = await prepareAgain(context, change, signal)
  } catch (error) {
    if (!(error instanceof ApiError) || signal.aborted) throw error
    return retryLater(context, change, error) // nothing has left: what is there now could not be read
  }
  if (prepared.kind !== 'prepared') return prepared
  const isLate = deadlineIn(context.settings.api.timeoutMs)
  const sentAt = await departChange(context.database.pool, change, prepared)
  const departed = { ...change, departed: true, sentAt, proof: prepared.proof }
  return await sendChange(context, departed, prepared, () => isOurs() && !isLate(), signal)
}
