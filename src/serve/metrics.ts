// What is counted of served requests, for Prometheus: labels are endpoint templates and states, never ids.

import { Counter, Histogram, Registry } from 'prom-client'

export type ServeMetrics = {
  readonly registry: Registry
  /** Counts one answer. `ageMs`: how old what it says is; null: it says nothing of the mirror. */
  answered(answer: {
    readonly route: string
    readonly status: number
    readonly ms: number
    readonly ageMs: number | null
  }): void
}

const ages = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400]

/** Counters of one process, in a separate registry. */
export function createServeMetrics(): ServeMetrics {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Counter({
    name: 'boat_mirror_serve_requests_total',
    help: 'Served requests by route and status.',
    labelNames: ['route', 'status'],
    registers,
  })
  const seconds = new Histogram({
    name: 'boat_mirror_serve_request_duration_seconds',
    help: 'Time from a request to its answer.',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30],
    registers,
  })
  const age = new Histogram({
    name: 'boat_mirror_serve_age_seconds',
    help: 'Age of what was served.',
    labelNames: ['route'],
    buckets: ages,
    registers,
  })
  return {
    registry,
    answered: ({ route, status, ms, ageMs }) => {
      requests.inc({ route, status: String(status) })
      seconds.observe({ route }, ms / 1_000)
      if (ageMs !== null) age.observe({ route }, ageMs / 1_000)
    },
  }
}
