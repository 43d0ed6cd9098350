// When a matter is told as begun, and when as over: both after two minutes in which nothing changed, so that what flickers is
// told neither way. Pure.

import type { AlertKind } from './kinds.ts'

/** How long a matter must be there, or gone, before it is told. */
const steadyMs = 120_000

/** One thing that is the matter: a kind, and the name of what it is about (empty: the mirror as a whole). */
export type Subject = { readonly kind: AlertKind; readonly about: string }

export type Matter = Subject & {
  readonly since: Date
  /** Its begin was taken by the receiver. */
  readonly told: boolean
  /** Since when it is not there any more; null: it is there. */
  readonly goneSince: Date | null
}

export type Decision = {
  /** All that is to be remembered; what was told as over is forgotten when the message is taken. */
  readonly known: readonly Matter[]
  readonly begun: readonly Matter[]
  readonly over: readonly Matter[]
}

/** Two that are the same matter have the same text. */
export const subjectKey = ({ kind, about }: Subject): string => `${kind} ${about}`

/** What follows from what was known and what is there now. */
export function decide(known: readonly Matter[], present: readonly Subject[], now: Date): Decision {
  const there = new Set(present.map(subjectKey))
  const before = new Set(known.map(subjectKey))
  const kept = known.flatMap((matter): Matter[] => {
    if (there.has(subjectKey(matter))) return [{ ...matter, goneSince: null }]
    // That there are new fields is an event: nothing is over when they are old. What nobody heard of is not over either.
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
