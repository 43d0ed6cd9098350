// The kinds of conditions that need attention, with their texts for alerts, pages and `status`. The rules in deploy/prometheus have the
// same names.

type Kind = {
  /** In the verdict, after a colon; `names`: its streams, if it is about streams. */
  readonly phrase: (names: string) => string
  /** In an alert, after the names of its subjects. */
  readonly title: string
  /** It keeps the mirror, or a part of it, from being read. */
  readonly isGrave?: true
}

/** Every kind, the most urgent first. */
export const kinds = {
  copied: {
    phrase: () => 'this database is a copy, and its queued changes wait',
    title: 'the database is a copy: decide about the changes that were queued before',
  },
  credentials: {
    phrase: () => 'the API refuses the credentials',
    title: 'the API refuses the credentials (401)',
    isGrave: true,
  },
  breaker: {
    phrase: () => 'the API keeps failing',
    title: 'the API does not answer: requests wait, except one probe at a time',
    isGrave: true,
  },
  quota: {
    phrase: () => 'API_QUOTA is running low or is too small',
    title: 'API_QUOTA is used up or too small: check what waits for it',
  },
  failing: {
    phrase: (names) => `runs of ${names} fail`,
    title: 'the last run did not read everything',
    isGrave: true,
  },
  late: {
    phrase: (names) => `${names} missed the freshness target`,
    title: 'older than the target',
  },
  held: {
    phrase: (names) => `deletes in ${names} are on hold`,
    title: 'deletions wait for your decision',
  },
  feed: {
    phrase: () => 'an open transaction blocks the change feed',
    title: 'an open transaction holds the change feed back',
  },
  consumer: {
    phrase: () => 'a consumer of the change feed is too far behind',
    title: 'a consumer of the change feed is about to lose changes, or has lost some',
  },
  role: {
    phrase: () => 'a role is gone that owns changes or consumers',
    title: 'a role is gone that owns changes or consumers: hand over what it left',
  },
  webhook: {
    phrase: () => 'the webhook receiver accepts nothing',
    title: 'the receiver of the webhook does not accept calls',
  },
  conflict: {
    phrase: () => 'changes are in conflict with the API',
    title: 'changes conflict with values in the API: decide which to keep',
  },
  unknown: {
    phrase: () => 'changes have an unknown outcome',
    title: 'changes may or may not have taken effect in the API',
  },
  failed: {
    phrase: () => 'the API refused changes',
    title: 'changes were refused by the API',
  },
  overlap: {
    phrase: () => 'boats are booked twice at the same time',
    title: 'a boat is booked twice at the same time',
  },
  arrival: {
    phrase: () => 'rentals have no arrival',
    title: 'rentals have no arrival: what they overlap with is not known',
  },
  quarantine: {
    phrase: () => 'records are in quarantine',
    title: 'records cannot be mirrored',
  },
  fields: {
    phrase: () => 'the API shows new fields',
    title: 'the API returns fields that this version does not know: they are kept in _payload',
  },
} as const satisfies Record<string, Kind>

export type AttentionKind = keyof typeof kinds

/** The kinds of alerts: also conditions that only a running worker notices. */
export const alertKinds = {
  database: { title: 'a worker cannot reach its database' },
  queue: { title: 'a worker has no queue: it works without one, more slowly' },
  ...kinds,
} as const

export type AlertKind = keyof typeof alertKinds

export const isAlertKind = (kind: string): kind is AlertKind => Object.hasOwn(alertKinds, kind)

export const isGrave = ({ kind }: { readonly kind: AttentionKind }): boolean => 'isGrave' in kinds[kind]
