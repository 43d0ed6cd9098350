// What is known of a mirror at one moment, as `status --json` and /api/status show it whole.

import type { RepeatingRead } from '../state/reads.ts'
import type { UnexpectedShare } from '../state/stream-state.ts'
import type { HeldRun } from '../state/sweeps.ts'
import type { ListedField } from '../state/unknown-fields.ts'
import type { ConsumerStatus } from './consumers.ts'
import type { Estimate } from './estimate.ts'
import type { FeedHolder } from './feed-holders.ts'
import type { Backlog, EndpointFacts, StreamStatus } from './queries.ts'

export type StatusFacts = {
  readonly api: {
    readonly url: string
    /** True when it is the built-in sandbox. */
    readonly sandbox: boolean
    /** `open`: the API failed so often that requests wait, but for one probe at a time. */
    readonly breaker: 'closed' | 'open'
    /** The API asked to wait until then. */
    readonly pausedUntil: Date | null
    readonly nextProbeAt: Date | null
  }
  readonly database: {
    /** Without its password. */
    readonly url: string
    readonly version: string
    /** Bytes. */
    readonly size: number
    readonly embedded: boolean
  }
  readonly queue: { readonly backend: 'redis' | 'postgres'; readonly url: string | null }
  readonly streams: readonly StreamStatus[]
  /** How far the present runs are; null: none runs. */
  readonly backlog: Backlog | null
  /** What is left of the open syncs, and how long that takes. */
  readonly estimate: Estimate
  readonly endpoints: readonly EndpointFacts[]
  /** Reads that repeat others, and whether they are left out. */
  readonly reads: readonly RepeatingRead[]
  readonly outbox: Readonly<Record<string, number | Date | null>>
  /** The oldest change in each state, by its id; states without changes left out. */
  readonly firstChanges: Readonly<Record<string, number>>
  /** Streams that change more often than they are made due, with that share of their reads: they are read oftener. */
  readonly unexpected: readonly UnexpectedShare[]
  readonly quarantine: { readonly total: number; readonly byStream: Readonly<Record<string, number>> }
  readonly heldRuns: readonly HeldRun[]
  /** Transactions that hold the change feed back for longer than a minute, the oldest first. */
  readonly feedHeldBy: readonly FeedHolder[]
  readonly consumers: readonly ConsumerStatus[]
  readonly unknownFields: readonly ListedField[]
}

/** Was this endpoint ever answered with success? */
export const wasAnswered = ({ calls, failures }: EndpointFacts): boolean => calls > failures

/** Did the last call of this endpoint fail? 404 and 410 are answers. */
export const isFailing = ({ calls, lastStatus }: EndpointFacts): boolean =>
  calls > 0 && (lastStatus === null || (lastStatus >= 400 && lastStatus !== 404 && lastStatus !== 410))
