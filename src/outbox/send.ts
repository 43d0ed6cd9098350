// One attempt: the request leaves once, and what came back becomes an outcome. A lost answer is never sent again here.

import { isObject, type Json, parseJson, textOf } from '../api/wire/json.ts'
import { ApiError, BoatMirrorError } from '../errors.ts'
import { nextDelayMs } from './attempts.ts'
import type { Change } from './change.ts'
import type { PushContext } from './context.ts'
import { finishChange } from './finish.ts'
import { proofKind } from './operations.ts'
import { errorText, gone, type Outcome, responseOf, storable } from './outcome.ts'
import type { Prepared } from './prepare.ts'
import { proveChange } from './prove.ts'
import { lookLater, outcomeOf } from './reconcile.ts'

const isAbsent = (status: number | undefined): boolean => status === 404 || status === 410

/** The next attempt of a change that certainly had no effect. */
export function retryLater(context: PushContext, change: Change, error: unknown): Outcome {
  const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : undefined
  const deadlineInMs = change.deadline === null ? undefined : change.deadline.getTime() - context.clock.now().getTime()
  const delayMs = nextDelayMs({
    attempts: Math.max(1, change.attempts),
    random: Math.random(),
    retryAfterMs,
    deadlineInMs,
  })
  const heldBack = error instanceof ApiError && (error.code === 'API_PAUSED' || error.code === 'LEASE_LOST')
  return { kind: 'retry', delayMs, error: errorText(error), heldBack }
}

/** Names of fields in the body of an error, where the API gives them as `errors: [{field}]`. */
export function refusedFields(body: string | undefined): readonly string[] {
  if (body === undefined) return []
  let parsed: Json
  try {
    parsed = parseJson(body).value
  } catch {
    return [] // text or a cut-off body: nothing to learn from it
  }
  const errors = isObject(parsed) && Array.isArray(parsed.errors) ? parsed.errors : []
  return errors.flatMap((error) => (isObject(error) ? (textOf(error.field) ?? []) : []))
}

/**
 * Fields of an update that the API refuses although the change does not touch them: their present values.
 * None where one of them would be reset by that: a price that nobody meant to change.
 */
function leaveOut(change: Change, prepared: Prepared, error: ApiError): readonly string[] {
  if (prepared.applied === null || prepared.body === undefined) return []
  const refused = refusedFields(error.body)
  if (refused.some((name) => prepared.applied !== null && Object.hasOwn(prepared.applied, name))) return []
  const resets = change.write.body.filter((field) => field.whenLeftOut === 'reset').map((field) => field.name)
  if (refused.some((name) => resets.includes(name))) return []
  const { body } = prepared
  return refused.filter((name) => Object.hasOwn(body, name) && !change.leftOut.includes(name))
}

/**
 * A 409 says that it is there already: perhaps from an attempt of ours whose answer was lost, perhaps something else.
 * @returns null when there is nothing of ours to be found.
 */
async function compareExisting(
  context: PushContext,
  change: Change,
  prepared: Prepared,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const kind = proofKind(change.write)
  const comparable = kind === 'assignment' || kind === 'document' || prepared.proof.ambiguous === true
  if (!comparable || kind === 'update' || kind === 'removal') return null
  const sent = { params: prepared.params, body: prepared.body ?? {}, proof: prepared.proof }
  return await outcomeOf(context, change, sent, await proveChange(context, change, sent, signal), signal)
}

async function refused(
  context: PushContext,
  change: Change,
  prepared: Prepared,
  error: ApiError,
  signal: AbortSignal,
): Promise<Outcome> {
  if (isAbsent(error.status)) return gone(change)
  const untouched = error.status === 400 || error.status === 422 ? leaveOut(change, prepared, error) : []
  if (untouched.length > 0) return { kind: 'retry', delayMs: 0, error: errorText(error), leaveOut: untouched }
  const existing = error.status === 409 ? await compareExisting(context, change, prepared, signal) : null
  return existing ?? { kind: 'failed', error: errorText(error), response: responseOf(error) }
}

/** True for answers by which the API refuses for good: 4xx but 408 (no answer in time) and 429 (not now). */
export const isRefusal = (error: ApiError): boolean =>
  error.status !== undefined &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 408 &&
  error.status !== 429

/** A gateway answers 502 or 504 while what stands behind it may still be at work. */
const isFinished = ({ status }: ApiError): boolean => status !== undefined && status !== 502 && status !== 504

/** A refusal; when what is there can't be read after a 409, that is found out later. */
async function refusedOrLook(
  context: PushContext,
  change: Change,
  prepared: Prepared,
  refusal: ApiError,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    return await refused(context, change, prepared, refusal, signal)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return lookLater(change, error)
  }
}

/**
 * Sends a prepared change, once. `mayLeave` is asked when the request has waited for everything else: others count on it
 * that nothing leaves after the claim or the time limit. `signal` stops reading back, never the request itself.
 */
export async function sendChange(
  context: PushContext,
  change: Change,
  prepared: Prepared,
  mayLeave: () => boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  const { write } = change
  const effect = {
    params: prepared.params,
    sent: prepared.body,
    applied: prepared.applied,
    warnings: prepared.warnings,
  }
  try {
    const answer = await context.api.send({
      endpoint: write.endpoint,
      params: prepared.params,
      ...(prepared.body === undefined ? {} : { body: prepared.body }),
      priority: 'write',
      beforeLeaving: () => {
        if (!mayLeave())
          throw new BoatMirrorError(
            'LEASE_LOST',
            `Change ${change.id} was held up for longer than its claim; nothing left.`,
          )
      },
      // Nothing of this attempt goes on once its time limit has passed.
      signal: AbortSignal.timeout(context.settings.api.timeoutMs),
    })
    const response = { status: answer.status, body: answer.body ?? null }
    const outcome = await finishChange(context, change, { ...effect, response, seen: null }, signal)
    return outcome.kind === 'done'
      ? { ...outcome, response: { ...response, body: storable(write, answer.body) } }
      : outcome
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (proofKind(write) === 'removal' && isAbsent(error.status))
      return await finishChange(context, change, { ...effect, response: responseOf(error), seen: null }, signal)
    if (isRefusal(error)) return await refusedOrLook(context, change, prepared, error, signal)
    if (!error.mayHaveTakenEffect) return retryLater(context, change, error)
    return { ...lookLater(change, error), ...(isFinished(error) && { finished: true }) }
  }
}
