// When a condition is sent as started, and when as ended: both after two minutes without change, so that flicker is
// never sent. Pure.

import type { AlertKind } from './kinds.ts'

/** How long a condition must be present, or absent, before a message is sent. */
const steadyMs = 120_000

/** One condition: a kind, and the name of its subject (empty: the mirror as a whole). */
export type Subject = { readonly kind: AlertKind; readonly about: string }

export type Matter = Subject & {
  readonly since: Date
  /** The receiver accepted the message about its start. */
  readonly told: boolean
  /** Since when it is not there any more; null: it is there. */
  readonly goneSince: Date | null
}

export type Decision = {
  /** The conditions to store; those sent as ended are deleted when the message is accepted. */
  readonly known: readonly Matter[]
  readonly begun: readonly Matter[]
  readonly over: readonly Matter[]
}

/** Equal for two records of the same condition. */
export const subjectKey = ({ kind, about }: Subject): string => `${kind} ${about}`

/** What follows from what was known and what is there now. */
export function decide(known: readonly Matter[], present: readonly Subject[], now: Date): Decision {
  const there = new Set(present.map(subjectKey))
  const before = new Set(known.map(subjectKey))
  const kept = known.flatMap((matter): Matter[] => {
    if (there.has(subjectKey(matter))) return [{ ...matter, goneSince: null }]
    // New fields are an event that never ends. A condition whose start was not sent does not end either.
    if (!matter.told || matter.kind === 'fields') return []
    return [{ ...matter, goneSince: matter.goneSince ?? now }]
  })
  const added = present
    .filter((subject) => !before.has(subjectKey(subject)))
    .map(({ kind, about }): Matter => ({ kind, about, since: now, told: false, goneSince: null }))
  const next = [...kept, ...added]
  const isSteady = (since: Date): boolean => now.getTime() - since.getTime() >= steadyMs
  return {
    known: next,
    begun: next.filter(({ told, since }) => !told && isSteady(since)),
    over: next.filter(({ goneSince }) => goneSince !== null && isSteady(goneSince)),
  }
}
