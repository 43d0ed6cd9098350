// The kinds of conditions that need attention, with their texts for alerts, pages and `status`. The rules in deploy/prometheus have the
// same names.

/** Every kind, the most urgent first: its title in an alert, after the names of its subjects. The verdict cuts it at a colon. */
export const kinds = {
  copied: 'the database is a copy: decide about the changes that were queued before',
  credentials: 'the API refuses the credentials (401)',
  breaker: 'the API does not answer: requests wait, except one probe at a time',
  quota: 'API_QUOTA is used up or too small: check what waits for it',
  failing: 'the last run did not read everything',
  late: 'older than the target',
  held: 'deletions wait for your decision',
  feed: 'an open transaction holds the change feed back',
  consumer: 'a consumer of the change feed is about to lose changes, or has lost some',
  role: 'a role is gone that owns changes or consumers: hand over what it left',
  webhook: 'the receiver of the webhook does not accept calls',
  conflict: 'changes conflict with values in the API: decide which to keep',
  unknown: 'changes may or may not have taken effect in the API',
  failed: 'changes were refused by the API',
  overlap: 'a boat is booked twice at the same time',
  arrival: 'rentals have no arrival: what they overlap with is not known',
  quarantine: 'records cannot be mirrored',
  fields: 'the API returns fields that this version does not know: they are kept in _payload',
} as const

export type AttentionKind = keyof typeof kinds

/** The kinds of alerts: also conditions that only a running worker notices. */
export const alertKinds = {
  database: 'a worker cannot reach its database',
  queue: 'a worker has no queue: it works without one, more slowly',
  ...kinds,
} as const

export type AlertKind = keyof typeof alertKinds

export const isAlertKind = (kind: string): kind is AlertKind => Object.hasOwn(alertKinds, kind)

/** What keeps the mirror, or a part of it, from being read. */
const grave: readonly AttentionKind[] = ['credentials', 'breaker', 'failing']

export const isGrave = ({ kind }: { readonly kind: AttentionKind }): boolean => grave.includes(kind)
