// The delete threshold: may what a sweep did not see be deleted? Pure.

import { count, counted } from '../../format.ts'

type DeletionFacts = {
  /** Live rows before the sweep, without stubs. */
  readonly live: number
  /** Records the sweep saw. */
  readonly seen: number
  /** Live rows the sweep did not see. */
  readonly missing: number
  /** Rows of this stream that were tombstoned within the last 24 hours. */
  readonly deletedLately: number
  /** Share of the stream that may go within 24 hours, 0..1. */
  readonly limit: number
  /** Of a sweep that went through a window of the list: the live rows in it. */
  readonly inWindow?: number
}

export type Verdict =
  | { readonly kind: 'confirm' }
  /** The list shrank suddenly, but few records are concerned: ask for each, and delete only if every one is gone. */
  | { readonly kind: 'confirm-all'; readonly reason: string }
  /** Request a sample, delete nothing, and hold the run. */
  | { readonly kind: 'hold'; readonly reason: string }

/** Up to this many records may always go. */
export const alwaysAllowed = 20

/** At most this many records are requested when a run is held. */
export const sampleSize = 50

/** Why more would go within 24 hours than may; null: it may go. */
export function beyondLimit({
  live,
  missing,
  deletedLately,
  limit,
}: Pick<DeletionFacts, 'live' | 'missing' | 'deletedLately' | 'limit'>): string | null {
  const going = missing + deletedLately
  const base = live + deletedLately
  if (going <= alwaysAllowed || going <= limit * base) return null
  return `${going} of ${base} records (${Math.round((going / base) * 100)} %) would be deleted within 24 hours.`
}

/** Decides what happens to the records a complete sweep did not see. */
export function judgeDeletions(input: DeletionFacts): Verdict {
  const { live, missing, inWindow } = input
  const reason = beyondLimit(input)
  if (reason !== null) return { kind: 'hold', reason }
  // The records of a small window move out of it often enough.
  if (missing === 0 || (inWindow !== undefined && inWindow <= alwaysAllowed)) return { kind: 'confirm' }
  const what = inWindow === undefined ? 'list' : 'hot window of the list'
  const [before, seen] = inWindow === undefined ? [live, input.seen] : [inWindow, inWindow - missing]
  if (seen === 0) return shrunk(`The ${what} is suddenly empty.`, missing)
  if (seen * 2 <= before)
    return shrunk(`The ${what} suddenly shrank from ${count(before)} to ${counted(seen, 'record')}.`, missing)
  return { kind: 'confirm' }
}

const shrunk = (reason: string, missing: number): Verdict =>
  missing > alwaysAllowed ? { kind: 'hold', reason } : { kind: 'confirm-all', reason }
