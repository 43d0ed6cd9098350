// Carries out one run that was just started, whoever has the hands for it: a worker that runs elsewhere, or this process.

import { sleep } from '../clock.ts'
import { BoatMirrorError } from '../errors.ts'
import { startSyncWorker } from '../jobs/worker.ts'
import type { Run } from '../state/runs.ts'
import { findRun } from '../state/runs.ts'
import type { CommandContext, OpenedApp } from './context.ts'

const pollMs = 300

/**
 * Works until the run has ended and returns it.
 * @throws the signal's reason when aborted; the run then waits for the next worker or sync.
 */
export async function carryOutRun({ log, signal }: CommandContext, app: OpenedApp, runId: string): Promise<Run> {
  const backend = await app.openQueue(signal)
  await backend.ping() // a queue that is down is one message at once, not a minute of waiting
  const worker = await startSyncWorker({ context: app.syncContext, backend, log })
  try {
    for (;;) {
      const run = await findRun(app.database.pool, runId)
      if (run === null) throw new BoatMirrorError('NOT_FOUND', `Run ${runId} has disappeared.`)
      if (run.status !== 'running') return run
      await sleep(pollMs, signal)
    }
  } finally {
    await worker.stop()
  }
}
