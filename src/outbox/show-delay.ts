// How long the API needs to show a write. During that time, a missing or unchanged record proves nothing, and is read again.

import { assumedShownAfter, type ShownAfter } from '../sync/remembered/own-writes.ts'
import type { Change } from './change.ts'
import type { Outcome, Unseen } from './outcome.ts'

/** Observed delays raise the delay up to this factor of the assumed one: from 5 s to a minute. */
const growth = assumedShownAfter.longestMs / assumedShownAfter.ms()
const [soonestMs, latestMs] = [250, 5_000]

export type ShowDelay = ShownAfter & {
  /** Learns from the outcome of a change that had to be read again. */
  note(changeId: string, outcome: Outcome): void
  /**
   * For how long this process has known of an attempt, or of the API's answer to it, in milliseconds since the first call. It
   * uses a monotonic clock, because the database's clock may be set. All attempts of another history of the database count as one.
   */
  knownMs(attempt: Attempt): number
  /** Records that a change of this process wrote to an aggregate or a record. */
  wrote(what: string, changeId: string): void
  /** Its last write there, and the time since then by the same clock; null: longer than an effect may take to show. */
  lastWrite(what: string): { readonly changeId: string; readonly sinceMs: number } | null
}

type Attempt = Pick<Change, 'id' | 'sentAt' | 'evidence'>

/** An attempt before its answer, or after it. */
const nameOf = ({ sentAt, evidence }: Attempt): string =>
  `${sentAt?.getTime()} ${evidence.answered === true || evidence.finished === true}`

/** Milliseconds to the next read of a write that does not show yet: as long as it has waited. */
const nextCheckMs = (sinceMs: number): number => Math.round(Math.min(latestMs, Math.max(soonestMs, sinceMs)))

type Again = { readonly delayMs: number; readonly error: string; readonly unseen: Unseen }

/** When to read again what does not show yet; null: the time has passed, so the present content counts. */
export function checkAgain(unseen: Unseen): Again | null {
  const { sinceMs, patienceMs } = unseen
  if (sinceMs >= patienceMs) return null
  const delayMs = Math.max(1, Math.min(nextCheckMs(sinceMs), Math.ceil(patienceMs - sinceMs)))
  return { delayMs, error: 'The API does not show the latest write yet.', unseen }
}

/** `assumedMs`: the delay until one was observed; `steadyMs`: a monotonic clock. */
export function createShowDelay(
  assumedMs: number = assumedShownAfter.ms(),
  steadyMs = (): number => performance.now(),
): ShowDelay {
  const longestMs = assumedMs * growth
  let ms = assumedMs
  const waiting = new Map<string, Unseen>()
  /** Attempts that are not settled, by their changes. */
  const known = new Map<string, { readonly attempt: string; readonly since: number }>()
  const written = new Map<string, { readonly changeId: string; readonly at: number }>()
  return {
    ms: () => ms,
    longestMs,
    wrote: (what, changeId) => {
      const now = steadyMs()
      for (const [other, { at }] of written) {
        if (now - at < longestMs) break
        written.delete(other)
      }
      written.delete(what) // keeps the oldest first
      written.set(what, { changeId, at: now })
    },
    lastWrite: (what) => {
      const last = written.get(what)
      const sinceMs = steadyMs() - (last?.at ?? Number.NEGATIVE_INFINITY)
      return last === undefined || sinceMs >= longestMs ? null : { changeId: last.changeId, sinceMs }
    },
    knownMs: (given) => {
      const [attempt, now] = [nameOf(given), steadyMs()]
      const id = given.evidence.former === undefined ? given.id : 'another history'
      const before = known.get(id)
      if (before?.attempt === attempt) return now - before.since
      known.set(id, { attempt, since: now })
      return 0
    },
    note: (changeId, outcome) => {
      if (outcome.kind !== 'verify') known.delete(changeId)
      const unseen = 'unseen' in outcome ? outcome.unseen : undefined
      if (unseen !== undefined) {
        waiting.set(changeId, unseen)
        return
      }
      const before = waiting.get(changeId)
      waiting.delete(changeId)
      if (before === undefined || (outcome.kind !== 'done' && outcome.kind !== 'verify')) return
      // The write showed at the next read, before the time had passed: the delay may be that long.
      const shownAfterMs = before.sinceMs + nextCheckMs(before.sinceMs)
      if (shownAfterMs < before.patienceMs) ms = Math.min(longestMs, Math.max(ms, 2 * shownAfterMs))
    },
  }
}
