// What a plan samples of the reads that repeat others (`sync.reads`). Records of a list are drawn at random. Elements of
// collections are not known before they are read: their tasks sample them, each its part (`economyOf`).

import { liveRows } from '../../mirror/kept-counts.ts'
import type { Plan, TaskRun } from '../context.ts'
import { countListed, sampledKeys } from '../due/due.ts'
import { assumeAnew, repeatingReadsOf } from '../due/reads.ts'
import { dailySample, dayMs, firstSample, isSampleDue, lacksSample } from '../economy.ts'
import { dueSettings } from '../plan.ts'

/** Does this run leave reads out where it can? */
export const leavesOut = ({ context, task }: TaskRun): boolean => context.settings.readEconomy && !task.fullRead

export async function samplesOf(run: TaskRun): Promise<Omit<Plan, 'due'>> {
  const { context, stream, task } = run
  const { pool } = context.database
  if (!leavesOut(run)) return {}
  if (!task.hot) await assumeAnew(pool, stream)
  const reads = await repeatingReadsOf(pool, stream)
  const isFirst = !task.hot && reads.some(lacksSample)
  if (stream.reads.kind !== 'list' || reads.some(({ state }) => state !== 'redundant')) return { isFirst }
  const now = context.clock.now()
  const isDaily = !task.hot && !isFirst && reads.some((read) => read.sampledAt === null || isSampleDue(read, now))
  const records = isFirst || isDaily ? await liveRows(pool, stream.name) : 0
  const before = new Date(now.getTime() - dayMs)
  const count = isFirst ? firstSample(records) : isDaily ? dailySample(records) : 0
  const sampled = count === 0 ? [] : await sampledKeys(pool, stream, dueSettings(context, { before }), count)
  const skipped = await countListed(pool, stream, dueSettings(context), task.runStartedAt)
  const note = { skipped: Math.max(0, skipped - sampled.length), sampled: isDaily }
  return { sampled, isFirst, reads: reads.map(({ endpoint }) => ({ endpoint, ...note })) }
}
