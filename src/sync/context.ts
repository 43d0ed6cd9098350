// What a sync needs from outside, as the smallest possible interfaces; and what its tasks and reads pass on.

import type { PoolClient } from 'pg'
import type { Api } from '../api/client.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { StreamDef, StreamReads } from '../catalog/types.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Logger } from '../log.ts'
import type { Privacy } from '../privacy/privacy.ts'
import type { ChangeSet } from './change-set.ts'
import { StubCache } from './details/stub-cache.ts'
import type { DueKey } from './due/due.ts'
import type { ReadCount } from './due/reads.ts'
import type { Economy } from './economy.ts'
import type { Checkpoint } from './lists/progress.ts'
import type { DetailState, Listed, Seen } from './remembered/detail-states.ts'
import type { KnownRecord } from './remembered/known-records.ts'
import type { ShownAfter } from './remembered/own-writes.ts'
import type { NewTask, Task, Waiting } from './runs/tasks.ts'

type SyncSettings = Pick<
  Config,
  | 'timeZone'
  | 'detailMaxAgeMs'
  | 'hotWindowMs'
  | 'readEconomy'
  | 'deleteLimit'
  | 'mirrorDocuments'
  | 'calendarYears'
  | 'priceDays'
  | 'slotDays'
  | 'slotDurations'
> & { readonly api: Pick<Config['api'], 'baseUrl' | 'paging' | 'lists' | 'concurrency'> }

export type SyncContext = {
  readonly database: Database
  readonly api: Api
  /** The database's clock: `_read_at` and leases are on it. */
  readonly clock: Clock
  readonly log: Logger
  readonly settings: SyncSettings
  /** How long the API needs to show a write of the outbox; missing: the assumed time. */
  readonly shownAfter?: ShownAfter
  /** Which personal data is stored; `api` protects its answers. Missing: all of it. */
  readonly privacy?: Privacy
  /** Called after a commit that wrote to the mirror. */
  readonly onCommit: (written: number) => void
  /** Called when tasks were added, or a run has none left, so that a worker checks immediately what comes next. */
  readonly onTasks: () => void
}

type Kind = StreamReads['kind']

/** What the reads of one stream need; `reads` are the stream's. */
export type Reading<K extends Kind = Kind> = {
  readonly context: SyncContext
  readonly stream: StreamDef
  readonly reads: Extract<StreamReads, { readonly kind: K }>
  readonly signal: AbortSignal
}

/** The reads of a stream that has a list. @throws Error for another stream: a bug. */
export function listReading<R extends Reading>(reading: R, stream: StreamDef): Omit<R, 'reads'> & Reading<'list'> {
  const { reads } = stream
  if (reads.kind !== 'list') throw new Error(`${stream.name} has no list.`)
  return { ...reading, stream, reads }
}

/** One running task. */
export type TaskRun<K extends Kind = Kind> = Reading<K> & {
  readonly task: Task
  readonly writer: TaskWriter
  readonly stubs: StubCache
  /** Held rows that an operator released: they may be deleted, however many they are. */
  readonly released?: ReadonlySet<string>
}

export function taskRun(context: SyncContext, task: Task, writer: TaskWriter, signal: AbortSignal): TaskRun {
  const stream = streamNamed(task.stream)
  return { context, task, stream, reads: stream.reads, writer, stubs: new StubCache(), signal }
}

/** What else a commit takes along. */
export type CommitExtras = {
  /** New checkpoint of the task; missing: the old one stays. */
  readonly checkpoint?: unknown
  /** Pages of a list that end with this commit. */
  readonly pages?: {
    readonly pass: number
    /** Number of the first of them. */
    readonly first: number
    readonly keys: readonly (readonly string[])[]
    /** The list's records are summaries of their singles. */
    readonly summary: boolean
  }
  /** The end of the task's commit before this one, which this one must not overtake; missing: there is none. */
  readonly after?: Promise<void>
  /** Further statements of the same transaction. */
  readonly also?: (client: PoolClient) => Promise<void>
}

/** What a run reads after its list. */
export type Plan = {
  /** The records whose details to read, in order of usefulness. */
  readonly due: readonly DueKey[]
  /** Records of a list to read although it shows what their singles would. */
  readonly sampled?: readonly DueKey[]
  /** The details of this run are to make a first sample. */
  readonly isFirst?: boolean
  /** What to note of reads that repeat others. */
  readonly reads?: readonly ReadCount[]
  /** The records of another stream by which to request the links that this stream fills. */
  readonly links?: readonly string[]
}

/** What follows a task that ends. */
export type Following = {
  readonly tasks: readonly NewTask[]
  /** How many records were found to be read; missing: that is not known by it. */
  readonly swept?: number
  /** What to note of reads that repeat others. */
  readonly reads?: readonly ReadCount[]
}

/**
 * What a task asks about earlier reads, and what becomes of what it finds. A sync commits it (`commit.ts`), a check
 * compares it with the mirror and takes nothing for known (`check.ts`); the tasks are the same.
 */
export type TaskWriter = {
  /** Whether records that stand inside others are of use. */
  readonly takesStubs: boolean
  /** Before the first read of a stream. */
  begin(run: TaskRun): Promise<void>
  /**
   * The stored state of records of a list, by key; `comparesAged`: also which of them to compare because of their
   * age.
   */
  knownRecords(run: Reading, keys: readonly string[], comparesAged: boolean): Promise<ReadonlyMap<string, KnownRecord>>
  knownDetails(run: Reading, keys: readonly string[]): Promise<ReadonlyMap<string, DetailState>>
  /** What the list showed of records, by key. */
  listed(run: Reading<'list'>, keys: readonly string[]): Promise<ReadonlyMap<string, Listed>>
  /** Which of the stream's redundant reads are skipped; `part`: of a first sample, the part that this task makes. */
  economy(run: TaskRun, part?: number): Promise<Economy>
  /** Was this record seen since then? */
  isThere(run: Reading, key: string, seen: Seen): Promise<boolean>
  /** Takes what was found. @throws BoatMirrorError LEASE_LOST when another worker took the task over. */
  commit(run: TaskRun, changes: ChangeSet, extras?: CommitExtras): Promise<void>
  /** Evaluates a pass through a list whose pages are all committed. Returns where to continue. */
  endPass(run: TaskRun, at: Checkpoint): Promise<Checkpoint>
  /** Ends a sweep: plans to confirm missing records, then plans details. */
  endSweep(run: TaskRun<'list'>, at: Checkpoint): Promise<void>
  plan(run: TaskRun): Promise<Plan>
  /** What waits for a place that these details have: something more urgent, anything at all? */
  waiting(run: TaskRun): Promise<Waiting>
  end(run: TaskRun, next?: Following): Promise<void>
}
