// `sync --check`: the tasks of a sync, carried out by a writer that compares what they find with the mirror, takes nothing
// for known, and writes no record.

import { streamNamed } from '../catalog/catalog.ts'
import { keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { ApiError, BoatMirrorError, messageOf } from '../errors.ts'
import { type Comparison, compareWrites, type Difference } from '../mirror/comparison.ts'
import type { TableWrite } from '../mirror/rows.ts'
import type { ChangeSet } from './change-set.ts'
import {
  type CommitExtras,
  type Following,
  type Plan,
  type SyncContext,
  type TaskRun,
  type TaskWriter,
  taskRun,
} from './context.ts'
import { confirmationsOf } from './deletions/confirmations.ts'
import { dueKeys } from './due/due.ts'
import { type Economy, noEconomy } from './economy.ts'
import { nextVariant } from './lists/progress.ts'
import { dueSettings, planTask, sweepTask } from './plan.ts'
import { carryOut } from './run-task.ts'
import type { NewTask, Task, Waiting } from './runs/tasks.ts'

export type StreamCheck = {
  readonly stream: string
  /** Records compared. */
  readonly compared: number
  /** In the API, not (alive) in the mirror. */
  readonly missing: number
  readonly different: number
  /** Alive in the mirror, gone in the API. */
  readonly deleted: number
  /** Records that cannot be mirrored. */
  readonly bad: number
  /** Why something could not be read. */
  readonly problems: readonly string[]
  /** The first differences. */
  readonly samples: readonly Difference[]
}

type Open = { -readonly [K in keyof StreamCheck]: StreamCheck[K] }

/** Differences and problems kept per stream; the counts are complete. */
const kept = 20

export class CheckTally {
  readonly #streams = new Map<string, Open>()

  /** The entry of a stream; made when it is first named, so that a stream without differences appears too. */
  of(stream: string): Open {
    const known = this.#streams.get(stream)
    if (known !== undefined) return known
    const fresh = { stream, compared: 0, missing: 0, different: 0, deleted: 0, bad: 0, problems: [], samples: [] }
    this.#streams.set(stream, fresh)
    return fresh
  }

  add(found: readonly Comparison[]): void {
    for (const { stream, missing, different, deleted, samples } of found) {
      const entry = this.of(stream)
      entry.missing += missing
      entry.different += different
      entry.deleted += deleted
      entry.samples = [...entry.samples, ...samples].slice(0, kept)
    }
  }

  problem(stream: string, text: string): void {
    const entry = this.of(stream)
    if (entry.problems.length < kept) entry.problems = [...entry.problems, text]
  }

  all(): readonly StreamCheck[] {
    return [...this.#streams.values()]
  }
}

/** True when mirror and API differ, or when that could not be determined. */
export const isDifferent = (check: StreamCheck): boolean =>
  check.missing + check.different + check.deleted + check.problems.length > 0

export type CheckOptions = {
  readonly signal: AbortSignal
  /** Called when a stream begins. */
  readonly onStream?: (stream: string) => void
}

/**
 * Compares the named streams (as `streamsToRead` orders them) with the API. @throws ApiError when the API refuses all
 * requests.
 */
export async function checkStreams(
  context: SyncContext,
  names: readonly string[],
  { signal, onStream }: CheckOptions,
): Promise<readonly StreamCheck[]> {
  const tally = new CheckTally()
  const answered = new Map<string, ReadonlySet<string>>()
  for (const stream of names.map(streamNamed)) {
    signal.throwIfAborted()
    onStream?.(stream.name)
    tally.of(stream.name)
    const comparison = new StreamComparison(context, stream, { tally, parents: answered.get(stream.parent ?? '') })
    const keys = await comparison.run(signal)
    if (keys !== null) answered.set(stream.name, keys)
  }
  return tally.all()
}

/** Whatever was read, was read before this: every live row is due. */
const endOfTime = new Date('9999-12-31T00:00:00Z')

/** Rows per batch when every difference must be named: the number of samples in a comparison. */
const named = 20

/** The comparison of one stream: the queue of its tasks, and the writer that they have. */
class StreamComparison implements TaskWriter {
  readonly takesStubs = false
  readonly #context: SyncContext
  readonly #stream: StreamDef
  readonly #tally: CheckTally
  readonly #parents: ReadonlySet<string>
  readonly #tasks: Task[] = []
  /** Keys of the stream's records that the API answered. */
  readonly #answered = new Set<string>()
  /** Keys that the list named, also of records that cannot be mirrored. */
  readonly #listed = new Set<string>()
  /** Keys that the single decides about. */
  readonly #due = new Set<string>()
  /** What lists said and no single has decided yet: a list may say the same with fewer members. */
  readonly #undecided = new Map<string, Difference>()

  constructor(
    context: SyncContext,
    stream: StreamDef,
    { tally, parents = new Set() }: { readonly tally: CheckTally; readonly parents?: ReadonlySet<string> | undefined },
  ) {
    this.#context = context
    this.#stream = stream
    this.#tally = tally
    this.#parents = parents
  }

  /** Carries the tasks of the stream out. Returns the keys the API answered; null when its list could not be read. */
  async run(signal: AbortSignal): Promise<ReadonlySet<string> | null> {
    this.#add([this.#stream.reads.kind === 'list' ? sweepTask : planTask])
    for (const task of this.#tasks)
      try {
        await carryOut(taskRun(this.#context, task, this, signal))
      } catch (error) {
        this.#tally.problem(this.#stream.name, reasonOf(error))
        // Without the whole list, records that only the mirror has are unknown.
        if (task.kind === 'sweep') return null
      }
    const samples = [...this.#undecided.values()]
    this.#tally.add([{ stream: this.#stream.name, missing: 0, different: samples.length, deleted: 0, samples }])
    return this.#answered
  }

  #add(tasks: readonly NewTask[]): void {
    for (const { kind, reason = null, payload, priority } of tasks)
      this.#tasks.push({
        ...{
          id: '',
          runId: '',
          fence: '',
          attempts: 1,
          checkpoint: null,
          checkpointAgeMs: null,
          fullRead: false,
          hot: false,
          isScheduled: false,
          isAsked: false,
        },
        ...{ stream: this.#stream.name, kind, reason, payload, priority, runStartedAt: this.#context.clock.now() },
      })
  }

  async begin(): Promise<void> {}
  knownRecords = async (): Promise<ReadonlyMap<string, never>> => new Map<string, never>()
  knownDetails = this.knownRecords
  waiting = async (): Promise<Waiting> => ({ urgent: false, any: true })
  listed = this.knownRecords
  economy = async (): Promise<Economy> => noEconomy
  /** Its list or its parent named it a moment ago. */
  isThere = async (): Promise<boolean> => true
  /** A record missing from a moving list is requested by its single. */
  endPass: TaskWriter['endPass'] = async ({ stream }, at) => {
    if (at.unproven) this.#tally.problem(stream.name, at.unproven.replaceAll('<stream>', stream.name))
    return nextVariant(at)
  }

  async commit({ task }: TaskRun, changes: ChangeSet, { pages, after }: CommitExtras = {}): Promise<void> {
    await after
    const keys = changes.tables.filter(({ stream }) => stream === this.#stream).flatMap(keysOf)
    for (const key of keys) this.#answered.add(key)
    for (const key of pages?.keys.flat() ?? []) this.#listed.add(key)
    // A summary does not show the fields it omits: the record's single decides.
    if (pages?.summary === true) for (const key of keys) this.#due.add(key)
    else await this.#compare(task, changes)
  }

  async #compare(task: Task, { tables, bad, problems, tombstones }: ChangeSet): Promise<void> {
    for (const table of tables)
      if (table.mode === 'record') this.#tally.of(table.stream.name).compared += table.rows.length
    for (const { stream } of bad) this.#tally.of(stream).bad += 1
    for (const problem of problems) this.#tally.problem(this.#stream.name, problem)
    for (const { stream, keys } of tombstones) this.#tally.add([deleted(stream, keys)])
    const found = await this.#differences(tables)
    if (task.kind === 'sweep') this.#tally.add(await this.#withoutUndecided(tables, found))
    else {
      this.#tally.add(found)
      for (const key of [...tables.flatMap(keysOf), ...bad.map(({ key }) => key)]) this.#undecided.delete(key)
    }
  }

  #differences(tables: readonly TableWrite[]): Promise<readonly Comparison[]> {
    return this.#context.database.transaction((client) => compareWrites(client, tables))
  }

  /** Removes listed records that differ: their singles decide, because the mirror's row may come from there. */
  async #withoutUndecided(tables: readonly TableWrite[], found: readonly Comparison[]): Promise<readonly Comparison[]> {
    const own = this.#stream.name
    if (!found.some(({ stream, different }) => stream === own && different > 0)) return found
    const before = this.#undecided.size
    for (const write of tables.filter(({ stream }) => stream.name === own))
      for (let start = 0; start < write.rows.length; start += named)
        for (const { samples } of await this.#differences([{ ...write, rows: write.rows.slice(start, start + named) }]))
          for (const sample of samples)
            if (sample.kind === 'different') this.#undecided.set(keyText(sample.key), sample)
    for (const key of this.#undecided.keys()) this.#due.add(key)
    this.#tally.of(own).compared -= this.#undecided.size - before
    return found.map((comparison) =>
      comparison.stream === own
        ? { ...comparison, different: 0, samples: comparison.samples.filter(({ kind }) => kind !== 'different') }
        : comparison,
    )
  }

  /** Requests the records that only the mirror has. */
  async endSweep(): Promise<void> {
    const mirrored = await dueKeys(
      this.#context.database.pool,
      this.#stream,
      dueSettings(this.#context, { scope: 'sync', before: endOfTime }),
    )
    const missing = mirrored.flatMap(({ key }) => (this.#listed.has(key) ? [] : key))
    this.#add([planTask])
    for await (const tasks of confirmationsOf([missing], missing.length, { kind: 'confirm' })) this.#add(tasks)
  }

  async plan({ stream }: TaskRun): Promise<Plan> {
    const keys = stream.reads.kind === 'list' ? this.#due : this.#parents
    return { due: [...keys].map((key) => ({ key, rank: 0, reason: 'asked' })) }
  }

  async end(_: TaskRun, next?: Following): Promise<void> {
    this.#add(next?.tasks ?? [])
  }
}

const keysOf = ({ rows }: TableWrite): readonly string[] => rows.map((row) => keyText(row.key))

const deleted = (stream: StreamDef, keys: readonly (readonly string[])[]): Comparison => ({
  stream: stream.name,
  ...{ missing: 0, different: 0, deleted: keys.length },
  samples: keys.map((key) => ({ stream: stream.name, key, kind: 'deleted', columns: {} })),
})

/** Why something could not be read. @throws the error itself when it is not a failed read, or concerns all reads. */
function reasonOf(error: unknown): string {
  const isRead = error instanceof ApiError || (error instanceof BoatMirrorError && error.code === 'API_UNREACHABLE')
  if (!isRead || error.kind === 'fatal' || error.kind === 'abort') throw error
  return messageOf(error)
}
