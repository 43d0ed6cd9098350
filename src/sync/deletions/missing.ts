// The end of a sweep: missing records are confirmed or held, then the details are planned.

import { counted } from '../../format.ts'
import { liveRows } from '../../mirror/kept-counts.ts'
import { analyzeGrown } from '../../mirror/statistics.ts'
import type { TaskRun } from '../context.ts'
import type { Window } from '../due/windows.ts'
import { addUpRanges } from '../lists/end-pass.ts'
import type { Checkpoint } from '../lists/progress.ts'
import { noteWindows, windowOf } from '../lists/windows.ts'
import { planTask } from '../plan.ts'
import { clearUnseen } from '../quarantine.ts'
import { addCounts, addWarnings, insertedBy, markSwept, noteRunError } from '../runs/runs.ts'
import {
  byRange,
  type Compared,
  compareRange,
  countRanges,
  dropRanges,
  findRanges,
  missedKeys,
  stepSize,
} from '../runs/sweep-ranges.ts'
import { deletedLately, holdDeletions } from '../runs/sweeps.ts'
import { addTasks, checkpointTask, endTask } from '../runs/tasks.ts'
import { confirmationsOf } from './confirmations.ts'
import { judgeDeletions } from './threshold.ts'

/** Ends a sweep; nothing goes unless every pass was complete. */
export async function endSweep(run: TaskRun<'list'>, at: Checkpoint): Promise<void> {
  const { database, log } = run.context
  // Tables are analysed for later statements: each range is compared by its own bounds, whatever the statistics.
  await Promise.all([compareAndEnd(run, at), analyzeGrown(database.pool, log)])
}

/** What follows from the comparison is one transaction. */
async function compareAndEnd(run: TaskRun<'list'>, at: Checkpoint): Promise<void> {
  const { context, task, stream, reads } = run
  const { pool } = context.database
  const window = windowOf(run)
  const { expected, seen, missing } = await compareAll(run, at, window)
  const live = window === undefined ? expected : await liveBefore(run)
  const deletedWithin24Hours = await deletedLately(pool, stream.name)
  const verdict = judgeDeletions({
    ...{ live, seen, missing, deletedLately: deletedWithin24Hours },
    limit: context.settings.deleteLimit,
    ...(window !== undefined && { inWindow: expected }),
  })
  const { doubts } = at
  const isComplete = doubts.length === 0
  await context.database.transaction(async (client) => {
    await context.privacy?.assertCurrent(client)
    if (isComplete && verdict.kind === 'hold') {
      const plan = { reason: verdict.reason, live, seen, missing, deletedWithin24Hours }
      await holdDeletions(client, task.runId, missedKeys(client, task.runId), plan)
      await addCounts(client, task.runId, { held: missing })
    }
    if (!isComplete) {
      await noteRunError(client, task.runId, doubts.join(' '))
      if (missing > 0)
        await addWarnings(client, task.runId, [
          `The list did not show ${counted(missing, 'record')} of the mirror. Nothing was deleted, because the list is not proven complete.`,
        ])
    } else if (!task.hot) await clearUnseen(client, stream.name, reads.list, task.runStartedAt)
    await markSwept(client, task.runId, seen)
    await addTasks(client, task.runId, stream.name, [planTask])
    if (isComplete && missing > 0)
      for await (const tasks of confirmationsOf(missedKeys(client, task.runId), missing, verdict))
        await addTasks(client, task.runId, stream.name, tasks)
    await dropRanges(client, task.runId)
    await endTask(client, task, { error: null })
  })
  if (window !== undefined && isComplete && missing === 0) await noteWindows(run, null)
  context.onTasks()
}

/** Compares what the sweep saw with the table, range after range; with a window, which is no larger than one, at once. */
async function compareAll(
  run: TaskRun<'list'>,
  at: Checkpoint,
  window: Window | undefined,
): Promise<Readonly<Record<keyof Compared, number>>> {
  const { context, task, stream } = run
  const { pool } = context.database
  // Only whose task it is may begin anew: another worker may be on its way through the ranges by now.
  const begin = (): Promise<number> =>
    context.database.transaction(async (client) => {
      await checkpointTask(client, task, { checkpoint: undefined, counts: {} })
      await dropRanges(client, task.runId)
      return await findRanges(client, stream, task.runId, window === undefined ? stepSize.rows : null)
    })
  return await addUpRanges(run, at, {
    ranges: at.end ? await countRanges(pool, task.runId) : await begin(),
    division: () => byRange(pool, stream, task.runId),
    factsOf: (db, range) => compareRange(db, { stream, run: task, window }, range),
  })
}

/** Live rows of the whole stream, without stubs and without those that this run has brought. */
async function liveBefore({ context, task, stream }: TaskRun): Promise<number> {
  const live = await liveRows(context.database.pool, stream.name)
  return Math.max(0, live - (await insertedBy(context.database.pool, task.runId)))
}
