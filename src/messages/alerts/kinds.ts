// The kinds of alerts: all conditions that need attention, and those that only a running worker notices. The rules in
// deploy/prometheus name the same kinds.

import { attentionKinds } from '../../inspect/attention-kinds.ts'

export const alertKinds = ['database', 'queue', ...attentionKinds] as const

export type AlertKind = (typeof alertKinds)[number]

/** The condition, in a few words that follow the names of its subjects. */
export const titles: Readonly<Record<AlertKind, string>> = {
  database: 'a worker cannot reach its database',
  queue: 'a worker has no queue: it works without one, more slowly',
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
}
