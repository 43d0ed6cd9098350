// When a person says that a change took effect: what the API shows of it now, so that the mirror has it in the transaction
// that makes the change `done`, as after any other.

import { ApiError, BoatMirrorError } from '../errors.ts'
import type { Change } from './change.ts'
import type { PushContext } from './context.ts'
import { finishChange, unverified } from './finish.ts'
import { holderOf, mirrorKey, proofKind, singleRead, yieldsId } from './operations.ts'
import type { Done } from './outcome.ts'
import { type Params, readHolder, readRecord, type Seen } from './reads.ts'
import { appliedOf, sentOf } from './reconcile.ts'

/** Looks at what a change left at the API. `resultId`: the record it made, as a person names it; null where none is named. */
export type ReadBack = (change: Change, resultId: string | null) => Promise<Done>

const byPerson = 'Settled by a person.'
const patienceMs = 10_000

const numberOrText = (id: string): number | string => (/^\d{1,15}$/.test(id) ? Number(id) : id)

/** The path of the record itself: that of its collection, and the id it has there. */
function paramsOf(change: Change, resultId: string | null): Params {
  const { params } = sentOf(change)
  if (resultId === null) return params
  const [, name = ''] = /\{(\w+)\}$/.exec(singleRead(change.write)) ?? []
  return { ...params, [name]: resultId }
}

/** What is known without having seen the record; the next sync shows the rest. */
function unread(change: Change, resultId: string | null, warning: string): Done {
  const params = paramsOf(change, resultId)
  return {
    kind: 'done',
    result: resultId === null ? null : { id: numberOrText(resultId) },
    response: null,
    warnings: [byPerson, warning],
    mirror: {},
    recordKey: mirrorKey(change.write, params, resultId),
    leftBehind: null,
    holderId: params[holderOf(change.write).param] ?? null,
    rentalStatus: null,
  }
}

async function look(context: PushContext, change: Change, params: Params, signal: AbortSignal): Promise<Seen | null> {
  const kind = proofKind(change.write)
  if (kind === 'removal') return null
  return await (kind === 'assignment' ? readHolder : readRecord)(context, change.write, params, signal)
}

const notShown = (change: Change, resultId: string): BoatMirrorError =>
  new BoatMirrorError('NOT_FOUND', `The API shows no record ${resultId} that change ${change.id} could have made.`)

/**
 * Reads back from the API. Where it does not answer, the change is settled without, and a warning says so.
 * @throws BoatMirrorError NOT_FOUND when a person names a record that the API does not show.
 */
export const readBackFrom =
  (context: PushContext, stopped: AbortSignal): ReadBack =>
  async (change, resultId) => {
    const params = paramsOf(change, resultId)
    if (yieldsId(change.operation) && resultId === null)
      return unread(change, null, 'The mirror shows what it made after the next sync.')
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(patienceMs)])
    try {
      const seen = await look(context, change, params, signal)
      if (seen !== null && seen.record === null && resultId !== null) throw notShown(change, resultId)
      if (seen !== null && seen.record === null) return unread(change, null, 'The API shows no such record now.')
      const { body } = sentOf(change)
      const effect = {
        params,
        sent: body,
        applied: appliedOf(change, body),
        response: null,
        seen,
        warnings: [byPerson],
      }
      const outcome = await finishChange(context, change, effect, signal)
      return outcome.kind === 'done' ? outcome : unread(change, resultId, unverified)
    } catch (error) {
      if (!(error instanceof ApiError) || stopped.aborted) throw error
      // It did answer: what a person named can be no id.
      if (error.code === 'API_REJECTED' && resultId !== null) throw notShown(change, resultId)
      return unread(change, resultId, unverified)
    }
  }
