// How long the API needs to show a write. Within that time after a write of ours, a missing record and an unchanged
// record prove nothing: they are read again.

import { assumedShownAfter, type ShownAfter } from '../state/remembered/own-writes.ts'
import type { Outcome, Unseen } from './outcome.ts'

/** The delay grows with what was seen, up to so many times what is assumed at first: from 5 s to a minute. */
const growth = assumedShownAfter.longestMs / assumedShownAfter.ms()
const [soonestMs, latestMs] = [250, 5_000]

export type ShowDelay = ShownAfter & {
  /** Learns from the outcome of a change that had to be read again. */
  note(changeId: string, outcome: Outcome): void
}

/** Milliseconds to the next read of a write this old that is not shown yet: as long again. */
const nextCheckMs = (sinceMs: number): number => Math.round(Math.min(latestMs, Math.max(soonestMs, sinceMs)))

type Again = { readonly delayMs: number; readonly error: string; readonly unseen: Unseen }

/** When to read again what does not show yet; null: the time has passed, so the present content counts. */
export function checkAgain(unseen: Unseen): Again | null {
  const { sinceMs, patienceMs } = unseen
  if (sinceMs >= patienceMs) return null
  const delayMs = Math.max(1, Math.min(nextCheckMs(sinceMs), Math.ceil(patienceMs - sinceMs)))
  return { delayMs, error: 'The API does not show the latest write yet.', unseen }
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
      const shownAfterMs = before.sinceMs + nextCheckMs(before.sinceMs)
      if (shownAfterMs < before.patienceMs) ms = Math.min(longestMs, Math.max(ms, 2 * shownAfterMs))
    },
  }
}
