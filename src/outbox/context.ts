// What pushing needs from outside, and the numbers that govern it.

import type { Api } from '../api/types.ts'
import type { Json } from '../api/wire/json.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Logger } from '../log.ts'
import type { Row } from '../mirror/rows.ts'
import type { Privacy } from '../privacy/privacy.ts'
import { createShowDelay, type ShowDelay } from './show-delay.ts'

export type PushSettings = Pick<Config, 'timeZone' | 'mirrorDocuments'> & {
  readonly api: Pick<Config['api'], 'baseUrl' | 'paging' | 'timeoutMs' | 'concurrency' | 'referenceAsNumber' | 'quota'>
  /** How long the API is assumed to take to show what it did, in milliseconds, instead of 5 s. */
  readonly showDelayMs?: number
  /**
   * How long a claim lasts without a heartbeat, in milliseconds; then another pusher may claim the changes of a dead one.
   */
  readonly leaseMs?: number
}

/** Turns a record into its row, or the reason why it cannot: `projectRecord` of the sync, a layer beside this one. */
type ProjectRecord = (
  stream: StreamDef,
  record: Json,
  request: Readonly<Record<string, string | null>>,
  timeZone: string,
) => { readonly ok: true; readonly row: Row } | { readonly ok: false; readonly reason: string }

export type PushContext = {
  readonly database: Database
  readonly api: Api
  /** The database's clock: `_read_at` and `sent_at` are on it. */
  readonly clock: Clock
  readonly log: Logger
  readonly settings: PushSettings
  readonly project: ProjectRecord
  /**
   * Which personal data is stored; missing: all of it. `api` returns clear values: records to write back must be
   * complete.
   */
  readonly privacy?: Privacy
  /** How long the API needs to show a write; a pusher passes an instance that learns. */
  readonly showDelay?: ShowDelay
  /** A monotonic clock, in milliseconds; missing: that of the process. */
  readonly steadyMs?: () => number
  /** Reads must bypass caches in front of the API. */
  readonly fresh?: boolean
  /** Called after a commit that wrote to the mirror. */
  readonly onCommit?: (written: number) => void
}

/** The show delay of a pusher, or one with the assumed delay. */
export const showDelayOf = ({
  showDelay,
  settings,
  steadyMs,
}: Pick<PushContext, 'showDelay' | 'settings' | 'steadyMs'>): ShowDelay =>
  showDelay ?? createShowDelay(settings.showDelayMs, steadyMs)

/** 10_000 ms, renewed each 3 s: a lost answer is verified within 15 s. */
export const leaseMs = (settings: PushSettings): number => settings.leaseMs ?? 10_000
