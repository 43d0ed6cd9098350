// A sweep: one complete pass through a list, page after page, checkpointed; at its end the question what is missing.

import type { Page } from '../../api/client.ts'
import { streamNamed } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { ApiError, messageOf } from '../../errors.ts'
import { analyzeGrown } from '../../mirror/statistics.ts'
import { clearUnseen } from '../../state/quarantine.ts'
import { addCounts, addWarnings, markSwept, noteRunError } from '../../state/runs.ts'
import { holdDeletions, passFacts, saveSweepPages, sweepResult } from '../../state/sweeps.ts'
import { addTasks, endTask, type NewTask, type Task } from '../../state/tasks.ts'
import { readAnewWhatIsAhead } from '../ahead.ts'
import { batches } from '../batches.ts'
import { addStubs, commitWork } from '../commit.ts'
import type { SyncContext } from '../context.ts'
import { judgeDeletions, sampleSize } from '../deletions/threshold.ts'
import { portions, priorities } from '../plan.ts'
import type { Work } from '../work.ts'
import { portionsOfPages, workOfPages } from './list-records.ts'
import { contradictPageBase, resolvePaging } from './paging.ts'
import { judgePass } from './progress.ts'
import { isSummary } from './summary-probe.ts'

type ListReads = Extract<StreamDef['reads'], { kind: 'list' }>

type Checkpoint = {
  readonly variant: number
  readonly pass: number
  /** Where the next page is; null: at the beginning of the pass. */
  readonly next: string | null
  readonly pages: number
  /** The last page of the pass is committed; what is left is to judge it. */
  readonly ended: boolean
  readonly totals: readonly number[]
  /** Why this sweep proves no absence. */
  readonly doubts: readonly string[]
}

const beginning: Checkpoint = { variant: 0, pass: 1, next: null, pages: 0, ended: false, totals: [], doubts: [] }

/** A sweep resumed later than this after its crash keeps its rows but proves no absence, in milliseconds. */
const staleResumeMs = 5 * 60_000

const rowsPerCommit = 1_000

/** Pages read ahead of the database are limited by their size, too: this many bytes count like a record. */
const bytesPerRow = 4_000

const weightOf = ({ items, bytes }: Page): number => Math.max(1, items.length, bytes / bytesPerRow)

const refusals: ReadonlySet<string> = new Set(['API_REJECTED', 'API_NOT_FOUND'])

/** Runs the sweep of a list stream from its checkpoint to its end. */
export async function runSweep(context: SyncContext, task: Task, signal: AbortSignal): Promise<void> {
  const stream = streamNamed(task.stream)
  const reads = stream.reads
  if (reads.kind !== 'list') throw new Error(`${stream.name} has no list.`)
  if (task.checkpoint === null) await readAnewWhatIsAhead(context, task, stream)
  let at = resumed(task)
  const variants = [{}, ...(reads.extraPasses ?? [])]
  while (at.variant < variants.length) {
    const query = { ...reads.query, ...variants[at.variant] }
    at = await runPass(context, task, stream, reads, query, at, signal)
  }
  await endSweep(context, task, stream, reads, at)
}

function resumed(task: Task): Checkpoint {
  const stored = task.checkpoint as Checkpoint | null
  if (stored === null) return beginning
  const late = task.checkpointAgeMs !== null && task.checkpointAgeMs > staleResumeMs
  return late
    ? { ...stored, doubts: [...stored.doubts, 'The sweep was resumed more than five minutes after it stopped.'] }
    : stored
}

/** One pass through one variant of the list. Returns where to go on: the next variant, or the same one again. */
async function runPass(
  context: SyncContext,
  task: Task,
  stream: StreamDef,
  reads: ListReads,
  query: Readonly<Record<string, string>>,
  start: Checkpoint,
  signal: AbortSignal,
  mayProbeAgain = true,
): Promise<Checkpoint> {
  if (start.ended) return judged(context, task, start)
  const { paging, pageBase, probed } = await resolvePaging(context, stream, reads.list, query, signal)
  const source = context.api.list({
    endpoint: reads.list,
    query: { ...query },
    paging,
    pageBase,
    signal,
    ...(start.next === null ? {} : { from: start.next }),
  })
  const ahead = batches(source, { limit: rowsPerCommit, lingerMs: 0, weightOf })
  const portions = prepared(context, task, stream, reads, ahead, signal)
  let at = start
  try {
    // While Postgres writes one portion, the next is made ready and the pages after it are read.
    for await (const [portion] of batches(portions, { limit: 1, lingerMs: 0 }))
      if (portion !== undefined) at = await commitPages(context, task, portion, at)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // An API that lied while its numbering was found out would be asked for a page that it never has, for good.
    const firstRefused = start.next === null && at === start && refusals.has(error.code)
    if (error.code !== 'PAGING_IGNORED' && !firstRefused) throw error
    if (probed) await contradictPageBase(context, messageOf(error))
    if (!probed || !firstRefused || !mayProbeAgain) throw error
    return runPass(context, task, stream, reads, query, start, signal, false)
  }
  return judged(context, task, at)
}

/** What one commit writes, and where its pages lead. */
type Portion = {
  readonly work: Work
  /** The pages that end with it. Of a large one there is nothing to go on from before its last record is written. */
  readonly pages: readonly {
    readonly keys: readonly string[]
    readonly next: string | null
    readonly total: number | null
  }[]
}

/** Turns pages into work; the pages themselves are let go. */
async function* prepared(
  context: SyncContext,
  task: Task,
  stream: StreamDef,
  reads: ListReads,
  source: AsyncIterable<readonly Page[]>,
  signal: AbortSignal,
): AsyncGenerator<Portion> {
  let summary: boolean | undefined
  let keys: string[] = []
  for await (const pages of source) {
    summary ??= await isSummary(context, task, stream, reads, pages, signal)
    for (const parts of portionsOfPages(pages, rowsPerCommit)) {
      signal.throwIfAborted()
      const { work, keysOfPart } = await workOfPages(context, stream, reads.list, parts, summary)
      await addStubs(context, work)
      const ended: Portion['pages'][number][] = []
      for (const [index, { last, next, total }] of parts.entries()) {
        for (const key of keysOfPart[index] ?? []) keys.push(key)
        if (!last) continue
        ended.push({ keys, next, total })
        keys = []
      }
      yield { work, pages: ended }
    }
  }
}

async function commitPages(
  context: SyncContext,
  task: Task,
  { work, pages }: Portion,
  at: Checkpoint,
): Promise<Checkpoint> {
  const last = pages.at(-1)
  const next: Checkpoint = {
    ...at,
    next: last === undefined ? at.next : last.next,
    ended: last?.next === null,
    pages: at.pages + pages.length,
    totals: [...at.totals, ...pages.flatMap((page) => (page.total === null ? [] : [page.total]))].filter(
      // Only the first total, the last one and those that differ decide; the list of all would grow with the pages.
      (total, index, all) => index === 0 || total !== all[index - 1],
    ),
  }
  await commitWork(context, task, work, {
    checkpoint: next,
    also: (client) =>
      saveSweepPages(
        client,
        { runId: task.runId, pass: passNumber(at), first: at.pages },
        pages.map(({ keys }) => keys),
      ),
  })
  return next
}

/** Passes of all variants share one table; ten passes a variant are more than there can be. */
const passNumber = (at: Checkpoint): number => at.variant * 10 + at.pass

async function judged(context: SyncContext, task: Task, at: Checkpoint): Promise<Checkpoint> {
  const facts = await passFacts(context.database.pool, task.runId, passNumber(at))
  const verdict = judgePass({ pass: at.pass, ...facts, totals: at.totals })
  const fresh = { next: null, pages: 0, ended: false, totals: [] }
  switch (verdict.kind) {
    case 'complete':
      return { ...at, ...fresh, variant: at.variant + 1, pass: 1 }
    case 'partial':
      return { ...at, ...fresh, variant: at.variant + 1, pass: 1, doubts: [...at.doubts, verdict.reason] }
    case 'again':
      context.log.info({ event: 'sweep_again', stream: task.stream, run: task.runId }, verdict.reason)
      return { ...at, ...fresh, pass: at.pass + 1 }
    default:
      return verdict satisfies never
  }
}

/** Ends the sweep: what is missing is to be confirmed, or held for a person; then the details are planned. */
async function endSweep(
  context: SyncContext,
  task: Task,
  stream: StreamDef,
  reads: ListReads,
  at: Checkpoint,
): Promise<void> {
  await analyzeGrown(context.database.pool, context.log)
  const result = await sweepResult(context.database.pool, stream, task.runId, task.runStartedAt)
  const tasks: NewTask[] = [{ kind: 'plan', priority: priorities.plan }]
  const verdict = judgeDeletions({ ...result, missing: result.missing.length, limit: context.settings.deleteLimit })
  const proven = at.doubts.length === 0
  const confirm = (keys: readonly string[], reason: string | null): void => {
    for (const portion of portions(keys))
      tasks.push({
        kind: 'confirm',
        priority: priorities.confirm,
        payload: { keys: portion, reason, all: result.missing.length },
      })
  }
  if (proven && result.missing.length > 0) {
    if (verdict.kind === 'confirm') confirm(result.missing, null)
    else if (verdict.kind === 'confirm-all')
      tasks.push({
        kind: 'confirm',
        priority: priorities.confirm,
        payload: { keys: result.missing, reason: verdict.reason, all: result.missing.length },
      })
    else
      tasks.push({
        kind: 'confirm',
        priority: priorities.confirm,
        payload: { keys: sample(result.missing), reason: verdict.reason, all: result.missing.length, hold: true },
      })
  }
  await context.database.transaction(async (client) => {
    if (proven && verdict.kind === 'hold') {
      await holdDeletions(client, task.runId, result.missing, {
        reason: verdict.reason,
        live: result.live,
        seen: result.seen,
        missing: result.missing.length,
        deletedWithin24Hours: result.deletedLately,
      })
      await addCounts(client, task.runId, { held: result.missing.length })
    }
    if (!proven) {
      await noteRunError(client, task.runId, at.doubts.join(' '))
      if (result.missing.length > 0)
        await addWarnings(client, task.runId, [
          `${result.missing.length} records were not seen; nothing is deleted, because the sweep is not proven complete.`,
        ])
    } else await clearUnseen(client, stream.name, reads.list, task.runStartedAt)
    await markSwept(client, task.runId, result.seen)
    await addTasks(client, task.runId, stream.name, tasks)
    await endTask(client, task, { error: null })
  })
  context.onTasks()
}

/** Up to `sampleSize` keys, evenly spread. */
function sample(keys: readonly string[]): readonly string[] {
  const step = Math.max(1, keys.length / sampleSize)
  return Array.from({ length: Math.min(sampleSize, keys.length) }, (_, index) => keys[Math.floor(index * step)] ?? '')
}
