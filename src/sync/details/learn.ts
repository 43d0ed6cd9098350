// Before the details of a run are planned: which reads tell something that lists and collections do not? Some records,
// drawn at random, are read and compared first; what nobody needs is then left out.

import { countListed, type DueKey, drawnKeys, dueKeys, liveRows } from '../../state/due.ts'
import {
  concludeLearning,
  learnAnew,
  noteReads,
  type ReadCount,
  type RepeatingRead,
  repeatingReadsOf,
} from '../../state/reads.ts'
import type { TaskRun } from '../context.ts'
import { alwaysRead, dailySample, dayMs, isSampleDue, learningSample, shuffled } from '../economy.ts'
import { dueSettings } from '../plan.ts'
import { readDetails } from './details.ts'

/** Does this run leave reads out where it can? */
export const leavesOut = ({ context, task }: TaskRun): boolean => context.settings.readEconomy && !task.fullRead

/** Reads what is to be compared before anything else of the run. Returns what is due afterwards. */
export async function learn(run: TaskRun, due: readonly DueKey[]): Promise<readonly DueKey[]> {
  const { context, stream } = run
  if (!leavesOut(run) || run.task.hot) return due
  const { pool } = context.database
  await learnAnew(pool, stream)
  const reads = await repeatingReadsOf(pool, stream)
  if (reads.length === 0) return due
  if (stream.reads.kind !== 'list') return learnFromCollections(run, due)
  const records = await liveRows(pool, stream)
  if (records <= alwaysRead) return due
  if (reads.some(isLearning)) {
    await learnFromList(run, learningSample(records))
  } else if (reads.every((read) => read.state === 'redundant') && reads.some((read) => isDue(run, read))) {
    await readDrawn(
      run,
      dailySample(
        records,
        reads.some(({ sampledAt }) => sampledAt === null),
      ),
    )
    await noteReads(
      pool,
      reads.map(({ endpoint }) => ({ endpoint, sampled: true })),
    )
  } else return due
  return await dueKeys(pool, stream, dueSettings(context))
}

const isLearning = ({ state }: RepeatingRead): boolean => state === 'learning'

/** After a verdict the next run looks once more; from then on each day does. */
const isDue = ({ context }: TaskRun, read: RepeatingRead): boolean =>
  read.sampledAt === null || isSampleDue(read, context.clock.now())

/** Those that were gone, refused or changed in between are made up for by others, within reason. */
const rounds = 5

async function learnFromList(run: TaskRun, wanted: number): Promise<void> {
  const { context, stream } = run
  const { pool } = context.database
  for (let round = 0; round < rounds; round++) {
    const learning = (await repeatingReadsOf(pool, stream)).filter(isLearning)
    const missing = wanted - Math.min(...learning.map(({ compared }) => compared))
    if (learning.length === 0 || missing <= 0) break
    await readDrawn(run, missing)
  }
  await concludeLearning(pool, stream, wanted)
}

/** Reads so many records that were not read within a day. */
async function readDrawn(run: TaskRun, count: number): Promise<void> {
  const { context, stream } = run
  const dayAgo = new Date(context.clock.now().getTime() - dayMs)
  const keys = await drawnKeys(context.database.pool, stream, dueSettings(context, { before: dayAgo }), count)
  await readDetails(run, keys, { sample: true })
}

/**
 * How many elements there are shows only when the collections are read: those of a fifth of the records, at random, until
 * enough elements were compared.
 */
async function learnFromCollections(run: TaskRun, due: readonly DueKey[]): Promise<readonly DueKey[]> {
  const { context, stream } = run
  const { pool } = context.database
  const drawn = shuffled(due.map(({ key }) => key))
  const before = await liveRows(pool, stream)
  let read = 0
  for (;;) {
    const [single] = await repeatingReadsOf(pool, stream)
    if (single === undefined || !isLearning(single)) break
    const elements = Math.max(before, read === 0 ? 0 : (single.compared / read) * due.length)
    const wanted = learningSample(elements)
    if (single.compared >= wanted) await concludeLearning(pool, stream, wanted)
    if (single.compared >= wanted || read >= drawn.length) break
    const next = drawn.slice(read, read + context.settings.api.concurrency)
    await readDetails(run, next)
    read += next.length
  }
  const done = new Set(drawn.slice(0, read))
  return due.filter(({ key }) => !done.has(key))
}

/** The singles that the lists of this run made needless: what would be due had they not shown it. */
export async function leftOutByLists(run: TaskRun): Promise<readonly ReadCount[]> {
  const { context, stream, task } = run
  if (task.kind !== 'plan' || stream.reads.kind !== 'list' || !leavesOut(run)) return []
  const { pool } = context.database
  const reads = await repeatingReadsOf(pool, stream)
  if (reads.length === 0 || reads.some(({ state }) => state !== 'redundant')) return []
  const skipped = await countListed(pool, stream, dueSettings(context), task.runStartedAt)
  return reads.map(({ endpoint }) => ({ endpoint, skipped }))
}
