// The database being out, which nothing in the database can remember: this process does, and tells it as begun and over by the
// same rule.

import { decide, type Matter } from './begun-over.ts'

/** Tells these matters; false: the receiver did not take it. */
type Tell = (matters: readonly Matter[], state: 'begun' | 'over') => Promise<boolean>

/** Makes the look: called with whether the database is out at this moment. */
export function createDatabaseWatch(tell: Tell): (isOut: boolean, now: Date) => Promise<void> {
  let known: readonly Matter[] = []
  return async (isOut, now) => {
    const decision = decide(known, isOut ? [{ kind: 'database', about: '' }] : [], now)
    known = decision.known
    if (decision.begun.length > 0 && (await tell(decision.begun, 'begun')))
      known = known.map((matter) => ({ ...matter, told: true }))
    if (decision.over.length > 0 && (await tell(decision.over, 'over'))) known = []
  }
}
