// The numbered migrations, listed by hand, in order. One that has landed is never edited.

import type { Migration } from 'kysely'
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

export const migrations: Readonly<Record<string, Migration>> = {
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
}
