// When an operator decides that a change took effect: what the API shows of it now, so that the mirror gets it in the
// transaction that makes the change `done`, as after any other.

import type { Queryable } from '../database/sql.ts'
import { ApiError, BoatMirrorError } from '../errors.ts'
import type { Change } from './change.ts'
import type { PushContext } from './context.ts'
import { keptOutcome } from './kept.ts'
import { kindOf } from './kinds/kinds.ts'
import { done, unverified } from './kinds/shared.ts'
import type { Done } from './outcome.ts'
import { singleRead } from './reads.ts'
import { sentOf } from './reconcile.ts'

export type ReadBack = {
  /**
   * Reads the result of a change from the API. `resultId`: the record it made, as the decision names it; null where
   * none is named.
   */
  look(change: Change, resultId: string | null): Promise<Done>
  /** In the transaction that writes what was seen: see `Privacy.assertCurrent`. */
  assertCurrent(client: Queryable): Promise<void>
}

const byPerson = 'Settled by an operator.'
const patienceMs = 10_000

const numberOrText = (id: string): number | string => (/^\d{1,15}$/.test(id) ? Number(id) : id)

/**
 * Reads back from the API. Where it does not answer, the change is settled without, and gets a warning.
 * @throws BoatMirrorError NOT_FOUND when the decision names a record that the API does not show.
 */
export const readBackFrom = (context: PushContext, stopped: AbortSignal): ReadBack => ({
  assertCurrent: async (client) => await context.privacy?.assertCurrent(client),
  look: async (change, resultId) => {
    const kind = kindOf(change.write)
    const before = sentOf(change, context.privacy)
    // The path of the record itself: that of its collection, and the id it has there.
    const [, param = ''] = resultId === null ? [] : (/\{(\w+)\}$/.exec(singleRead(change.write)) ?? [])
    const params = resultId === null ? before.params : { ...before.params, [param]: resultId }
    const result = resultId === null ? null : { id: numberOrText(resultId) }
    /** The known part without having seen the record; the next sync shows the rest. */
    const unseen = (why: string): Done => ({ ...done(change, params, resultId), result, warnings: [byPerson, why] })
    if (kind.makesRecord && resultId === null) return unseen('The mirror shows the created record after the next sync.')

    const signal = AbortSignal.any([stopped, AbortSignal.timeout(patienceMs)])
    // What is there now counts: an operator has decided that it took effect.
    const delivery = { context, change, signal, startedAt: context.clock.now(), knownMs: Number.POSITIVE_INFINITY }
    const notShown = `The API has no record ${resultId} that change ${change.id} could have created.`
    try {
      const seen = (await kind.readBack?.(delivery, params)) ?? null
      if (seen === null && resultId !== null) throw new BoatMirrorError('NOT_FOUND', notShown)
      if (seen === null && kind.readBack !== undefined) return unseen('The API does not show this record now.')
      const outcome = await kind.finish(delivery, { ...before, params, warnings: [byPerson] }, { response: null, seen })
      return outcome.kind === 'done' ? keptOutcome(context.privacy, change.write, outcome) : unseen(unverified)
    } catch (error) {
      if (!(error instanceof ApiError) || stopped.aborted) throw error
      // It did answer: the named record cannot be an id.
      if (error.code === 'API_REJECTED' && resultId !== null) throw new BoatMirrorError('NOT_FOUND', notShown)
      return unseen(unverified)
    }
  },
})
