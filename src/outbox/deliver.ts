// Works on one claimed change up to its outcome: verifies it if it was dispatched before; else prepares it, commits what will be sent, and
// sends it once. After a lost answer, nothing is sent again here.

import { randomUUID } from 'node:crypto'
import { concernsAccount, isHeldBack } from '../api/retry.ts'
import { deadlineIn } from '../clock.ts'
import { ApiError, BoatMirrorError } from '../errors.ts'
import { answersAccount } from './account.ts'
import { nextDelayMs } from './attempts.ts'
import type { Departure } from './dispatch.ts'
import type { Delivery, Prepared, Sent } from './kinds/kind.ts'
import { kindOf } from './kinds/kinds.ts'
import { awaited, withResults } from './kinds/shared.ts'
import { errorText, gone, type Outcome, responseOf, storable } from './outcome.ts'
import { isHashed } from './personal.ts'
import { isAbsent } from './reads.ts'
import { freshly, reconcileChange, sentOf, verifyChange, verifyLater } from './reconcile.ts'

/** Retries a change that certainly had no effect. */
function retryLater({ context, change }: Delivery, error: ApiError): Outcome {
  const { retryAfterMs, code } = error
  const deadlineInMs = change.deadline === null ? undefined : change.deadline.getTime() - context.clock.now().getTime()
  const attempts = Math.max(1, change.attempts)
  const delayMs = nextDelayMs({ attempts, random: Math.random(), retryAfterMs, deadlineInMs })
  return { kind: 'retry', delayMs, error: errorText(error), heldBack: isHeldBack(error) || code === 'LEASE_LOST' }
}

/** A change with hashed or dropped personal values is never sent. */
const valuesGone =
  'Nothing was sent: the personal values of this change were hashed or dropped when it ended. Queue it again with its values.'

/** The request that a change would send now; the outcome if nothing is sent (conflict, gone). @throws ApiError */
export async function prepareChange(delivery: Delivery): Promise<Prepared | Outcome> {
  const { change } = delivery
  if (change.veiled || isHashed(change.body)) return { kind: 'failed', error: valuesGone, response: null }
  return await withResults(change, (given) => kindOf(change.write).prepare(freshly(delivery), given))
}

/**
 * The same for a change that may have been sent before. A creation is verified again: the record of an earlier
 * attempt may have become visible since. It is still compared with the ids known before the first attempt.
 */
async function prepareAgain(delivery: Delivery): Promise<Prepared | Outcome> {
  const { evidence, request, write } = delivery.change
  const wasLost = evidence.ambiguous === true && request !== null
  const mayBeThere = wasLost && kindOf(write).makesRecord
  const outcome = mayBeThere ? await verifyChange(delivery, sentOf(delivery.change)) : null
  if (outcome !== null) return outcome
  const prepared = await prepareChange(delivery)
  if (!wasLost || prepared.kind !== 'prepared') return prepared
  return { ...prepared, evidence: { ...prepared.evidence, ...(mayBeThere ? evidence : { ambiguous: true }) } }
}

/** Final refusals: 4xx, except 408 (no answer in time) and those that concern the account. */
const isRefusal = (error: ApiError): boolean => {
  const { status = 0 } = error
  return status >= 400 && status < 500 && status !== 408 && !concernsAccount(error)
}

/** Whether the server has ended its work: after a gateway's 502 or 504 it may still be working. */
const isFinished = ({ status }: ApiError): boolean => status !== undefined && status !== 502 && status !== 504

/** The outcome of a 403 that concerns the account; null: it concerns only this request. */
async function refusedAccess(delivery: Delivery, error: ApiError): Promise<Outcome | null> {
  try {
    return (await answersAccount(delivery)) ? null : retryLater(delivery, error)
  } catch (failure) {
    if (!(failure instanceof ApiError) || delivery.signal.aborted) throw failure
    return retryLater(delivery, failure) // a refused request had no effect
  }
}

/** The outcome if the present record could not be read: nothing was sent. */
async function unread(delivery: Delivery, error: ApiError): Promise<Outcome> {
  if (!isRefusal(error)) return retryLater(delivery, error)
  const held = error.status === 403 ? await refusedAccess(delivery, error) : null
  return held ?? { kind: 'failed', error: errorText(error), response: responseOf(error) }
}

/** Verifies an attempt that an error ended: from now on its effect shows within the API's delay. */
function ended({ context, change }: Delivery, error: ApiError): Outcome & { readonly kind: 'verify' } {
  context.showDelay.knownMs({ ...change, evidence: { ...change.evidence, finished: true } })
  return { ...verifyLater(change, error), finished: true }
}

/** The outcome of a refusal. If the record can't be read, the change is verified later. */
async function refused(delivery: Delivery, sent: Sent, error: ApiError): Promise<Outcome> {
  const { change } = delivery
  if (error.status === 403) {
    const held = await refusedAccess(delivery, error)
    if (held !== null) return held
  }
  const { replaces = false, makesRecord = false, refused: known } = kindOf(change.write)
  const creates = change.write.body.length > 0 && !replaces
  // With an idempotency key the answer also covers the first attempt.
  const isKept = sent.evidence.key !== undefined
  const wasLost = sent.evidence.ambiguous === true && !isKept
  // After a lost answer any refusal may be caused by the record of that attempt: not every API answers 409.
  const mayBeOurs = wasLost || (creates && !isKept && error.status === 409)
  try {
    // The API may not show yet a record that one of our own changes just created.
    const again = isAbsent(error) ? await awaited(delivery) : null
    if (again !== null) return { kind: 'retry', ...again }
    const outcome = await known?.(delivery, sent, error)
    if (outcome) return outcome
    if (isAbsent(error)) return gone(change)
    const existing = mayBeOurs ? await verifyChange(delivery, sent) : null
    // After a first attempt only an exact match counts: a gateway may have sent it twice, and others may have created anything else.
    if (existing !== null && (wasLost || !makesRecord || existing.kind === 'done')) return existing
    const response = responseOf(error)
    if (wasLost && response !== null) return { ...ended(delivery, error), refused: true, response }
    return { kind: 'failed', error: errorText(error), response }
  } catch (failure) {
    if (!(failure instanceof ApiError)) throw failure
    return verifyLater(change, failure)
  }
}

/** Sends a prepared change, once, if `mayDispatch`, called after all other waiting, allows it; `timeLimit` aborts the request. */
async function send(
  delivery: Delivery,
  sent: Sent,
  { mayDispatch, timeLimit }: { readonly mayDispatch: () => boolean; readonly timeLimit: AbortSignal },
): Promise<Outcome> {
  const { context, change } = delivery
  const { write } = change
  try {
    const answer = await context.api.send({
      endpoint: write.endpoint,
      params: sent.params,
      ...(write.body.length > 0 && { body: sent.body }),
      priority: 'write',
      beforeLeaving: () => {
        if (mayDispatch()) return
        const held = `Change ${change.id} was delayed for longer than its claim or its expires_at; nothing was sent.`
        throw new BoatMirrorError('LEASE_LOST', held)
      },
      idempotencyKey: sent.evidence.key,
      signal: timeLimit,
    })
    context.showDelay.knownMs({ ...change, evidence: { ...change.evidence, answered: true } })
    const response = { status: answer.status, body: answer.body ?? null }
    const outcome = await kindOf(write).finish(delivery, sent, { response, seen: null })
    const stored = { ...response, body: storable(write, answer.body) }
    return outcome.kind === 'done' || outcome.kind === 'verify' ? { ...outcome, response: stored } : outcome
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (isRefusal(error)) return await refused(delivery, sent, error)
    if (!error.mayHaveTakenEffect) return retryLater(delivery, error)
    // A creation could be doubled: even an answer does not prove that no server still works on it.
    return kindOf(write).makesRecord || !isFinished(error) ? verifyLater(change, error) : ended(delivery, error)
  }
}

/**
 * What to send again after a lost answer, if the API repeats its first answer to a known idempotency key. That answer is better
 * evidence than the records that the API shows, which may come from a cache. Null: only those records are evidence.
 */
async function repeatable(delivery: Delivery): Promise<Sent | null> {
  const { context, change } = delivery
  const { evidence } = change
  if (evidence.key === undefined || evidence.answered) return null
  if (context.api.keepsKeys() === undefined) await answersAccount(delivery).catch(ignoreApiError)
  if (context.api.keepsKeys() !== true) return null
  const sent = sentOf(change)
  return isHashed(sent.body) ? null : sent // an earlier version kept hashes as evidence
}

function ignoreApiError(error: unknown): void {
  if (!(error instanceof ApiError)) throw error
}

/** A repeat without effect does not prove that the first attempt had none: the change is verified again. */
function stillOpen(outcome: Outcome): Outcome {
  if (outcome.kind !== 'retry' || outcome.leaveOut !== undefined || outcome.unseen !== undefined) return outcome
  const { delayMs, error } = outcome
  return { kind: 'verify', delayMs, error }
}

type Claim = {
  /** Whether the claim holds: after it others may claim the change. */
  readonly isOurs: () => boolean
  /** {@link markDispatched} */
  readonly mark: (departure: Departure) => Promise<Date | Outcome>
}

/** Works on a claimed change up to its outcome. @throws BoatMirrorError LEASE_LOST, a database error, or the reason of a stop */
export async function deliverChange(delivery: Delivery, { isOurs, mark }: Claim): Promise<Outcome> {
  const { context, change, signal } = delivery
  const leave = async (given: Sent): Promise<Outcome> => {
    // Both start before the mark: absence is a proof once the time limit after the mark has passed, so no request may last longer.
    const { timeoutMs } = context.settings.api
    const [isLate, timeLimit] = [deadlineIn(timeoutMs), AbortSignal.timeout(timeoutMs)]
    const { finished: _, ...evidence } = given.evidence // of an earlier attempt: this one has not ended
    const sent = { ...given, evidence }
    const sentAt = await mark({ change, sent })
    // An earlier attempt may have taken effect all the same.
    if (!(sentAt instanceof Date)) return change.dispatched ? await reconcileChange(delivery) : sentAt
    const dispatched = { ...change, dispatched: true, sentAt, evidence }
    context.showDelay.knownMs(dispatched)
    const { expiresAt } = change
    // The request may wait for a place, the rate limit, or an account that is on hold.
    const hasExpired = (): boolean => expiresAt !== null && context.clock.now() >= expiresAt
    return await send({ ...delivery, change: dispatched }, sent, {
      mayDispatch: () => isOurs() && !isLate() && !hasExpired(),
      timeLimit,
    })
  }
  if (change.dispatched) {
    const sent = await repeatable(delivery)
    return sent === null ? await reconcileChange(delivery) : stillOpen(await leave(sent))
  }
  let prepared: Prepared | Outcome
  try {
    prepared = await prepareAgain(delivery)
  } catch (error) {
    if (!(error instanceof ApiError) || signal.aborted) throw error
    return await unread(delivery, error)
  }
  if (prepared.kind !== 'prepared') return prepared
  const key = context.api.keepsKeys() === true ? (prepared.evidence.key ?? randomUUID()) : undefined
  return await leave({ ...prepared, evidence: { ...prepared.evidence, ...(key !== undefined && { key }) } })
}
