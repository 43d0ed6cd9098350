// A change whose answer was lost: proven done, proven undone and sent again, waited for, or left to a person. Nothing is
// sent here.

import { asRead, isObject, type Json, type JsonObject } from '../api/wire/json.ts'
import { ApiError } from '../errors.ts'
import { absenceProvesInMs, absenceProvesNothing, nextLookMs } from './attempts.ts'
import { resolveTarget } from './body.ts'
import type { Change } from './change.ts'
import { type PushContext, showDelayMs } from './context.ts'
import { finishChange } from './finish.ts'
import { makesRecord, proofKind } from './operations.ts'
import { errorText, gone, type Outcome, storable } from './outcome.ts'
import { type Proven, proveChange, type Sent } from './prove.ts'

/** The write that left, as its commit before sending wrote it down. */
export function sentOf(change: Change): Sent {
  // What was stored for people has replaced characters.
  const body = change.proof.sent ?? change.request?.body
  return {
    params: resolveTarget(change.target, change.results) ?? {},
    body: isObject(body) ? body : {},
    proof: change.proof,
  }
}

/** The fields of an update that came from the change, not from the record as read; null for other operations. */
export function appliedOf(change: Change, body: JsonObject): JsonObject | null {
  if (proofKind(change.write) !== 'update') return null
  const own = (name: string): boolean => Object.hasOwn(change.body, name) && !change.keptRemote.includes(name)
  return Object.fromEntries(Object.entries(body).filter(([name]) => own(name)))
}

/** The next look at a change whose fate is unknown. */
export const lookLater = (change: Change, error: unknown): Outcome & { readonly kind: 'look' } => ({
  kind: 'look',
  delayMs: nextLookMs(change.looks, Math.random()),
  error: errorText(error),
})

const undecided = (change: Change, why: string, candidates: readonly Json[]): Outcome => ({
  kind: 'unknown',
  error: `It can't be proven whether this took effect: ${why}`,
  response: { status: null, body: { candidates: candidates.map((record) => storable(change.write, asRead(record))) } },
})

const again: Outcome = { kind: 'retry', delayMs: 0, error: 'The earlier attempt did not take effect.' }

/** What to do when nothing shows that the write took effect. */
function absent(context: PushContext, change: Change): Outcome {
  const kind = proofKind(change.write)
  if (change.proof.answered === true)
    return undecided(change, 'the API answered with success, and what it made is not to be found.', [])
  // One that may still be under way could arrive after the changes that follow, and undo them.
  if (!makesRecord(change.write) && change.proof.finished === true) return again
  const now = context.clock.now()
  const sentAt = change.sentAt ?? now
  const { settings } = context
  const waitMs = absenceProvesInMs({
    sentAt,
    now,
    timeLimitMs: settings.api.timeoutMs,
    showDelayMs: showDelayMs(settings),
  })
  if (waitMs > 0) {
    const delayMs = Math.min(waitMs, nextLookMs(change.looks, Math.random()))
    return { kind: 'look', delayMs, error: 'Not to be seen yet.' }
  }
  if (kind === 'rental' && absenceProvesNothing(sentAt, now))
    return {
      kind: 'expired',
      error: 'The answer was lost, and after 15 minutes the rental may have been there and expired.',
      response: null,
    }
  return again
}

/** What a verdict means for a change that left. `null`: it did not take effect. */
export async function outcomeOf(
  context: PushContext,
  change: Change,
  sent: Sent,
  { verdict, seen }: Proven,
  signal: AbortSignal,
): Promise<Outcome | null> {
  switch (verdict.kind) {
    case 'took': {
      const warnings = change.warning === null ? [] : [change.warning]
      const isRemoval = proofKind(change.write) === 'removal'
      const effect = {
        params: sent.params,
        sent: isRemoval ? undefined : sent.body,
        applied: appliedOf(change, sent.body),
        response: null,
        seen,
        warnings,
      }
      return await finishChange(context, change, effect, signal)
    }
    case 'not':
      return null
    case 'gone':
      return gone(change)
    case 'conflict':
      return { kind: 'conflict', conflict: verdict.conflict }
    case 'unclear':
      return undecided(change, verdict.why, verdict.candidates)
    default:
      return verdict satisfies never
  }
}

/** One look at a change that left and whose answer was lost or whose pusher died. */
export async function reconcileChange(context: PushContext, change: Change, signal: AbortSignal): Promise<Outcome> {
  const sent = sentOf(change)
  try {
    const proven = await proveChange(context, change, sent, signal)
    return (await outcomeOf(context, change, sent, proven, signal)) ?? absent(context, change)
  } catch (error) {
    if (!(error instanceof ApiError) || signal.aborted) throw error
    return lookLater(change, error)
  }
}
