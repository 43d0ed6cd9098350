// The queues, the content of their jobs, and the part of BullMQ we use, on either backend. A job carries ids, never
// content: it is a wake-up, and the tables define the work.

import type { BulkJobOptions, Job, JobsOptions, RepeatOptions } from 'bullmq'
import type { Pooling } from '../database/pooler.ts'
import type { Logger } from '../log.ts'

/** Carries out tasks of syncs. */
export const syncQueue = 'boat-mirror-sync'
/** Wakes streams when they are due; at most one job at a time over all workers. */
export const scheduleQueue = 'boat-mirror-schedule'
/** Wakes the pusher. */
export const pushQueue = 'boat-mirror-push'

export const queueNames = [syncQueue, scheduleQueue, pushQueue] as const

export type SyncJob = { readonly taskId: string }
/** `stream` is the name of a turn. */
export type TickJob = { readonly stream: string }

type BackendKind = 'postgres' | 'redis'

export type Processor = (job: Job, signal: AbortSignal) => Promise<Record<string, number | string>>

/** What we use of a BullMQ queue, on either backend. */
export type JobQueue = {
  add(name: string, data: unknown, options?: JobsOptions): Promise<unknown>
  /** Jobs by state. */
  getJobCounts(): Promise<Readonly<Record<string, number>>>
  addBulk(jobs: { name: string; data: unknown; opts?: BulkJobOptions }[]): Promise<unknown>
  getJobSchedulers(start?: number, end?: number): Promise<readonly { key: string; every?: number | undefined }[]>
  upsertJobScheduler(
    id: string,
    repeat: Omit<RepeatOptions, 'key'>,
    template?: {
      name?: string
      data?: unknown
      opts?: Omit<JobsOptions, 'jobId' | 'repeat' | 'delay' | 'deduplication' | 'debounce'>
    },
  ): Promise<unknown>
  removeJobScheduler(id: string): Promise<boolean>
  setGlobalConcurrency(concurrency: number): Promise<unknown>
  close(): Promise<void>
}

/** What we use of a BullMQ worker. */
export type JobWorker = { close(force?: boolean): Promise<void> }

export type BackendRisk = { readonly detail: string; readonly remedy: string }

export type QueueBackend = {
  readonly kind: BackendKind
  /** Opens a queue that has answered. */
  openQueue(name: string): Promise<JobQueue>
  /** Opens a worker that has answered, and lets it run. */
  openWorker(name: string, processor: Processor, concurrency: number): Promise<JobWorker>
  /** What about the way this backend is set up may cost jobs, and what to do; null: nothing. @throws BoatMirrorError like `ping` */
  risk(): Promise<BackendRisk | null>
  /** Is the backend there? @throws BoatMirrorError QUEUE_UNREACHABLE or QUEUE_REFUSED */
  ping(): Promise<void>
  close(): Promise<void>
}

export type BackendOptions = {
  readonly databaseUrl: string
  /** The pooler in front of that database; none by default. */
  readonly pooling?: Pooling
  readonly redisUrl: string | null
  /** Names this installation's keys, so that several can share one Redis. */
  readonly prefix: string
  readonly log: Logger
  /** How long to wait for a backend that does not answer, in milliseconds. */
  readonly patienceMs: number
  readonly signal: AbortSignal
}
