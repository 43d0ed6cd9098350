// A sweep: a full scan of a list, page after page, checkpointed; at its end the question what is missing.

import type { PoolClient } from 'pg'
import type { ListCall, Page } from '../../api/client.ts'
import { ApiError, messageOf } from '../../errors.ts'
import { liveRows } from '../../mirror/kept-counts.ts'
import { entries, readProfile } from '../../profile/profile.ts'
import { batches } from '../batches.ts'
import type { ChangeSet } from '../change-set.ts'
import type { TaskRun } from '../context.ts'
import { withStubs } from '../details/embeds.ts'
import { comparesAged } from '../economy.ts'
import { keepPages, type ListPage } from '../remembered/list-pages.ts'
import type { Task } from '../runs/tasks.ts'
import { changesOfPages, keptPages, pageBatches, pageToKeep } from './list-records.ts'
import { leaveOut, resolvePaging } from './paging.ts'
import { type Checkpoint, firstCheckpoint, nextVariant, passNumber, unprovenEnd } from './progress.ts'
import { isSummary } from './summary.ts'
import { noteWindows, type Pass, pagesOf, passesOf, refusalOfWindow } from './windows.ts'

/** A sweep resumed later than this after its crash keeps its rows but proves no absence, in milliseconds. */
const staleResumeMs = 5 * 60_000

const rowsPerCommit = 800

/** Pages of which nothing changed are ready one by one: for a commit that is worth its statements they wait this long. */
const lingerMs = 30

/** Pages read ahead of the database are limited by their size, too: this many bytes count like a record. */
const bytesPerRow = 4_000

const weightOf = ({ items, bytes }: Page): number => Math.max(1, items.length, bytes / bytesPerRow)

const refusals: ReadonlySet<string> = new Set(['API_REJECTED', 'API_NOT_FOUND'])

/** What was read is kept, and its details are read: only absence is not proven. */
const unprovenEnds: ReadonlySet<string> = new Set(['PAGING_UNPROVEN', 'PAGING_ENDLESS'])

/** A list that counts from 1 may answer page 1 as page 0, too. */
const notNumbered: ReadonlySet<string> = new Set(['PAGING_UNPROVEN', 'PAGING_IGNORED'])

/** The warning about a misread list includes the remedy, because only settings help. */
const withCure = ({ message, remedy = '' }: ApiError): string => `${message} ${remedy}`.trim()

/** Runs the sweep of a list stream from its checkpoint to its end. */
export async function runSweep(run: TaskRun<'list'>): Promise<void> {
  const { context, task, writer } = run
  if (task.checkpoint === null) await writer.begin(run)
  const profile = await readProfile(context.database.pool, context.clock)
  let at = resumed(task)
  for (;;) {
    const pass = passesOf(run, profile)[at.variant]
    if (pass === undefined) break
    at = await runPass(run, pass, at)
  }
  await writer.endSweep(run, at)
}

function resumed(task: Task): Checkpoint {
  const stored = task.checkpoint as Checkpoint | null
  if (stored === null) return firstCheckpoint
  const late = task.checkpointAgeMs !== null && task.checkpointAgeMs > staleResumeMs
  return late
    ? { ...stored, doubts: [...stored.doubts, 'The sweep was resumed more than five minutes after it stopped.'] }
    : stored
}

/** One pass through one variant of the list. Returns where to continue: the next variant, or the same one again. */
async function runPass(run: TaskRun<'list'>, pass: Pass, start: Checkpoint, mayProbeAgain = true): Promise<Checkpoint> {
  const { context, reads, signal } = run
  const { query, profile } = pass
  if (start.ended) return endPass(run, pass, start)
  const { paging, pageBase, probed } = await resolvePaging(run, query, profile)
  const ahead = await recordsAhead(run, pass, start)
  const showsShape = pass.part === undefined && start.variant === 0 && start.next === null
  const hasShape = profile.value(entries.shape, run.stream.name) !== undefined
  const mayBeKept = pass.part !== 'newest' && (hasShape || !showsShape)
  const source = context.api.list({
    endpoint: reads.list,
    query: { ...query },
    paging,
    pageBase,
    signal,
    mayBeRefused: Object.keys(query).length > 0,
    // Whether the newest come first is determined from the records, and the shape of a list from what stands beside them.
    ...(mayBeKept && { kept: await keptPages(run, start) }),
    ...(start.next === null ? {} : { from: start.next }),
    ...(ahead !== undefined && { ahead }),
  })
  const pages = pagesOf(run, pass, source, showsShape)
  const arrived = batches(pages, { limit: rowsPerCommit, lingerMs, weightOf, startsAtOnce: true })
  let at = start
  try {
    const commits = new CommitsInTurn()
    try {
      // While Postgres writes one batch, the next is prepared and started, and the pages after it are read.
      for await (const [batch] of batches(prepared(run, arrived, pass), { limit: 1, lingerMs: 0 })) {
        if (batch === undefined) continue
        const from = at
        at = checkpointAfter(batch, from)
        await commits.begin((after) => commitPages(run, batch, { from, to: at, after }))
      }
    } finally {
      await commits.end()
    }
  } catch (error) {
    const refusal = refusalOfWindow(pass, error)
    if (refusal !== null) {
      await noteWindows(run, refusal)
      return { ...nextVariant(at), doubts: [...at.doubts, refusal] }
    }
    if (!(error instanceof ApiError)) throw error
    if (start.next === null && at === start && (await leaveOut(run, pass, error))) return start
    // A record that was added while the numbering was probed made two pages of one.
    if (notNumbered.has(error.code) && probed && pageBase === 0 && at.pages <= 1 && mayProbeAgain) {
      await profile.contradict(entries.pageBase, '', messageOf(error))
      return runPass(run, pass, start, false)
    }
    if (unprovenEnds.has(error.code)) return endPass(run, pass, unprovenEnd(at, withCure(error)))
    // If the API answered wrongly while its numbering was probed, it would be asked forever for a page that it never
    // has.
    const firstRefused = start.next === null && at === start && refusals.has(error.code)
    if (error.code === 'PAGING_IGNORED' || firstRefused) {
      if (probed) await profile.contradict(entries.pageBase, '', messageOf(error))
      if (probed && firstRefused && mayProbeAgain) return runPass(run, pass, start, false)
    }
    const { code, endpoint } = error
    if (!code.startsWith('PAGING_')) throw error
    throw new ApiError(code, withCure(error).replaceAll('<stream>', run.stream.name), { endpoint, cause: error })
  }
  return endPass(run, pass, at)
}

/**
 * How many records to expect of a pass from its checkpoint on, for `ListCall.ahead`: for a mirrored list, the
 * mirror's count; for others and for variants it is unknown. A part of a list may end with each page: nothing is
 * requested ahead.
 */
async function recordsAhead(
  { context, stream }: TaskRun<'list'>,
  { part }: Pass,
  at: Checkpoint,
): Promise<ListCall['ahead']> {
  if (part !== undefined) return undefined
  const live = at.variant === 0 ? await liveRows(context.database.pool, stream.name) : 0
  return { records: live === 0 ? null : Math.max(0, live - at.keys) }
}

/** The newest records are never all of a list: there is nothing to count. */
const endPass = async (run: TaskRun<'list'>, { part }: Pass, at: Checkpoint): Promise<Checkpoint> =>
  part === 'newest' ? nextVariant(at) : run.writer.endPass(run, at)

/** What one commit writes, and where its pages lead. */
type PageBatch = {
  readonly changes: ChangeSet
  readonly summary: boolean
  /** The pages that end with it. A large page offers no place to resume from before its last record is written. */
  readonly pages: readonly {
    readonly keys: readonly string[]
    readonly next: string | null
    readonly total: number | null
    /** What to store of a page with an entity tag. */
    readonly kept: ListPage | null
  }[]
}

/** Turns pages into changes; the pages themselves are let go. */
async function* prepared(
  run: TaskRun<'list'>,
  source: AsyncIterable<readonly Page[]>,
  { profile }: Pass,
): AsyncGenerator<PageBatch> {
  let summary: boolean | undefined
  let keys: string[] = []
  const aged = comparesAged(await run.writer.economy(run), run.stream)
  for await (const pages of source) {
    summary ??= await isSummary(run, pages, profile)
    for (const parts of pageBatches(pages, rowsPerCommit)) {
      run.signal.throwIfAborted()
      const { changes, keysOfPart } = await changesOfPages(run, parts, { summary, comparesAged: aged })
      const ended: PageBatch['pages'][number][] = []
      for (const [index, part] of parts.entries()) {
        for (const key of keysOfPart[index] ?? []) keys.push(key)
        if (!part.last) continue
        ended.push({ keys, next: part.next, total: part.total, kept: part.first ? pageToKeep(part, keys) : null })
        keys = []
      }
      // Before the commit, to save its time.
      yield {
        changes: run.writer.takesStubs ? await withStubs(run.context, changes, run.stubs) : changes,
        summary,
        pages: ended,
      }
    }
  }
}

/** Where the pages of a batch lead. */
function checkpointAfter({ pages }: PageBatch, at: Checkpoint): Checkpoint {
  const last = pages.at(-1)
  return {
    ...at,
    next: last === undefined ? at.next : last.next,
    ended: last?.next === null,
    pages: at.pages + pages.length,
    keys: pages.reduce((sum, page) => sum + page.keys.length, at.keys ?? 0),
    totals: [...at.totals, ...pages.flatMap(({ total }) => total ?? [])].filter(
      // Only the first total, the last one and those that differ decide; the list of all would grow with the pages.
      (total, index, all) => index === 0 || total !== all[index - 1],
    ),
  }
}

async function commitPages(
  run: TaskRun<'list'>,
  { changes, summary, pages }: PageBatch,
  { from, to, after }: { readonly from: Checkpoint; readonly to: Checkpoint; readonly after: Promise<void> },
): Promise<void> {
  const keys = pages.map((page) => page.keys)
  const kept = pages.flatMap((page) => page.kept ?? [])
  const also = (client: PoolClient): Promise<void> => keepPages(client, run.stream.name, kept)
  await run.writer.commit(run, changes, {
    checkpoint: to,
    also,
    after,
    pages: { pass: passNumber(from), first: from.pages, keys, summary },
  })
}

/** At most two running commits. */
export class CommitsInTurn {
  #last: Promise<void> = Promise.resolve()

  /**
   * Begins a commit, which is given the end of the one before it.
   * @returns when the one before it has ended. @throws what that one threw.
   */
  async begin(commit: (after: Promise<void>) => Promise<void>): Promise<void> {
    const before = this.#last
    this.#last = commit(before)
    // The next caller that waits for it gets its error, maybe after it has failed.
    this.#last.catch(() => undefined)
    await before
  }

  /** Waits for the last one. @throws what it threw. */
  async end(): Promise<void> {
    await this.#last
  }
}
