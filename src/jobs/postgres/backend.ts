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
import { type Opened, postgresQueueError, quietly, untilReady } from './backend-ready.ts'
import { bullPool, schema } from './queue-tables.ts'

/** Three workers pin a LISTEN connection each; the rest serves their jobs. */
const poolSize = 16

export function postgresBackend(options: BackendOptions): QueueBackend {
  const pool = bullPool(options, poolSize)
  // Without notifications, an idle worker polls: every second instead of every five.
  const asking = options.pooling === 'transaction' ? { drainDelay: 1 } : {}
  const onError = quietly(options.log)
  const ready = <T extends Opened>(open: () => T): Promise<T> => untilReady(postgresQueueError, options, open)
  return {
    kind: 'postgres',
    openQueue: (name) =>
      ready(() =>
        new Queue(name, { ...queueOptions, connection: pool.connection() }, createPostgresBackend).on('error', onError),
      ),
    openWorker: async (name, processor, concurrency) => {
      const settings = { ...workerOptions, ...asking, concurrency }
      const worker = await ready(() => {
        const connection = pool.connection()
        const opened = new Worker(name, processorOf(processor), { ...settings, connection }, createPostgresBackend)
        return listening(opened, onError)
      })
      return running(worker, onError)
    },
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
