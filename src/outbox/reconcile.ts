// Verifies a dispatched change whose answer was lost: it is done, had no effect and is sent again, is verified later, or needs a decision.
// This file sends no writes.

import { isObject, type Json } from '../api/wire/json.ts'
import { ApiError } from '../errors.ts'
import { absenceProvesInMs, absenceProvesNothing, nextVerificationMs } from './attempts.ts'
import { type Change, resolveTarget } from './change.ts'
import { sentFormerly } from './former.ts'
import type { Delivery, Sent } from './kinds/kind.ts'
import { kindOf } from './kinds/kinds.ts'
import { awaited } from './kinds/shared.ts'
import { errorText, gone, type Outcome, storable } from './outcome.ts'
import { checkAgain } from './show-delay.ts'

/** What was sent, as it was committed before. */
export function sentOf(change: Change): Sent {
  const stored = change.evidence.sent ?? change.request?.body // what people are shown has replaced characters
  const body = isObject(stored) ? stored : {}
  const own = (name: string): boolean => Object.hasOwn(change.body, name) && !change.keptRemote.includes(name)
  return {
    params: resolveTarget(change.target, change.results) ?? {},
    body,
    applied: Object.fromEntries(Object.entries(body).filter(([name]) => own(name))),
    evidence: change.evidence,
    warnings: change.warning === null ? [] : [change.warning],
  }
}

/** The next verification of a change whose fate is unknown. */
export const verifyLater = (change: Change, error: unknown): Outcome & { readonly kind: 'verify' } => ({
  kind: 'verify',
  delayMs: nextVerificationMs(change.verifications, Math.random()),
  error: errorText(error),
})

const undecided = (change: Change, why: string, candidates: readonly Json[]): Outcome => ({
  kind: 'unknown',
  error: `It is not certain whether this took effect: ${why}`,
  response: { status: null, body: { candidates: candidates.map((record) => storable(change.write, record)) } },
})

const again: Outcome = { kind: 'retry', delayMs: 0, error: 'The earlier attempt did not take effect.' }

/** Milliseconds after the start of the reads in which the effect may still show, or a request in flight may still arrive. */
const mayShowInMs = ({ context, change, knownMs }: Delivery): number =>
  absenceProvesInMs({
    knownMs,
    timeLimitMs: change.evidence.finished ? 0 : context.settings.api.timeoutMs,
    showDelayMs: context.showDelay.ms(),
  })

/** The next verification of a change that cannot be judged yet. */
const notYet = ({ change }: Delivery, waitMs: number): Outcome => ({
  kind: 'verify',
  delayMs: Math.min(waitMs, nextVerificationMs(change.verifications, Math.random())),
  error: 'The API does not show it yet.',
})

/** What to do when nothing shows that the write took effect. */
function absent(delivery: Delivery): Outcome {
  const { context, change, startedAt, knownMs } = delivery
  const unseen = change.evidence.answered ? checkAgain({ sinceMs: knownMs, patienceMs: context.showDelay.ms() }) : null
  if (unseen !== null) return { kind: 'verify', answered: true, ...unseen }
  if (change.evidence.answered)
    return undecided(change, 'the API answered with success, but the created record was not found.', [])
  const waitMs = mayShowInMs(delivery)
  if (waitMs > 0) return notYet(delivery, waitMs)
  const { refused } = change.evidence
  if (refused !== undefined) return { kind: 'failed', error: refused, response: null }
  const error = 'The answer was lost. After 15 minutes, the rental may have been created and expired.'
  // A rental of another history that has expired cannot be doubled.
  const mayExpire = kindOf(change.write).expires && !change.evidence.former
  const expired = mayExpire && absenceProvesNothing(change.sentAt ?? startedAt, startedAt, knownMs)
  return expired ? { kind: 'expired', error, response: null } : again
}

/** The delivery with reads that bypass caches, because their result decides what is sent. */
export const freshly = (delivery: Delivery): Delivery => ({
  ...delivery,
  context: { ...delivery.context, fresh: true },
})

/** The outcome of a change that was dispatched, from what the API shows; null: it did not take effect. @throws ApiError */
export async function verifyChange(delivery: Delivery, sent: Sent): Promise<Outcome | null> {
  const { context, change } = delivery
  const kind = kindOf(change.write)
  const found = await kind.verify(freshly(delivery), sent)
  // The absence of a record that one of our own changes just created proves nothing.
  const isMissing = kind.makesRecord ? found === null : found?.length === 0
  const early = isMissing ? await awaited(delivery) : null
  if (early !== null) return { kind: 'verify', ...early }
  const verdict = kind.decide(change.write, sent, found, context.settings.timeZone)
  switch (verdict.kind) {
    case 'took':
      return await kind.finish(delivery, sent, { response: null, seen: verdict.seen })
    case 'not':
      return null
    case 'gone':
      return gone(change)
    case 'conflict':
      return verdict
    case 'unclear': {
      const waitMs = verdict.mayClear ? mayShowInMs(delivery) : 0
      return waitMs > 0 ? notYet(delivery, waitMs) : undecided(change, verdict.why, verdict.candidates)
    }
    default:
      return verdict satisfies never
  }
}

/** One verification of a change whose answer was lost or whose pusher died. */
export async function reconcileChange(delivery: Delivery): Promise<Outcome> {
  const { write, evidence } = delivery.change
  const kind = kindOf(write)
  try {
    const sent = evidence.former === undefined ? sentOf(delivery.change) : await sentFormerly(freshly(delivery))
    if (!('evidence' in sent)) return sent
    // It took effect, and its result must still be read.
    if (evidence.answered && !kind.makesRecord) return await kind.finish(delivery, sent, { response: null, seen: null })
    return (await verifyChange(delivery, sent)) ?? absent(delivery)
  } catch (error) {
    if (!(error instanceof ApiError) || delivery.signal.aborted) throw error
    return verifyLater(delivery.change, error)
  }
}
