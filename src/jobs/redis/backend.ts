// BullMQ on Redis: the way to many machines.

import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { withDeadline } from '../../clock.ts'
import type { BoatMirrorError } from '../../errors.ts'
import { type Opened, quietly, untilReady } from '../postgres/backend-ready.ts'
import {
  type BackendOptions,
  type BackendRisk,
  listening,
  processorOf,
  type QueueBackend,
  queueOptions,
  running,
  workerOptions,
} from '../queues.ts'
import { keptMs, probeRedis, redisError } from './probe.ts'

/** Milliseconds after which a try without an answer is repeated. */
const longestTryMs = 10_000
/** Milliseconds within which a connection in use must answer. */
const ownAnswerMs = 2_000

export function redisBackend(options: BackendOptions, url: string): QueueBackend {
  const onError = quietly(options.log)
  const connections = new Set<Redis>()
  /** `waits`: commands wait for a lost connection, as a worker needs it. The commands of a queue fail, and its caller retries. */
  const connect = (waits: boolean): Redis => {
    // A blocking read waits at most 10 s, so 20 s of silence means a dead connection.
    const redis = sayingItsEnd(
      new Redis(url, {
        maxRetriesPerRequest: null,
        socketTimeout: 20_000,
        connectTimeout: 5_000,
        enableOfflineQueue: waits,
        retryStrategy: (times) => Math.min(times * 100, 2_000),
        // After a failover the address leads to another Redis, and the former primary lives on as a replica.
        reconnectOnError: ({ message }) => /(^|-)(READONLY|LOADING|MASTERDOWN)\b/.test(message),
      }),
    )
    redis.on('error', onError)
    connections.add(redis)
    return redis
  }
  /** Closes the connection with its user, also after a failed try: BullMQ leaves a given connection open. */
  const withConnection = <T extends Opened>(redis: Redis, open: (connection: Redis) => T): T => {
    const opened = open(redis)
    const close = opened.close.bind(opened)
    opened.close = (force) =>
      withDeadline(close(force), longestTryMs).finally(() => {
        redis.disconnect()
        connections.delete(redis)
      })
    return opened
  }
  const failure = (error: unknown): BoatMirrorError => redisError(url, error)
  const patience = Math.min(longestTryMs, Math.max(1_000, options.patienceMs))
  const ready = <T extends Opened>(waits: boolean, open: (connection: Redis) => T): Promise<T> =>
    untilReady(
      failure,
      options,
      () => withConnection(connect(waits), open),
      (opened) => withDeadline(opened.waitUntilReady(), patience),
    )
  const { prefix } = options
  return {
    kind: 'redis',
    openQueue: (name) =>
      ready(false, (connection) => new Queue(name, { ...queueOptions, connection, prefix }).on('error', onError)),
    openWorker: async (name, processor, concurrency) => {
      const settings = { ...workerOptions, concurrency, prefix }
      const worker = await ready(true, (connection) =>
        listening(new Worker(name, processorOf(processor), { ...settings, connection }), onError),
      )
      return running(worker, onError)
    },
    ping: async () => {
      // Also on the connections in use: a new one may lead to another Redis.
      const writes = [...connections].map(async (own) => {
        if (own.status !== 'ready') throw new Error('Connection is closed.')
        await withDeadline(own.set(`${options.prefix}:check:own`, '1', 'PX', keptMs), ownAnswerMs)
      })
      await Promise.all(writes).catch((error: unknown) => {
        throw failure(error)
      })
      await probeRedis(url, options.prefix)
    },
    risk: async () => riskOf((await probeRedis(url, options.prefix)).evictionPolicy),
    close: async () => {
      for (const redis of connections) redis.disconnect()
    },
  }
}

/**
 * A client that disconnects between two attempts to connect emits no end (ioredis 6.0), for which a closing worker waits. One more
 * attempt, aborted at once, emits it. The same holds for the copies that BullMQ makes.
 */
function sayingItsEnd(redis: Redis): Redis {
  const disconnect = redis.disconnect.bind(redis)
  redis.disconnect = (reconnect) => {
    if (redis.status === 'reconnecting' && reconnect !== true) redis.connect().catch(() => undefined) // aborted below
    disconnect(reconnect)
  }
  const duplicate = redis.duplicate.bind(redis)
  redis.duplicate = (override) => sayingItsEnd(duplicate(override))
  return redis
}

/** Redis evicts keys when its memory is full, unless configured otherwise; a queue that loses keys stops. Pure. */
function riskOf(policy: string | null): BackendRisk | null {
  if (policy === null || policy === 'noeviction') return null
  return {
    detail: `Redis may drop keys of the queue when its memory is full: maxmemory-policy is ${policy}`,
    remedy: 'Set maxmemory-policy noeviction in Redis.',
  }
}
