// BullMQ on Redis: the way to many machines.

import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { queueError, quietly, untilReady, withDeadline } from './backend-ready.ts'
import type { BackendOptions, BackendRisk, QueueBackend } from './backend-types.ts'
import { listening, processorOf, running, tracedBy, workerOptions } from './bull-worker.ts'

/** A try that is not answered within this is given up, and another one made. */
const longestTryMs = 10_000

export function redisBackend(options: BackendOptions, url: string): QueueBackend {
  const onError = quietly(options.log)
  const traced = tracedBy(options)
  const connections: Redis[] = []
  const connect = (): Redis => {
    // A blocking read waits at most 10 s, so 20 s of silence is a dead link (reliability F2).
    const redis = new Redis(url, {
      maxRetriesPerRequest: null,
      socketTimeout: 20_000,
      connectTimeout: 5_000,
      retryStrategy: (times) => Math.min(times * 100, 2_000),
    })
    redis.on('error', onError)
    connections.push(redis)
    return redis
  }
  const answered = async (opened: { waitUntilReady(): Promise<unknown> }): Promise<void> => {
    await withDeadline(opened.waitUntilReady(), Math.min(longestTryMs, Math.max(1_000, options.patienceMs)))
  }
  return {
    kind: 'redis',
    openQueue: (name) =>
      untilReady(
        'redis',
        options,
        () => {
          const queue = new Queue(name, { ...traced, connection: connect(), prefix: options.prefix })
          queue.on('error', onError)
          return queue
        },
        answered,
      ),
    openWorker: (name, processor, concurrency) =>
      untilReady(
        'redis',
        options,
        () =>
          listening(
            new Worker(name, processorOf(processor), {
              ...workerOptions,
              ...traced,
              concurrency,
              connection: connect(),
              prefix: options.prefix,
            }),
            onError,
          ),
        answered,
      ).then((worker) => running(worker, onError)),
    ping: async () => {
      await askOnce(url, (redis) => redis.ping())
    },
    risk: async () => riskOf(await askOnce(url, (redis) => redis.info('memory'))),
    close: async () => {
      for (const redis of connections) redis.disconnect()
    },
  }
}

/** One question on a connection of its own, which is given up at the first refusal. @throws BoatMirrorError QUEUE_UNREACHABLE or QUEUE_REFUSED */
async function askOnce<T>(url: string, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, {
    maxRetriesPerRequest: 1,
    connectTimeout: 5_000,
    retryStrategy: () => null,
    lazyConnect: true,
  })
  let reason: unknown
  redis.on('error', (error) => (reason = error))
  try {
    await redis.connect()
    return await ask(redis)
  } catch (error) {
    throw queueError('redis', reason ?? error)
  } finally {
    redis.disconnect()
  }
}

/** Redis forgets keys when its memory is full, unless it is told not to; a queue that loses keys stands still. Pure. */
function riskOf(memory: string): BackendRisk | null {
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1]
  if (policy === undefined || policy === 'noeviction') return null
  return {
    detail: `Redis may drop keys of the queue when its memory is full: maxmemory-policy is ${policy}`,
    remedy: 'Set maxmemory-policy noeviction in Redis.',
  }
}
