// BullMQ on Postgres or on Redis behind one factory, and a backend that may not be available yet: queues and workers
// are handed out immediately and opened in the background, so that work without a queue can start. Until it is open,
// a queue refuses all calls.

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

/** After a refusal, which only an operator can fix, the next try comes this much later, in milliseconds. */
const againAfterMs = 10_000
/** A running backend opens within this time, so no caller meets a queue that is not open yet; in milliseconds. */
const graceMs = 2_000
/** A queue that has not answered by then is treated as gone, in milliseconds. */
const answerMs = 10_000

/** The same backend, opened late. `signal` ends the tries; it must be aborted before the backend is closed. */
export function openLate(backend: QueueBackend, log: Logger, signal: AbortSignal): QueueBackend {
  /** Opens until it works; undefined when stopped before. */
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
