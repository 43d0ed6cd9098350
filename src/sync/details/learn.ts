// Before the details of a run are planned: which reads show data that lists and collections do not? Some records,
// drawn at random, are read and compared first; redundant reads are then skipped. For records that depart and return,
// the draw has two parts in proportion to their number: first the coming ones, then, when these have their full
// share, the others.

import { liveRows } from '../../mirror/kept-counts.ts'
import type { Found } from '../change-set.ts'
import type { Due, TaskRun } from '../context.ts'
import { holderOf } from '../due/candidates.ts'
import { countListed, type DueKey, drawnKeys, dueKeys, firstRankOver } from '../due/due.ts'
import {
  concludeLearning,
  learnAnew,
  noteReads,
  type ReadCount,
  type RepeatingRead,
  repeatingReadsOf,
} from '../due/reads.ts'
import {
  alwaysRead,
  dailySample,
  dayMs,
  isProvisionallyRedundant,
  isSampleDue,
  learningSample,
  shuffled,
} from '../economy.ts'
import { dueSettings } from '../plan.ts'
import { readDetails } from './details.ts'
import { isRestPlan, type Learned } from './learned.ts'

/** Does this run leave reads out where it can? */
export const leavesOut = ({ context, task }: TaskRun): boolean => context.settings.readEconomy && !task.fullRead

/** Reads the records to compare before the others of their kind; past records are read later, with their plan. */
export async function learn(run: TaskRun, { keys, since }: Due): Promise<Learned> {
  const { context, stream } = run
  const isList = stream.reads.kind === 'list'
  const isOver = ({ rank }: DueKey): boolean => rank >= firstRankOver
  // Records that were coming when the first plan was made have been read, unless their list shows more.
  const due = isRestPlan(run) && !isList ? keys.filter(isOver) : keys
  if (!leavesOut(run) || run.task.hot) return { due }
  const { pool } = context.database
  await learnAnew(pool, stream)
  const reads = await repeatingReadsOf(pool, stream)
  if (reads.length === 0) return { due }
  const coming = isRestPlan(run) ? [] : due.filter((each) => !isOver(each))
  const isSplit = coming.length > 0 && holderOf(stream).eventful !== undefined
  if (!isList) {
    const share = coming.length / due.length
    if (!isSplit || share === 1 || !reads.some(isLearning)) return { due: await learnFromCollections(run, due) }
    const left = await learnFromCollections(run, coming, share)
    return { ...(await learnedOf(run, left)), hasRest: true }
  }
  const records = await liveRows(pool, stream.name)
  if (records <= alwaysRead) return { due }
  if (reads.some(isLearning)) {
    const wanted = learningSample(records)
    if (isSplit) {
      const share = Math.ceil((wanted * coming.length) / records)
      await readDetails(run, keysOf(shuffled(coming).slice(0, share)), { sample: true })
      const learned = await learnedOf(run, [])
      if (learned.isProvisional) return { ...learned, hasRest: true }
      return { due: await dueKeys(pool, stream, dueSettings(context, { since })) }
    }
    // Some coming records were compared; the rest of the sample is drawn from past ones.
    await learnFromList(run, wanted, isRestPlan(run) ? keysOf(shuffled(due.filter(isOver))) : null)
  } else if (reads.every((read) => read.state === 'redundant') && reads.some((read) => isDue(run, read))) {
    if (!isRestPlan(run) && holderOf(stream).eventful !== undefined) return { due: coming, hasRest: true }
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
  } else return { due }
  return { due: await dueKeys(pool, stream, dueSettings(context, { since })) }
}

const keysOf = (due: readonly DueKey[]): readonly string[] => due.map(({ key }) => key)

/** What follows from a share of what is coming; `due`: what is left of it. */
async function learnedOf({ context, stream }: TaskRun, due: readonly DueKey[]): Promise<Learned> {
  const reads = await repeatingReadsOf(context.database.pool, stream)
  return reads.every(isProvisionallyRedundant) ? { due, isProvisional: true } : { due }
}

const isLearning = ({ state }: RepeatingRead): boolean => state === 'learning'

/** After a verdict the next run checks again; after that, one run each day does. */
const isDue = ({ context }: TaskRun, read: RepeatingRead): boolean =>
  read.sampledAt === null || isSampleDue(read, context.clock.now())

/** Those that were gone, refused or changed in between are made up for by others, within reason. */
const rounds = 5

async function learnFromList(run: TaskRun, wanted: number, drawn: readonly string[] | null): Promise<void> {
  const { context, stream } = run
  const { pool } = context.database
  let left = drawn
  for (let round = 0; round < rounds; round++) {
    const learning = (await repeatingReadsOf(pool, stream)).filter(isLearning)
    const missing = wanted - Math.min(...learning.map(({ compared }) => compared))
    if (learning.length === 0 || missing <= 0) break
    if (left === null) await readDrawn(run, missing)
    else {
      await readDetails(run, left.slice(0, missing), { sample: true })
      left = left.slice(missing)
    }
  }
  await concludeLearning(pool, stream, wanted)
}

/** Reads so many records that were not read within a day. */
async function readDrawn(run: TaskRun, count: number): Promise<void> {
  const { context, stream } = run
  const { pool } = context.database
  const dayAgo = new Date(context.clock.now().getTime() - dayMs)
  const of = { count, rows: await liveRows(pool, stream.name) }
  const keys = await drawnKeys(pool, stream, dueSettings(context, { before: dayAgo }), of)
  await readDetails(run, keys, { sample: true })
}

/** Records that are drawn are read in portions of so many. */
const drawnAtOnce = 200

/**
 * How many elements there are shows only when the collections are read: those of records at random, until a fifth of the
 * elements was compared; of a share of the records, the same share of that, which concludes nothing.
 */
async function learnFromCollections(run: TaskRun, due: readonly DueKey[], share = 1): Promise<readonly DueKey[]> {
  const { context, stream } = run
  const { pool } = context.database
  const [single] = await repeatingReadsOf(pool, stream)
  if (single === undefined || !isLearning(single)) return due
  const before = await liveRows(pool, stream.name)
  let { compared, differed } = single
  let [read, wanted] = [0, 0]
  const isLearned = (): boolean => differed > 0 || (wanted > 0 && compared >= wanted)
  const isEnough = (found: readonly Found[], underWay: number): boolean => {
    read += 1
    for (const each of found.flatMap(({ reads = [] }) => reads)) {
      compared += each.compared ?? 0
      differed += each.differed ?? 0
    }
    const each = compared / read
    wanted = Math.ceil(share * learningSample(Math.max(before, (each * due.length) / share)))
    // The running reads may bring what is missing.
    return isLearned() || compared + underWay * each >= wanted
  }
  let left: readonly string[] = shuffled(due.map(({ key }) => key))
  while (left.length > 0 && !isLearned()) {
    // As many start at once as may run: no more than bring what is still missing.
    const missing = compared === 0 ? drawnAtOnce : Math.ceil(((wanted - compared) * read) / compared)
    const portion = Math.min(drawnAtOnce, Math.max(1, missing))
    const unread = await readDetails(run, left.slice(0, portion), { isEnough })
    left = [...unread, ...left.slice(portion)]
  }
  if (share === 1 && wanted > 0 && compared >= wanted) await concludeLearning(pool, stream, wanted)
  const unread = new Set(left)
  return due.filter(({ key }) => unread.has(key))
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
