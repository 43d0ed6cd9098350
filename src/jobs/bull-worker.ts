// How our workers are set up and watched, on either backend.

import type { Job } from 'bullmq'
import type { Processor } from './queues.ts'

export const workerOptions = {
  autorun: false,
  lockDuration: 10_000,
  stalledInterval: 5_000,
  // A task outlives any number of crashes; what is poisonous is counted in our own tables.
  maxStalledCount: 1_000_000,
  // Must stay below lockDuration, or a job whose result cannot be written runs twice.
  runRetryDelay: 1_000,
  removeOnComplete: { age: 60 },
  removeOnFail: { age: 3_600 },
} as const

/** BullMQ keeps events of each queue for those who watch it: a few hundred are enough, ten thousand by default. */
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
