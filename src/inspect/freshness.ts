// Is a stream as fresh as it should be? Pure. The view report.freshness says the same in SQL; a test compares the two.

import { findStream } from '../catalog/catalog.ts'
import type { RunStatus } from '../state/runs.ts'

/**
 * `failing`: the last run that ended did not read everything. `unknown`: never read completely, or nothing to measure by.
 * `late`: older than the target. `fresh`: everything older than the target is in the mirror.
 */
export type Freshness = 'fresh' | 'late' | 'unknown' | 'failing'

export type FreshnessState = {
  /** Everything older than this upstream is in the mirror; null: never read completely. */
  readonly asOf: Date | null
  /** The configured target in seconds, if there is one. */
  readonly targetS: number | null
  /** The effective interval in seconds; null: not on the schedule. */
  readonly intervalS: number | null
  /** How the last run that ended did so; null: none yet. */
  readonly lastRunStatus: RunStatus | null
}

/** Effective intervals that a stream may be old where no target is configured: one run may be missed, and one be slow. */
const intervalsAllowed = 3

/** How old a stream may be, in seconds; null: it is not on the schedule and has no target. */
export function freshnessTarget({ targetS, intervalS }: Pick<FreshnessState, 'targetS' | 'intervalS'>): number | null {
  return targetS ?? (intervalS === null ? null : intervalS * intervalsAllowed)
}

/** The one rule for status, page, readiness and metrics. `now` is the database's clock. */
export function freshness(state: FreshnessState, now: Date): Freshness {
  if (state.lastRunStatus === 'failed' || state.lastRunStatus === 'partial') return 'failing'
  const target = freshnessTarget(state)
  if (state.asOf === null || target === null) return 'unknown'
  return now.getTime() - state.asOf.getTime() > target * 1_000 ? 'late' : 'fresh'
}

/**
 * The stream on whose schedule this one is read: its own, or the parent's where it comes inside the parent's record. One
 * that the catalog does not know (a row that another version left) has its own.
 */
export function scheduledStream(name: string): string {
  const stream = findStream(name)
  return stream?.reads.kind === 'inside' && stream.parent !== undefined ? stream.parent : name
}
