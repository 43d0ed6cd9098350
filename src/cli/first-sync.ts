// The first complete sync of a worker, as a person sees it.

import type { Database } from '../database/database.ts'
import { count, duration } from '../format.ts'
import { openRequest } from '../inspect/queries.ts'
import type { Logger } from '../log.ts'
import { print } from './terminal/output.ts'
import { runSeconds, watchRequest } from './terminal/progress.ts'

/**
 * Shows the progress of the open first sync until it is done, and says what came of it; returns at once when there is none.
 * A signal or a database that is out ends the watching without an error: it is no reason for a worker to end.
 */
export async function watchFirstSync(database: Database, signal: AbortSignal, log: Logger): Promise<void> {
  try {
    const requestId = await openRequest(database.pool, 'first')
    if (requestId === null) return
    print('First sync: the whole API is read once. It goes on where it was when it is stopped.')
    const runs = await watchRequest({ database, requestId, signal, log })
    const read = runs.reduce((sum, run) => sum + Number(run.read), 0)
    const failed = runs.filter((run) => run.status !== 'done')
    const first = Math.min(...runs.map((run) => run.started_at.getTime()))
    const last = Math.max(...runs.map((run) => run.started_at.getTime() + runSeconds(run) * 1_000))
    print(`First sync done: ${count(read)} records of ${runs.length} streams in ${duration((last - first) / 1_000)}.`)
    for (const run of failed) print(`  ${run.stream}: ${run.status}${run.error === null ? '' : ` – ${run.error}`}`)
  } catch (error) {
    if (!signal.aborted)
      log.warn(
        { event: 'first_sync_not_watched', err: error },
        'the progress of the first sync cannot be shown; the worker goes on, and `boat-mirror status` shows it',
      )
  }
}
