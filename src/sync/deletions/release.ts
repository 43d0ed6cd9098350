// Held deletions that a person lets happen: a run of their own that asks for each record and makes a tombstone of what is gone.

import type { Database } from '../../database/database.ts'
import { BoatMirrorError } from '../../errors.ts'
import { runningStreams, startRun } from '../../state/runs.ts'
import { heldKeys } from '../../state/sweeps.ts'
import { addTasks } from '../../state/tasks.ts'
import { priorities } from '../plan.ts'

/**
 * Starts the run that releases the held deletions of another run; a worker carries it out.
 * @returns the id of the new run, or `busy` while a run of the stream is running: two never overlap.
 * @throws BoatMirrorError NOT_FOUND when the run holds nothing (any more).
 */
export async function startRelease(
  database: Database,
  held: { readonly id: string; readonly stream: string },
): Promise<{ readonly runId: string; readonly keys: number } | 'busy'> {
  return await database.transaction(async (client) => {
    // The lock of `advance`: whoever starts runs holds it.
    await client.query(`select pg_advisory_xact_lock(hashtext('boat-mirror.advance'))`)
    const keys = await heldKeys(client, held.id)
    if (keys.length === 0)
      throw new BoatMirrorError('NOT_FOUND', `Run ${held.id} of ${held.stream} holds no deletion back.`, {
        remedy: 'See what is held with: boat-mirror status',
      })
    if ((await runningStreams(client)).has(held.stream)) return 'busy'
    const runId = await startRun(client, { stream: held.stream, trigger: 'release', full: false, requestIds: [] })
    await addTasks(client, runId, held.stream, [
      { kind: 'release', priority: priorities.release, payload: { heldRunId: held.id } },
    ])
    return { runId, keys: keys.length }
  })
}
