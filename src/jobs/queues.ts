// The queues, the content of their jobs, and the part of BullMQ we use, on either backend. A job carries ids, never
// content: it is a wake-up, and the tables define the work.

import type { Job, Queue } from 'bullmq'
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

/** The part of a BullMQ queue that we use. */
export type JobQueue = Pick<
  Queue,
  | 'add'
  | 'addBulk'
  | 'close'
  | 'getJobCounts'
  | 'getJobSchedulers'
  | 'upsertJobScheduler'
  | 'removeJobScheduler'
  | 'setGlobalConcurrency'
>

/** The part of a BullMQ worker that we use. */
export type JobWorker = { close(force?: boolean): Promise<void> }

export type BackendRisk = { readonly detail: string; readonly remedy: string }

export type QueueBackend = {
  readonly kind: BackendKind
  /** Opens a queue that has answered. */
  openQueue(name: string): Promise<JobQueue>
  /** Opens a worker that has answered, and lets it run. */
  openWorker(name: string, processor: Processor, concurrency: number): Promise<JobWorker>
  /** A setting of the backend that may lose jobs, and what to do; null: none. @throws BoatMirrorError like `ping` */
  risk(): Promise<BackendRisk | null>
  /** Checks the backend. @throws BoatMirrorError QUEUE_UNREACHABLE or QUEUE_REFUSED */
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
  /** Milliseconds to wait for a backend that does not answer. */
  readonly patienceMs: number
  readonly signal: AbortSignal
}

export const workerOptions = {
  autorun: false,
  lockDuration: 10_000,
  stalledInterval: 5_000,
  // A task survives any number of crashes; our own tables count its failures.
  maxStalledCount: 1_000_000,
  // Must stay below lockDuration, or a job whose result cannot be written runs twice.
  runRetryDelay: 1_000,
  removeOnComplete: { age: 60 },
  removeOnFail: { age: 3_600 },
} as const

/** BullMQ keeps ten thousand events of each queue by default. */
export const queueOptions = { streams: { events: { maxLen: 500 } } } as const

export const processorOf = (processor: Processor) => (job: Job, _token?: string, signal?: AbortSignal) =>
  processor(job, signal ?? new AbortController().signal)

type WorkerLike = {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'lockRenewalFailed', listener: (jobIds: string[]) => void): unknown
  cancelJob(jobId: string, reason?: string): boolean
  run(): Promise<void>
}

export function listening<T extends WorkerLike>(worker: T, onError: (error: Error) => void): T {
  worker.on('error', onError)
  // A lost lock does not stop the handler.
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'lock lost')
  })
  return worker
}

export function running<T extends WorkerLike>(worker: T, onError: (error: Error) => void): T {
  worker.run().catch(onError)
  return worker
}
