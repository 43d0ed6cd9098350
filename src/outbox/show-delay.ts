// How long the API needs to show what was written. Within that time after a write of ours, a record that is not there and a
// record as it was before prove nothing: they are looked at again.

import { assumedShownAfter, type ShownAfter } from '../state/remembered/own-writes.ts'
import type { Outcome, Unseen } from './outcome.ts'

/** The delay grows with what was seen, up to so many times what is assumed at first: from 5 s to a minute. */
const growth = assumedShownAfter.longestMs / assumedShownAfter.ms()
const [soonestMs, latestMs] = [250, 5_000]

export type ShowDelay = ShownAfter & {
  /** Learns from what came of a change that had to be looked at again. */
  note(changeId: string, outcome: Outcome): void
}

/** Milliseconds to the next look at what was written so long ago and is not shown yet: as long again. */
const nextLookMs = (sinceMs: number): number => Math.round(Math.min(latestMs, Math.max(soonestMs, sinceMs)))

type Again = { readonly delayMs: number; readonly error: string; readonly unseen: Unseen }

/** When what is not to be seen is looked at again; null: it had its time, so what shows counts. */
export function lookAgain(unseen: Unseen): Again | null {
  const { sinceMs, patienceMs } = unseen
  if (sinceMs >= patienceMs) return null
  const delayMs = Math.max(1, Math.min(nextLookMs(sinceMs), Math.ceil(patienceMs - sinceMs)))
  return { delayMs, error: 'The API does not show yet what was written a moment ago.', unseen }
}

/** @param assumedMs the delay as long as nothing was seen of it. */
export function createShowDelay(assumedMs: number = assumedShownAfter.ms()): ShowDelay {
  const longestMs = assumedMs * growth
  let ms = assumedMs
  const waiting = new Map<string, Unseen>()
  return {
    ms: () => ms,
    longestMs,
    note: (changeId, outcome) => {
      const unseen = 'unseen' in outcome ? outcome.unseen : undefined
      if (unseen !== undefined) {
        waiting.set(changeId, unseen)
        return
      }
      const before = waiting.get(changeId)
      waiting.delete(changeId)
      if (before === undefined || (outcome.kind !== 'done' && outcome.kind !== 'verify')) return
      // Not shown then, but at the next look, before patience ended: so long it may take.
      const shownAfterMs = before.sinceMs + nextLookMs(before.sinceMs)
      if (shownAfterMs < before.patienceMs) ms = Math.min(longestMs, Math.max(ms, 2 * shownAfterMs))
    },
  }
}
