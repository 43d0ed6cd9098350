// The facts of a healthy mirror, except for what a test changes.

import type { StatusFacts } from '../../src/inspect/status.ts'

export const statusFacts = (wishes: Partial<StatusFacts> = {}): StatusFacts => ({
  api: { url: 'https://api.test', sandbox: false, breaker: 'closed', pausedUntil: null, nextProbeAt: null },
  database: { url: 'postgres://db/mirror', version: '16.4', size: 3_145_728, embedded: false },
  queue: { backend: 'postgres', url: null },
  quota: null,
  workers: [],
  lastWorkerAt: null,
  streams: [],
  freshnessHistory: { days: [], streams: [] },
  backlog: null,
  estimate: { requestsMade: 0, requestsLeft: 0, perSecond: null, secondsLeft: 0 },
  endpoints: [],
  reads: [],
  outbox: { oldestQueuedAt: null },
  copied: null,
  firstChanges: {},
  settledSince: {},
  unexpected: [],
  failingHotRuns: [],
  quarantine: { total: 0, since: null, byStream: {} },
  heldRuns: [],
  overlaps: { rentals: 0, boats: 0 },
  feedHeldBy: [],
  consumers: [],
  webhook: null,
  alerts: null,
  unknownFields: [],
  attention: [],
  ...wishes,
})
