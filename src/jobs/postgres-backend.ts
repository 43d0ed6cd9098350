// BullMQ on Postgres. The queue has a pool of its own.

import { createPostgresBackend, Queue, Worker } from 'bullmq'
import { queueError, quietly, untilReady } from './backend-ready.ts'
import type { BackendOptions, QueueBackend } from './backend-types.ts'
import { listening, processorOf, running, tracedBy, workerOptions } from './bull-worker.ts'
import { bullPool, createPool, schema } from './postgres-queue-tables.ts'

/** Three workers pin a LISTEN connection each; the rest serves their jobs. */
const poolSize = 16

export function postgresBackend(options: BackendOptions): QueueBackend {
  const pool = createPool(options.databaseUrl, options.log, poolSize)
  const onError = quietly(options.log)
  const traced = tracedBy(options)
  return {
    kind: 'postgres',
    openQueue: (name) =>
      untilReady(
        'postgres',
        options,
        () => {
          const queue = new Queue(name, { ...traced, connection: bullPool(pool) }, createPostgresBackend)
          queue.on('error', onError)
          return queue
        },
        (queue) => queue.waitUntilReady(),
      ),
    openWorker: (name, processor, concurrency) =>
      untilReady(
        'postgres',
        options,
        () =>
          listening(
            new Worker(
              name,
              processorOf(processor),
              { ...workerOptions, ...traced, concurrency, connection: bullPool(pool) },
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
        throw queueError('postgres', error)
      }
    },
    close: () => pool.end(),
  }
}
