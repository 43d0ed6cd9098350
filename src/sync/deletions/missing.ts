// The end of a sweep: what it missed is to be confirmed, or held for a person; then the details are planned.

import { analyzeGrown } from '../../mirror/statistics.ts'
import { clearUnseen } from '../../state/quarantine.ts'
import { addCounts, addWarnings, markSwept, noteRunError } from '../../state/runs.ts'
import { holdDeletions, sweepResult } from '../../state/sweeps.ts'
import { addTasks, endTask, type NewTask } from '../../state/tasks.ts'
import type { TaskRun } from '../context.ts'
import type { Checkpoint } from '../lists/progress.ts'
import { trustWindows, windowOf } from '../lists/windows.ts'
import { keyBatches, planTask, priorities } from '../plan.ts'
import { judgeDeletions, sampleSize, type Verdict } from './threshold.ts'

/** Ends a sweep in one transaction; nothing goes unless every pass was complete. */
export async function endSweep(run: TaskRun<'list'>, { doubts }: Checkpoint): Promise<void> {
  const { context, task, stream, reads } = run
  const { pool } = context.database
  await analyzeGrown(pool, context.log)
  const window = windowOf(run)
  const { missing, live, expected, seen, deletedLately } = await sweepResult(pool, stream, task, window)
  const verdict = judgeDeletions({
    ...{ live, seen, deletedLately },
    missing: missing.length,
    limit: context.settings.deleteLimit,
    ...(window !== undefined && { inWindow: expected }),
  })
  const isComplete = doubts.length === 0
  await context.database.transaction(async (client) => {
    if (isComplete && verdict.kind === 'hold') {
      const facts = { live, seen, missing: missing.length, deletedWithin24Hours: deletedLately }
      await holdDeletions(client, task.runId, missing, { reason: verdict.reason, ...facts })
      await addCounts(client, task.runId, { held: missing.length })
    }
    if (!isComplete) {
      await noteRunError(client, task.runId, doubts.join(' '))
      if (missing.length > 0)
        await addWarnings(client, task.runId, [
          `${missing.length} records were not seen; nothing is deleted, because the sweep is not proven complete.`,
        ])
    } else if (!task.hot) await clearUnseen(client, stream.name, reads.list, task.runStartedAt)
    await markSwept(client, task.runId, seen)
    const confirmations = isComplete && missing.length > 0 ? confirmationsOf(missing, verdict) : []
    await addTasks(client, task.runId, stream.name, [planTask, ...confirmations])
    await endTask(client, task, { error: null })
  })
  if (window !== undefined && isComplete && missing.length === 0) await trustWindows(run)
  context.onTasks()
}

/** The tasks that ask for missing records: each for itself, all before any goes, or a sample of which none goes. Pure. */
export function confirmationsOf(missing: readonly string[], verdict: Verdict): readonly NewTask[] {
  const ask = (keys: readonly string[], reason: string | null, hold?: true): NewTask => ({
    kind: 'confirm',
    priority: priorities.confirm,
    payload: { keys, reason, all: missing.length, ...(hold && { hold }) },
  })
  switch (verdict.kind) {
    case 'confirm':
      return keyBatches(missing).map((keys) => ask(keys, null))
    case 'confirm-all':
      return [ask(missing, verdict.reason)]
    case 'hold':
      return [ask(sample(missing), verdict.reason, true)]
    default:
      return verdict satisfies never
  }
}

/** Up to `sampleSize` keys, evenly spread. */
function sample(keys: readonly string[]): readonly string[] {
  const step = Math.max(1, keys.length / sampleSize)
  return Array.from({ length: Math.min(sampleSize, keys.length) }, (_, index) => keys[Math.floor(index * step)] ?? '')
}
