// The delete threshold: may what a sweep did not see be deleted? Pure.

type DeletionFacts = {
  /** Live rows before the sweep, stubs left out. */
  readonly live: number
  /** Records the sweep saw. */
  readonly seen: number
  /** Live rows the sweep did not see. */
  readonly missing: number
  /** Rows of this stream that were tombstoned within the last 24 hours. */
  readonly deletedLately: number
  /** Share of the stream that may go within 24 hours, 0..1. */
  readonly limit: number
}

export type Verdict =
  | { readonly kind: 'confirm' }
  /** The list shrank suddenly, but few records are concerned: ask for each, and delete only if every one is gone. */
  | { readonly kind: 'confirm-all'; readonly reason: string }
  /** Ask for a sample, delete nothing, and wait for a person. */
  | { readonly kind: 'hold'; readonly reason: string }

/** Up to this many records may always go. */
const alwaysAllowed = 20

/** At most this many records are asked for when a run is held. */
export const sampleSize = 50

/** Decides what happens to the records a complete sweep did not see. */
export function judgeDeletions(input: DeletionFacts): Verdict {
  const { live, seen, missing, deletedLately, limit } = input
  const going = missing + deletedLately
  const base = live + deletedLately
  if (going > alwaysAllowed && going > limit * base) {
    const percent = Math.round((going / base) * 100)
    return { kind: 'hold', reason: `${going} of ${base} records (${percent} %) would go within 24 hours.` }
  }
  if (missing > 0 && seen === 0) return shrunk('The list is suddenly empty.', missing)
  if (missing > 0 && seen * 2 <= live)
    return shrunk(`The list has suddenly shrunk from ${live} to ${seen} records.`, missing)
  return { kind: 'confirm' }
}

const shrunk = (reason: string, missing: number): Verdict =>
  missing > alwaysAllowed ? { kind: 'hold', reason } : { kind: 'confirm-all', reason }
