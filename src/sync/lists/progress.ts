// Is a sweep complete? Pure.

export type PassFacts = {
  /** Number of this pass, from 1. */
  readonly pass: number
  /** Records with a key that were answered, and how many different keys they had. */
  readonly answered: number
  readonly distinct: number
  /** Records without a key that were answered, and how many different contents they had. */
  readonly keyless: number
  readonly keylessDistinct: number
  /** Totals the API named on the pages of this pass; empty when it names none. */
  readonly totals: readonly number[]
}

export type PassVerdict =
  | { readonly kind: 'complete' }
  | { readonly kind: 'again'; readonly reason: string }
  | { readonly kind: 'partial'; readonly reason: string }

export const maxPasses = 3

/** Judges a pass whose pages were all answered and parsed. A moving list leads to another pass, three at most. */
export function judgePass(facts: PassFacts): PassVerdict {
  const problem = problemOf(facts)
  if (problem === null) return { kind: 'complete' }
  return facts.pass < maxPasses ? { kind: 'again', reason: problem } : { kind: 'partial', reason: problem }
}

function problemOf({ answered, distinct, keyless, keylessDistinct, totals }: PassFacts): string | null {
  const first = totals[0]
  const last = totals.at(-1)
  if (totals.some((total) => total !== first))
    return `The total moved from ${first} to ${last} while the list was read.`
  if (answered > distinct) return `${answered - distinct} records came twice: the list moved while it was read.`
  // They are records of the list, too. Of equal ones nobody can tell whether one came twice: either count may be right.
  if (last !== undefined && (last < distinct + keylessDistinct || last > distinct + keyless))
    return `The API names a total of ${last}, and answered ${distinct + keyless} records.`
  return null
}
