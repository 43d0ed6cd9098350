// Sends reads to a server for some seconds, in a process of its own: as many as it answers, or so many a second.

import autocannon from 'autocannon'
import { options, tell } from './measure.ts'

export type LoadOptions = {
  readonly url: string
  readonly token: string
  /** What is read, in an order of its own on each connection. */
  readonly paths: readonly string[]
  readonly connections: number
  readonly seconds: number
  /** Requests a second over all connections; null: as many as are answered. */
  readonly perSecond: number | null
}

export type LoadResult = {
  readonly perSecond: number
  /** 99th percentile of the times from the moment a request is due to its answer, in milliseconds. */
  readonly p99: number
  /** Answers that are no 200, and requests without one. */
  readonly failed: number
}

const { url, token, paths, connections, seconds, perSecond } = options<LoadOptions>()

function shuffled<T>(values: readonly T[]): T[] {
  const all = [...values]
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1))
    const kept = all[last] as T
    all[last] = all[other] as T
    all[other] = kept
  }
  return all
}

const result = await autocannon({
  ...{ url, connections, duration: seconds },
  headers: { authorization: `Bearer ${token}` },
  setupClient: (client) => client.setRequests(shuffled(paths).map((path) => ({ method: 'GET', path }))),
  ...(perSecond !== null && { overallRate: perSecond }),
})
tell({
  perSecond: result.requests.total / result.duration,
  p99: result.latency.p99,
  failed: result.non2xx + result.errors + result.timeouts,
} satisfies LoadResult)
