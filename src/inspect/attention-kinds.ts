// What may need a person. Alerts, pages and `status` speak of the same.

/** Everything that may need a person, the most urgent first. */
export const attentionKinds = [
  'credentials',
  'breaker',
  'quota',
  'failing',
  'late',
  'held',
  'feed',
  'consumer',
  'webhook',
  'conflict',
  'unknown',
  'failed',
  'overlap',
  'quarantine',
  'fields',
] as const

export type AttentionKind = (typeof attentionKinds)[number]
