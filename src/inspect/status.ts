// The state of a mirror at one moment, as `status --json` and /api/status show it in full.

import type { WorkerStatus } from '../database/presence.ts'
import type { RepeatingRead } from '../sync/due/reads.ts'
import type { FailingHotRuns, UnexpectedShare } from '../sync/due/stream-state.ts'
import type { HeldRun } from '../sync/runs/sweeps.ts'
import type { ListedField } from '../sync/unknown-fields.ts'
import type { AttentionKind } from './attention-kinds.ts'
import type { EndpointFacts } from './calls.ts'
import type { Estimate } from './estimate.ts'
import type { ConsumerStatus, FeedHolder, GoneRole } from './feed.ts'
import type { QuotaStatus } from './quota.ts'
import type { AlertsStatus, WebhookStatus } from './receivers.ts'
import type { Overlaps, RentalDoubts } from './report-queries.ts'
import type { Backlog } from './runs.ts'
import type { FreshnessHistory, StreamStatus } from './streams.ts'

/** A condition that needs attention, with commands that can be typed unchanged. */
export type AttentionItem = {
  readonly kind: AttentionKind
  /** If it is about exactly one stream. */
  readonly stream?: string
  /** The run or the change that the commands name. */
  readonly id?: number
  readonly since: Date | null
  /** Names of what it is about: streams, consumers, fields; none: it is about the mirror as a whole. */
  readonly about: readonly string[]
  readonly message: string
  readonly commands: readonly string[]
}

export type StatusFacts = {
  readonly api: {
    readonly url: string
    /** True when it is the built-in sandbox. */
    readonly sandbox: boolean
    /** The API that filled this mirror: its address, or `sandbox`; null: it is empty, or an earlier version filled it. */
    readonly mirrored: string | null
    /** `open`: the API failed so often that requests wait, except for one probe at a time. */
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
    /** How its rules for TIME_ZONE differ from those of Node; null: not in this year or the next. */
    readonly zones: string | null
  }
  /** Use of API_QUOTA; null: it is not set. */
  readonly quota: QuotaStatus | null
  readonly queue: { readonly backend: 'redis' | 'postgres'; readonly url: string | null }
  readonly workers: readonly WorkerStatus[]
  /** When a worker last reported; null: never. */
  readonly lastWorkerAt: Date | null
  readonly streams: readonly StreamStatus[]
  /** How long the streams met their targets. report.freshness_history has every day of each. */
  readonly freshnessHistory: FreshnessHistory
  /** Progress of the present runs; null: none runs. */
  readonly backlog: Backlog | null
  /** What is left of the open syncs. */
  readonly estimate: Estimate
  readonly endpoints: readonly EndpointFacts[]
  /** Redundant reads, and whether they are skipped. */
  readonly reads: readonly RepeatingRead[]
  readonly outbox: Readonly<Record<string, number | Date | null>>
  /** Unsettled changes from before this database became a copy; null: none. */
  readonly copied: { readonly changes: number; readonly since: Date } | null
  /** The oldest change in each state, by its id; states without changes are missing. */
  readonly firstChanges: Readonly<Record<string, number>>
  /** Since when each settled state has a change; states without changes are missing. */
  readonly settledSince: Readonly<Record<string, Date>>
  /** Streams that change more often than expected, with the share of these reads. They are read more often. */
  readonly unexpected: readonly UnexpectedShare[]
  /** Streams whose last hot runs all failed. */
  readonly failingHotRuns: readonly FailingHotRuns[]
  readonly quarantine: {
    readonly total: number
    /** When the oldest entry was first seen; null: there is none. */
    readonly since: Date | null
    readonly byStream: Readonly<Record<string, number>>
  }
  readonly heldRuns: readonly HeldRun[]
  /** Double bookings that have not ended. report.overlaps has each. */
  readonly overlaps: Overlaps
  readonly rentalDoubts: RentalDoubts
  /** Transactions that hold the change feed back for longer than a minute, the oldest first. */
  readonly feedHeldBy: readonly FeedHolder[]
  readonly consumers: readonly ConsumerStatus[]
  /** Roles that are gone and left changes or consumers. */
  readonly goneRoles: readonly GoneRole[]
  /** null: WEBHOOK_URL is not set. */
  readonly webhook: WebhookStatus | null
  /** null: ALERT_URL is not set. */
  readonly alerts: AlertsStatus | null
  readonly unknownFields: readonly ListedField[]
  /** The conditions that need attention, the most urgent first. */
  readonly attention: readonly AttentionItem[]
}
