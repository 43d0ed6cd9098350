// How far a sweep has come, and whether it is complete. Pure.

import { ignored } from '../../api/paging/envelope.ts'
import { count, counted } from '../../format.ts'

/** How far a sweep has come. */
export type Checkpoint = {
  /** The list and its extra passes, from 0. */
  readonly variant: number
  readonly pass: number
  /** Where the next page is; null: at the beginning of the pass. */
  readonly next: string | null
  readonly pages: number
  /** The last page of the pass is committed; what is left is to judge it. */
  readonly ended: boolean
  readonly totals: readonly number[]
  /** Keys on the pages of this pass. */
  readonly keys: number
  /** Why nothing proves that the list ended where this pass did; null: it is proven, or the pass continues. */
  readonly unproven?: string | null
  /** How far the end of the pass or of the sweep has come, where it takes several steps. */
  readonly end?: EndProgress | null
  /** Why this sweep proves no absence. */
  readonly doubts: readonly string[]
}

/** What the steps at the end of a pass or of a sweep have done: first pages are divided into ranges, then ranges add up. */
export type EndProgress = {
  /** The last page that is divided; null: all are. */
  readonly divided: { readonly pass: number; readonly page: number } | null
  /** Ranges that are added up in `facts`. */
  readonly ranges: number
  readonly facts: Readonly<Record<string, number>>
}

const start = { pages: 0, totals: [], keys: 0, unproven: null, end: null } as const
const beginning = { ...start, pass: 1, next: null, ended: false } as const

/** Where a sweep begins. */
export const firstCheckpoint: Checkpoint = { ...beginning, variant: 0, doubts: [] }

/** Where a sweep continues after a pass: the next variant, or the same one again. */
export const nextVariant = (at: Checkpoint): Checkpoint => ({ ...at, ...beginning, variant: at.variant + 1 })
export const nextPass = (at: Checkpoint): Checkpoint => ({ ...at, ...beginning, pass: at.pass + 1 })

/** Passes of all variants share one table; ten passes a variant are more than there can be. */
export const passNumber = (at: Checkpoint): number => at.variant * 10 + at.pass

/**
 * The checkpoint of a pass whose end nothing proves.
 * @param why text for operators. One record cannot be requested in a smaller page: what its list does past its end
 * was seen in the variant before.
 */
export const unprovenEnd = (at: Checkpoint, why: string): Checkpoint => {
  const isSeenBefore = at.variant > 0 && at.doubts.length === 0 && at.keys === 1
  return { ...at, ended: true, unproven: isSeenBefore ? null : why }
}

type PassFacts = {
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
  /** Why nothing proves that the list ended where its pages did; null or undefined: it is proven. */
  readonly unproven?: string | null | undefined
}

type PassVerdict =
  | { readonly kind: 'complete' }
  | { readonly kind: 'again'; readonly reason: string }
  | { readonly kind: 'partial'; readonly reason: string }

const maxPasses = 3

const wrongTotal = `If the total is always wrong, set API_TOTAL_PATH=${ignored}, or lists.<stream>.totalPath: ${ignored} in the configuration file.`

/** Judges a pass whose pages were all answered and parsed. A moving list leads to another pass, three at most. */
export function judgePass(facts: PassFacts): PassVerdict {
  const problem = problemOf(facts)
  // Another pass would end as this one did.
  if (problem === null && facts.unproven) return { kind: 'partial', reason: facts.unproven }
  if (problem === null) return { kind: 'complete' }
  return facts.pass < maxPasses ? { kind: 'again', reason: problem } : { kind: 'partial', reason: problem }
}

function problemOf({ answered, distinct, keyless, keylessDistinct, totals }: PassFacts): string | null {
  const first = totals[0]
  const last = totals.at(-1)
  if (totals.some((total) => total !== first))
    return `The total changed from ${first} to ${last} while the list was read. ${wrongTotal}`
  if (answered > distinct)
    return `The API returned ${counted(answered - distinct, 'record')} twice: the list changed while it was read.`
  // They are records of the list, too. Of equal ones it is unknown whether one came twice: either count may be right.
  if (last !== undefined && (last < distinct + keylessDistinct || last > distinct + keyless))
    return `The API reported a total of ${count(last)}, but returned ${counted(distinct + keyless, 'record')}. ${wrongTotal}`
  return null
}
