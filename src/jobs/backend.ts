// BullMQ on Postgres or on Redis, also on a backend that is not available yet: queues and workers are opened in the background, so that
// work without a queue can start. Until it is open, a queue refuses all calls.

import { sleep, withDeadline } from '../clock.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { postgresBackend } from './postgres/backend.ts'
import type { BackendOptions, JobQueue, QueueBackend } from './queues.ts'
import { redisBackend } from './redis/backend.ts'

export { migrateQueue } from './postgres/queue-tables.ts'

/** Opens the backend that the configuration names: Redis when there is a `redisUrl`, else Postgres. */
export function openBackend(options: BackendOptions): QueueBackend {
  return options.redisUrl === null ? postgresBackend(options) : redisBackend(options, options.redisUrl)
}

/** Milliseconds to the next try after a refusal, which only an operator can fix. */
const againAfterMs = 10_000
/** Milliseconds within which a running backend opens. */
const graceMs = 2_000
/** Milliseconds after which a queue that does not answer counts as gone. */
const answerMs = 10_000

/** The same backend, opened in the background. `signal` ends the tries, and must be aborted before the backend is closed. */
export function openLate(backend: QueueBackend, log: Logger, signal: AbortSignal): QueueBackend {
  /** Tries until it works; undefined if it is stopped before. */
  const open = async <T>(attempt: () => Promise<T>): Promise<T | undefined> => {
    while (!signal.aborted)
      try {
        return await attempt()
      } catch (error) {
        if (signal.aborted) break
        const remedy = error instanceof BoatMirrorError ? error.remedy : undefined
        log.error({ event: 'queue_refused', reason: messageOf(error) }, `${messageOf(error)} ${remedy ?? ''}`)
        await sleep(againAfterMs, signal).catch(() => undefined) // stopped
      }
    return undefined
  }
  const grace = sleep(graceMs, signal).catch(() => undefined) // stopped
  return {
    ...backend,
    openQueue: async (name) => {
      let queue: JobQueue | undefined
      const opening = open(() => backend.openQueue(name)).then((opened) => {
        queue = opened
      })
      await Promise.race([opening, grace])
      const ask = async <T>(question: (there: JobQueue) => Promise<T>): Promise<T> => {
        if (queue === undefined)
          throw new BoatMirrorError('QUEUE_UNREACHABLE', `The queue ${name} is not available yet.`)
        return await withDeadline(question(queue), answerMs)
      }
      return {
        add: (...job) => ask((there) => there.add(...job)),
        getJobCounts: () => ask((there) => there.getJobCounts()),
        addBulk: (jobs) => ask((there) => there.addBulk(jobs)),
        getJobSchedulers: (...range) => ask((there) => there.getJobSchedulers(...range)),
        upsertJobScheduler: (...scheduler) => ask((there) => there.upsertJobScheduler(...scheduler)),
        removeJobScheduler: (id) => ask((there) => there.removeJobScheduler(id)),
        setGlobalConcurrency: (concurrency) => ask((there) => there.setGlobalConcurrency(concurrency)),
        close: () => opening.then(() => queue?.close()),
      }
    },
    openWorker: async (...wanted) => {
      const opening = open(() => backend.openWorker(...wanted))
      await Promise.race([opening, grace])
      return { close: (force) => opening.then((worker) => worker?.close(force)) }
    },
  }
}
