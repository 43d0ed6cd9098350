// BullMQ on Postgres. The queue has a separate pool.

import { createPostgresBackend, Queue, Worker } from 'bullmq'
import {
  type BackendOptions,
  listening,
  processorOf,
  type QueueBackend,
  queueOptions,
  running,
  workerOptions,
} from '../queues.ts'
import { postgresQueueError, quietly, untilReady } from './backend-ready.ts'
import { bullPool, schema } from './queue-tables.ts'

/** Three workers pin a LISTEN connection each; the rest serves their jobs. */
const poolSize = 16

export function postgresBackend(options: BackendOptions): QueueBackend {
  const pool = bullPool(options, poolSize)
  // Without notifications, an idle worker polls: every second instead of every five.
  const asking = options.pooling === 'transaction' ? { drainDelay: 1 } : {}
  const onError = quietly(options.log)
  return {
    kind: 'postgres',
    openQueue: (name) =>
      untilReady(
        postgresQueueError,
        options,
        () => {
          const queue = new Queue(name, { ...queueOptions, connection: pool.connection() }, createPostgresBackend)
          queue.on('error', onError)
          return queue
        },
        (queue) => queue.waitUntilReady(),
      ),
    openWorker: (name, processor, concurrency) =>
      untilReady(
        postgresQueueError,
        options,
        () =>
          listening(
            new Worker(
              name,
              processorOf(processor),
              { ...workerOptions, ...asking, concurrency, connection: pool.connection() },
              createPostgresBackend,
            ),
            onError,
          ),
        (worker) => worker.waitUntilReady(),
      ).then((worker) => running(worker, onError)),
    risk: async () => null,
    ping: async () => {
      try {
        await pool.query(`select 1 from ${schema}.job limit 1`)
      } catch (error) {
        throw postgresQueueError(error)
      }
    },
    close: () => pool.end(),
  }
}
