// Fault rules as data: which requests are disturbed, how often, and how. This file decides; the server acts.

import { createRandom, type Random } from '../world/random.ts'

/**
 * Ways to disturb a request.
 *
 * Without effect on the world: `reset` (the connection is reset), `hang` (no answer), `garbage` (bytes that are not
 * JSON), `html` (a web page with status 200), `forbidden` (403).
 * After the effect: `cut` (half the body, then the connection is gone), `truncate` (a complete answer with half the
 * JSON), `dropAfterEffect` (gone without an answer), `errorAfterEffect` (502), `hangAfterEffect` (no answer).
 * Lists only: `shift` and `unshift` (the page lies as if a record before it had been deleted or inserted; cursors do
 * not mind, as in truth), `repeatPage` (the page before), `ignorePage` (the first page), `empty`, `half` (the list
 * ends in the middle).
 */
const faultActions = [
  'cut',
  'hang',
  'reset',
  'garbage',
  'truncate',
  'html',
  'forbidden',
  'dropAfterEffect',
  'errorAfterEffect',
  'hangAfterEffect',
  'shift',
  'unshift',
  'repeatPage',
  'ignorePage',
  'empty',
  'half',
] as const
export type FaultAction = (typeof faultActions)[number]

/** A made-up answer; without `status` only a delay. */
export interface FaultAnswer {
  readonly status?: number
  /** Value of `Retry-After`: seconds, or any text. */
  readonly retryAfter?: number | string
  /** Text as it is, or anything else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly delayMs?: number
}

export interface FaultRule {
  /** `METHOD /v3/template`, such as `GET /v3/rentals/{rentalId}`; `*` stands for any text. */
  readonly op: string
  /** Matching requests to let pass first. */
  readonly after?: number
  /** How many to disturb; missing: all. */
  readonly times?: number
  /** Share of matching requests to disturb, 0 to 1, seeded. */
  readonly probability?: number
  /** Values of path or query parameters that the request must have. */
  readonly match?: Readonly<Record<string, string | number>>
  readonly respond: FaultAction | FaultAnswer
}

/** Checks a rule from outside; throws RangeError saying what is wrong. */
export function parseFaultRule(value: unknown): FaultRule {
  if (typeof value !== 'object' || value === null) throw new RangeError('a fault rule must be an object')
  const { op, respond, after, times, probability } = value as Partial<Record<keyof FaultRule, unknown>>
  if (typeof op !== 'string') throw new RangeError('op must be a text, for example "GET /v3/rentals"')
  for (const [name, number] of Object.entries({ after, times, probability })) {
    if (number !== undefined && typeof number !== 'number') throw new RangeError(`${name} must be a number`)
  }
  const known = typeof respond === 'object' ? respond !== null : faultActions.some((action) => action === respond)
  if (!known) throw new RangeError(`respond must be an object or one of ${faultActions.join(', ')}`)
  return value as FaultRule
}

interface Armed {
  readonly rule: FaultRule
  readonly pattern: RegExp
  seen: number
  used: number
}

const patternOf = (op: string): RegExp =>
  new RegExp(`^${op.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`)

export class FaultSet {
  #armed: Armed[] = []
  readonly #random: Random

  constructor(seed: number) {
    this.#random = createRandom(seed, 'faults')
  }

  add(rule: FaultRule): void {
    this.#armed.push({ rule, pattern: patternOf(rule.op), seen: 0, used: 0 })
  }

  clear(): void {
    this.#armed = []
  }

  /** The rules, with how many requests each has seen and disturbed. */
  list(): readonly (FaultRule & { readonly seen: number; readonly used: number })[] {
    return this.#armed.map(({ rule, seen, used }) => ({ ...rule, seen, used }))
  }

  /** What is to happen to a request: the first rule that matches and is neither waiting nor used up. Counts. */
  next(op: string, values: Readonly<Record<string, string | undefined>>): FaultRule['respond'] | undefined {
    for (const armed of this.#armed) {
      const { rule, pattern } = armed
      if (!pattern.test(op) || !Object.entries(rule.match ?? {}).every(([k, v]) => values[k] === String(v))) continue
      armed.seen++
      if (armed.seen <= (rule.after ?? 0) || armed.used >= (rule.times ?? Number.POSITIVE_INFINITY)) continue
      if (rule.probability !== undefined && !this.#random.chance(rule.probability)) continue
      armed.used++
      return rule.respond
    }
    return undefined
  }
}
