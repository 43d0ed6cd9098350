// The numbered migrations, listed by hand, in order. One that has landed is never edited.

import type { Kysely, Migration } from 'kysely'
import * as sync from './0001_sync.ts'
import * as mirror from './0002_mirror.ts'
import * as changeLog from './0002_mirror_change_log.ts'
import * as outbox from './0003_outbox.ts'
import * as reports from './0004_reports.ts'
import * as traffic from './0005_traffic.ts'
import * as outboxSeen from './0006_outbox_seen.ts'
import * as outboxVisibility from './0007_outbox_visibility.ts'
import * as changeLogWhole from './0008_change_log_whole.ts'
import * as consumers from './0009_consumers.ts'
import * as hotRuns from './0010_hot_runs.ts'
import * as listPages from './0011_list_pages.ts'
import * as reads from './0012_reads.ts'
import * as unexpectedChanges from './0013_unexpected_changes.ts'
import * as senders from './0014_senders.ts'
import * as detailTags from './0015_detail_tags.ts'
import * as refreshes from './0016_refreshes.ts'
import * as live from './0017_live.ts'
import * as workers from './0018_workers.ts'
import * as turns from './0019_turns.ts'
import * as sweepRanges from './0020_sweep_ranges.ts'
import * as alerts from './0021_alerts.ts'
import * as rowChanges from './0022_row_changes.ts'
import * as autovacuum from './0023_autovacuum.ts'
import * as runningRuns from './0024_running_runs.ts'
import * as portions from './0025_portions.ts'
import * as companyAccess from './0026_company_access.ts'
import * as logSender from './0027_log_sender.ts'
import * as statusSince from './0028_status_since.ts'
import * as requestBudget from './0029_request_budget.ts'
import * as changeLogMonths from './0030_change_log_months.ts'
import * as statusAtSize from './0031_status_at_size.ts'
import * as indexOfUnsettled from './0032_index_of_unsettled.ts'
import * as dueByIndex from './0033_due_by_index.ts'

/** One that would keep others waiting for long does its longest work before the transaction of all. */
type PreparedMigration = Migration & {
  /** Each is a transaction of its own, and may find its work done. */
  readonly prepare?: readonly ((db: Kysely<unknown>) => Promise<void>)[]
  /** After a transaction of all that failed. */
  readonly takeBack?: (db: Kysely<unknown>) => Promise<void>
}

export const migrations: Readonly<Record<string, PreparedMigration>> = {
  '0001_sync': sync,
  '0002_mirror': mirror,
  '0002_mirror_change_log': changeLog,
  '0003_outbox': outbox,
  '0004_reports': reports,
  '0005_traffic': traffic,
  '0006_outbox_seen': outboxSeen,
  '0007_outbox_visibility': outboxVisibility,
  '0008_change_log_whole': changeLogWhole,
  '0009_consumers': consumers,
  '0010_hot_runs': hotRuns,
  '0011_list_pages': listPages,
  '0012_reads': reads,
  '0013_unexpected_changes': unexpectedChanges,
  '0014_senders': senders,
  '0015_detail_tags': detailTags,
  '0016_refreshes': refreshes,
  '0017_live': live,
  '0018_workers': workers,
  '0019_turns': turns,
  '0020_sweep_ranges': sweepRanges,
  '0021_alerts': alerts,
  '0022_row_changes': rowChanges,
  '0023_autovacuum': autovacuum,
  '0024_running_runs': runningRuns,
  '0025_portions': portions,
  '0026_company_access': companyAccess,
  '0027_log_sender': logSender,
  '0028_status_since': statusSince,
  '0029_request_budget': requestBudget,
  '0030_change_log_months': changeLogMonths,
  '0031_status_at_size': statusAtSize,
  '0032_index_of_unsettled': indexOfUnsettled,
  '0033_due_by_index': dueByIndex,
}
