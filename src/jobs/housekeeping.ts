// What a worker does for the tables once an hour: months of the change log, retention, the kept numbers of rows and changes.

import type { Database } from '../database/database.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { pruneHistory } from '../mirror/history.ts'
import { keepDoneCount, proveRowCounts } from '../mirror/kept-counts.ts'
import { makeLogMonths } from '../mirror/log-months.ts'
import { carryOutErasures } from '../mirror/persons.ts'

/** Does each of these. Failures are logged, and do not stop the rest. */
export async function runHousekeeping(
  database: Database,
  { historyDays, log }: { readonly historyDays: number; readonly log: Logger },
): Promise<void> {
  const notPruned = (table: string, reason: string): void =>
    log.warn(
      { event: 'history_not_pruned', table, reason },
      `could not delete old rows of ${table}; the next attempt is in an hour`,
    )
  const steps: readonly (readonly [what: string, step: () => Promise<void>])[] = [
    ['the next months of the change log', () => makeLogMonths(database.pool)],
    [
      'history',
      async () => {
        const deleted = await pruneHistory(database.pool, { historyDays, onFailure: notPruned })
        log.debug({ event: 'history_pruned', ...deleted }, 'deleted history older than HISTORY_DAYS')
      },
    ],
    ['erased persons who are back', async () => void (await carryOutErasures(database))],
    ['the numbers of rows', () => proveRowCounts(database, log)],
    ['the number of changes that are done', () => keepDoneCount(database, log)],
  ]
  for (const [what, step] of steps)
    await step().catch((error: unknown) =>
      log.warn(
        { event: 'housekeeping_failed', what, reason: messageOf(error) },
        `housekeeping failed (${what}); the next attempt is in an hour`,
      ),
    )
}
