// What the pages need from outside. They know no queue, no command line and no API: whoever starts them hands these in.

import type { Config } from '../config.ts'
import type { ApiError } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Database } from '../mirror/database.ts'
import type { EndpointFacts, StreamFacts } from './queries.ts'

/** What the pages read of `status --json`; /api/status shows it whole. */
export type StatusView = {
  readonly api: {
    readonly url: string
    readonly sandbox: boolean
    readonly breaker: 'closed' | 'open'
    readonly pausedUntil: Date | null
    readonly nextProbeAt: Date | null
  }
  readonly database: {
    readonly url: string
    readonly version: string
    readonly size: number
    readonly embedded: boolean
  }
  readonly queue: { readonly backend: 'redis' | 'postgres'; readonly url: string | null }
  readonly streams: readonly StreamFacts[]
  readonly endpoints: readonly EndpointFacts[]
  readonly outbox: Readonly<Record<string, number | Date | null>>
  readonly quarantine: { readonly total: number; readonly byStream: Readonly<Record<string, number>> }
  readonly heldRuns: readonly { readonly id: number; readonly stream: string; readonly held: number }[]
  readonly unknownFields: readonly { readonly stream: string; readonly path: string }[]
}

/** One call of the API, as its client tells of it. */
export type ObservedCall = {
  /** Method and path template. */
  readonly endpoint: string
  /** null: no answer came. */
  readonly status: number | null
  readonly startedAt: Date
  readonly ms: number
  /** Decoded size of the answer. */
  readonly bytes: number
  readonly error: ApiError | null
}

/** 404 and 410 are answers (an optional document, a record that is gone), not failures. */
export const isFailure = ({ status, error }: ObservedCall): boolean =>
  error !== null && status !== 404 && status !== 410

export type OperatorContext = {
  readonly config: Pick<Config, 'host' | 'port' | 'adminToken' | 'timeZone'>
  readonly log: Logger
  readonly database: Database
  /** What `status --json` prints. */
  readStatus(): Promise<StatusView>
  /** Tells of each call of the API in this process. */
  onCall(listener: (call: ObservedCall) => void): void
  readonly queue: {
    /** Is the backend there? @throws BoatMirrorError QUEUE_* */
    ping(): Promise<void>
    /** Opens a BullMQ queue that has answered. */
    openQueue(name: string): Promise<{ close(): Promise<void> }>
  }
  readonly queueNames: readonly string[]
  readonly version: string
}
