// Decides when a condition is sent as started or ended: after two minutes without change, so that flicker is never sent. And remembers
// an unavailable database, which cannot be stored there.

import type { AlertKind } from '../../inspect/attention-kinds.ts'

/** How long a condition must be present, or absent, before a message is sent. */
const steadyMs = 120_000

/** One condition: a kind, and the name of its subject (empty: the mirror as a whole). */
export type Subject = { readonly kind: AlertKind; readonly about: string }

export type Condition = Subject & {
  readonly since: Date
  /** The receiver accepted the message about its start. */
  readonly told: boolean
  /** Since when it is gone; null: it is present. */
  readonly goneSince: Date | null
}

type Decision = {
  /** The conditions to store; those sent as ended are deleted when the message is accepted. */
  readonly known: readonly Condition[]
  readonly begun: readonly Condition[]
  readonly over: readonly Condition[]
}

/** Equal for two records of the same condition. */
export const subjectKey = ({ kind, about }: Subject): string => `${kind} ${about}`

/** Compares the known conditions with the present ones. Pure. */
export function decide(known: readonly Condition[], present: readonly Subject[], now: Date): Decision {
  const there = new Set(present.map(subjectKey))
  const before = new Set(known.map(subjectKey))
  const kept = known.flatMap((condition): Condition[] => {
    if (there.has(subjectKey(condition))) return [{ ...condition, goneSince: null }]
    // New fields are an event without an end. A condition whose start was not sent has no end to send.
    if (!condition.told || condition.kind === 'fields') return []
    return [{ ...condition, goneSince: condition.goneSince ?? now }]
  })
  const added = present
    .filter((subject) => !before.has(subjectKey(subject)))
    .map(({ kind, about }): Condition => ({ kind, about, since: now, told: false, goneSince: null }))
  const next = [...kept, ...added]
  const isSteady = (since: Date): boolean => now.getTime() - since.getTime() >= steadyMs
  return {
    known: next,
    begun: next.filter(({ told, since }) => !told && isSteady(since)),
    over: next.filter(({ goneSince }) => goneSince !== null && isSteady(goneSince)),
  }
}

/** Sends these conditions; false: the receiver did not accept the message. */
type Tell = (conditions: readonly Condition[], state: 'begun' | 'over') => Promise<boolean>

/** Creates a function to call with whether the database is down now. */
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
