// The states of a change and the moves between them: the one table that says what may follow what.
// Pure; the SQL that moves a change names the same states.

export const statuses = [
  'queued',
  'sending',
  'done',
  'failed',
  'conflict',
  'expired',
  'canceled',
  'unknown',
  'blocked',
] as const

export type Status = (typeof statuses)[number]

/** What can happen to a change. */
export type Event =
  | 'claimed' // a pusher took it
  | 'retry-later' // it certainly had no effect and may go again
  | 'look-later' // whether it had an effect is not known yet
  | 'succeeded'
  | 'refused' // the API refused it for good
  | 'conflicted'
  | 'undecidable' // no proof either way
  | 'too-late' // expires_at, or a pending rental that is gone
  | 'cause-failed' // what it builds on did not succeed
  | 'cause-done'
  | 'canceled'
  | 'retried' // a person asks for it
  | 'resolved-done' // a person says it took effect
  | 'resolved-again' // a person says it did not, or decides a conflict

const moves: Readonly<Record<Status, Partial<Readonly<Record<Event, Status>>>>> = {
  queued: { claimed: 'sending', 'too-late': 'expired', 'cause-failed': 'blocked', canceled: 'canceled' },
  sending: {
    // The lease of a dead pusher ran out: whoever claims it reconciles.
    claimed: 'sending',
    'retry-later': 'queued',
    'look-later': 'sending',
    succeeded: 'done',
    refused: 'failed',
    conflicted: 'conflict',
    undecidable: 'unknown',
    'too-late': 'expired',
  },
  blocked: { 'cause-done': 'queued', 'too-late': 'expired', canceled: 'canceled' },
  failed: { retried: 'queued', canceled: 'canceled' },
  expired: { retried: 'queued', canceled: 'canceled' },
  canceled: { retried: 'queued' },
  conflict: { retried: 'queued', 'resolved-again': 'queued', 'resolved-done': 'done', canceled: 'canceled' },
  unknown: { 'resolved-done': 'done', 'resolved-again': 'queued' },
  done: {},
}

/** The state after an event, or null when that cannot happen to a change in this state. */
export const transition = (from: Status, event: Event): Status | null => moves[from][event] ?? null

/** The states from which an event may happen: what the SQL of a move must ask for. */
export const statesBefore = (event: Event): readonly Status[] => statuses.filter((status) => moves[status][event])

/** Settled: nothing happens any more without a person (or, for `blocked`, without its cause). */
export const isSettled = (status: Status): boolean =>
  status !== 'queued' && status !== 'sending' && status !== 'blocked'

/** States that keep later changes of the same aggregate waiting. */
export const holdsAggregate = (status: Status): boolean =>
  status === 'queued' || status === 'sending' || status === 'conflict' || status === 'unknown'

/** States in which what refers to a change cannot go on. */
export const blocksDependants = (status: Status): boolean =>
  status === 'failed' || status === 'expired' || status === 'canceled' || status === 'blocked'

/** States a person has to look at: `push` ends with exit code 3 while one is left. */
export const needsPerson = (status: Status): boolean => status === 'conflict' || status === 'unknown'
