// The kinds of conditions that need attention. Alerts, pages and `status` use the same.

/** Every kind of condition that needs attention, the most urgent first. */
export const attentionKinds = [
  'copied',
  'credentials',
  'breaker',
  'quota',
  'failing',
  'late',
  'held',
  'feed',
  'consumer',
  'role',
  'webhook',
  'conflict',
  'unknown',
  'failed',
  'overlap',
  'arrival',
  'quarantine',
  'fields',
] as const

export type AttentionKind = (typeof attentionKinds)[number]
