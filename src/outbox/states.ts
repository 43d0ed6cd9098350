// The states of a change and the moves between them. The lists of states in SQL and the diagram in docs/outbox.md are made from this
// table. Pure.

/** Events of a change, with their texts in the diagram. */
const events = {
  claimed: 'claimed',
  'retry-later': 'certainly no effect',
  'verify-later': 'answer lost',
  succeeded: 'took effect, read back',
  refused: 'refused for good',
  conflicted: 'both sides changed a field',
  undecidable: 'cannot be verified',
  'too-late': 'too late',
  'cause-failed': 'what it needs failed',
  'cause-done': 'what it needs is done',
  canceled: 'cancel',
  retried: 'retry',
  'resolved-done': 'resolved as done',
  'resolved-again': 'resolved to be sent',
} as const

export type Event = keyof typeof events

export type Status =
  | 'queued'
  | 'sending'
  | 'done'
  | 'failed'
  | 'conflict'
  | 'expired'
  | 'canceled'
  | 'unknown'
  | 'blocked'

type State = {
  /** `open`: it continues on its own; `person`: needs a decision; `final`: nothing follows unless it is requested. */
  readonly phase: 'open' | 'person' | 'final'
  /** Later changes of the same aggregate wait. */
  readonly holds: boolean
  /** Changes that refer to it cannot continue. */
  readonly dead: boolean
  /** The state after each event that may happen. */
  readonly moves: Partial<Readonly<Record<Event, Status>>>
}

const states: Readonly<Record<Status, State>> = {
  queued: {
    phase: 'open',
    holds: true,
    dead: false,
    moves: { claimed: 'sending', 'too-late': 'expired', 'cause-failed': 'blocked', canceled: 'canceled' },
  },
  sending: {
    phase: 'open',
    holds: true,
    dead: false,
    moves: {
      claimed: 'sending', // the lease of a dead pusher ran out: the next owner verifies the effect
      'retry-later': 'queued',
      'verify-later': 'sending',
      succeeded: 'done',
      refused: 'failed',
      conflicted: 'conflict',
      undecidable: 'unknown',
      'too-late': 'expired',
    },
  },
  done: { phase: 'final', holds: false, dead: false, moves: {} },
  failed: { phase: 'final', holds: false, dead: true, moves: { retried: 'queued', canceled: 'canceled' } },
  conflict: {
    phase: 'person',
    holds: true,
    dead: false,
    moves: { retried: 'queued', 'resolved-again': 'queued', 'resolved-done': 'done', canceled: 'canceled' },
  },
  expired: { phase: 'final', holds: false, dead: true, moves: { retried: 'queued', canceled: 'canceled' } },
  canceled: { phase: 'final', holds: false, dead: true, moves: { retried: 'queued' } },
  unknown: {
    phase: 'person',
    holds: true,
    dead: false,
    moves: { 'resolved-done': 'done', 'resolved-again': 'queued' },
  },
  blocked: {
    phase: 'open',
    holds: false,
    dead: true,
    moves: { 'cause-done': 'queued', 'too-late': 'expired', canceled: 'canceled' },
  },
}

/** Every state, in the order in which they are shown. */
export const statuses = Object.keys(states) as readonly Status[]

/** The state after an event, or null when that cannot happen to a change in this state. */
export const transition = (from: Status, event: Event): Status | null => states[from].moves[event] ?? null

/** The states in which an event may happen, which the SQL of a move must check. */
export const statesBefore = (event: Event): readonly Status[] =>
  statuses.filter((status) => transition(status, event) !== null)

const where = (fits: (state: State) => boolean): readonly Status[] => statuses.filter((status) => fits(states[status]))

/** Sets of states for conditions in TypeScript and SQL. */
export const stateSets = {
  /** A pusher may claim it: for the first time, or because its outcome is unknown. */
  claimable: statesBefore('claimed'),
  /** It was not dispatched, but may be. */
  waiting: where(({ phase }) => phase === 'open').filter((status) => transition(status, 'canceled') !== null),
  holding: where(({ holds }) => holds),
  dead: where(({ dead }) => dead),
  person: where(({ phase }) => phase === 'person'),
  final: where(({ phase }) => phase === 'final'),
  unsettled: where(({ phase }) => phase !== 'final'),
} as const

/** A condition of SQL: `column in ('queued', …)`, with the states of a set. */
export const inStates = (column: string, set: keyof typeof stateSets): string => `${column} in (${listOf(set)})`

/** SQL: not settled, in the form of the index `queue_unsettled`, which must not be used to look up one change or aggregate. */
export const isUnsettled = (column: string): string =>
  `case when ${inStates(column, 'unsettled')} then true else false end`

const listOf = (set: keyof typeof stateSets): string => stateSets[set].map((status) => `'${status}'`).join(', ')

/** SQL: the partners whose role is gone. Its changes wait. */
const isGone = 'not exists (select from pg_catalog.pg_roles r where r.oid = p.role)'
export const goneRoles = `select p.partner from sync.partners p where ${isGone}`

/** SQL: why a change waits if its role is gone; null: the role exists. */
export const roleMissing = (alias: string): string => `(select format(
    'Held: role %1$I %2$s. Hand over what it left: boat-mirror access hand-over %1$I ROLE; or cancel the change: boat-mirror changes cancel %3$s.',
    p.name, case when p.role is null and p.gone_at is null then 'does not exist; create it' else 'is gone' end, ${alias}.id)
  from sync.partners p where p.partner = ${alias}.enqueued_by and ${isGone})`

/** For the placeholders of a `.sql` file: the states of each set, as `'queued', …`. */
export const stateLists = <S extends keyof typeof stateSets>(...sets: readonly S[]): Readonly<Record<S, string>> =>
  Object.fromEntries(sets.map((set) => [set, listOf(set)])) as Record<S, string>

/** The table as a Mermaid diagram; docs/outbox.md contains the same text. */
export function stateDiagram(): string {
  const arrows = statuses.flatMap((from) =>
    [...new Set(Object.values(states[from].moves))].map((to) => {
      const causes = Object.entries(states[from].moves).filter(([, after]) => after === to)
      return `  ${from} --> ${to}: ${causes.map(([event]) => events[event as Event]).join(' or ')}`
    }),
  )
  return ['stateDiagram-v2', '  [*] --> queued: enqueue', ...arrows, '  done --> [*]'].join('\n')
}
