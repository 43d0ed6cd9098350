// An unavailable database, which cannot be stored in the database: this process remembers it, and sends start and end
// by the same rule.

import { type Condition, decide } from './debounce.ts'

/** Sends these conditions; false: the receiver did not accept the message. */
type Tell = (conditions: readonly Condition[], state: 'begun' | 'over') => Promise<boolean>

/** Makes the look: called with whether the database is out at this moment. */
export function createDatabaseWatch(tell: Tell): (isOut: boolean, now: Date) => Promise<void> {
  let known: readonly Condition[] = []
  return async (isOut, now) => {
    const decision = decide(known, isOut ? [{ kind: 'database', about: '' }] : [], now)
    known = decision.known
    if (decision.begun.length > 0 && (await tell(decision.begun, 'begun')))
      known = known.map((condition) => ({ ...condition, told: true }))
    if (decision.over.length > 0 && (await tell(decision.over, 'over'))) known = []
  }
}
