// What a sync needs from outside, as the smallest interfaces that do.

import type { Api } from '../api/client.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Logger } from '../log.ts'

export type SyncSettings = Pick<
  Config,
  | 'timeZone'
  | 'detailMaxAgeMs'
  | 'deleteLimit'
  | 'mirrorDocuments'
  | 'calendarYears'
  | 'priceDays'
  | 'slotDays'
  | 'slotDurations'
> & { readonly api: Pick<Config['api'], 'paging' | 'lists' | 'concurrency'> }

export type SyncContext = {
  readonly database: Database
  readonly api: Api
  /** The database's clock: `_read_at` and leases are on it. */
  readonly clock: Clock
  readonly log: Logger
  readonly settings: SyncSettings
  /** Called after a commit that wrote to the mirror. */
  readonly onCommit: (written: number) => void
  /** Called with tasks that were just added, so that a worker looks at them at once. */
  readonly onTasks: () => void
}
