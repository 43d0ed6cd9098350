// What pushing needs from outside, and its settings.

import type { Api } from '../api/types.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Logger } from '../log.ts'
import type { Privacy } from '../privacy/privacy.ts'
import type { ShowDelay } from './show-delay.ts'

export type PushSettings = Pick<Config, 'timeZone' | 'mirrorDocuments'> & {
  readonly api: Pick<Config['api'], 'baseUrl' | 'paging' | 'timeoutMs' | 'concurrency' | 'referenceAsNumber' | 'quota'>
  /** Milliseconds that a claim lasts without a heartbeat. Then another pusher may claim its changes. */
  readonly leaseMs?: number
}

export type PushContext = {
  readonly database: Database
  readonly api: Api
  /** The database's clock: `_read_at` and `sent_at` are on it. */
  readonly clock: Clock
  readonly log: Logger
  readonly settings: PushSettings
  /** Which personal data is stored; missing: all. `api` returns clear values, because records to write back must be complete. */
  readonly privacy?: Privacy
  /** How long the API needs to show a write. */
  readonly showDelay: ShowDelay
  /** Reads must bypass caches in front of the API. */
  readonly fresh?: boolean
  /** Called after a commit that wrote to the mirror. */
  readonly onCommit?: (written: number) => void
}

/** 10,000 ms, renewed every 3 s: a lost answer is verified within 15 s. */
export const leaseMs = (settings: PushSettings): number => settings.leaseMs ?? 10_000
