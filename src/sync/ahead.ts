// Before a run reads: rows whose reading time lies ahead of the database's clock are repaired, and a person is told.

import type { StreamDef } from '../catalog/types.ts'
import { repairReadAhead } from '../mirror/read-ahead.ts'
import { addWarnings } from '../state/runs.ts'
import type { Task } from '../state/tasks.ts'
import type { SyncContext } from './context.ts'

/** Repairs them, in a transaction of its own; noted in the run's warnings and in the log. */
export async function readAnewWhatIsAhead(context: SyncContext, task: Task, stream: StreamDef): Promise<void> {
  const rows = await context.database.transaction(async (client) => {
    const repaired = await repairReadAhead(client, stream, task.runStartedAt)
    if (repaired > 0)
      await addWarnings(client, task.runId, [
        `${repaired} rows had a reading time ahead of the database's clock, which was set back, or was that of a host whose clock was ahead; they are read anew.`,
      ])
    return repaired
  })
  if (rows > 0)
    context.log.warn(
      { event: 'rows_ahead', stream: stream.name, run: task.runId, rows },
      'rows were read at a time that lies ahead of the clock of Postgres; they are read anew',
    )
}
