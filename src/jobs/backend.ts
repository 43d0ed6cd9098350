// BullMQ on Postgres or on Redis behind one factory. Holds the guards for the defects measured in the Postgres backend:
// nothing is used before it proved to be ready, and the queue has a pool of its own.

import {
  assertSchemaCompatibility,
  type BulkJobOptions,
  createPostgresBackend,
  type Job,
  type JobsOptions,
  LATEST_SCHEMA_VERSION,
  type PgPool,
  Queue,
  type RepeatOptions,
  runMigrations,
  SchemaMigrationRequiredError,
  Worker,
} from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import { sleep } from '../clock.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { queueNames } from './queues.ts'

export type BackendKind = 'postgres' | 'redis'

export type Processor = (job: Job, signal: AbortSignal) => Promise<Record<string, number | string>>

/** What we use of a BullMQ queue, on either backend. */
export type JobQueue = {
  add(name: string, data: unknown, options?: JobsOptions): Promise<unknown>
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

export type QueueBackend = {
  readonly kind: BackendKind
  /** Opens a queue that has answered. */
  openQueue(name: string): Promise<JobQueue>
  /** Opens a worker that has answered, and lets it run. */
  openWorker(name: string, processor: Processor, concurrency: number): Promise<JobWorker>
  /** Is the backend there? @throws BoatMirrorError QUEUE_UNREACHABLE or QUEUE_REFUSED */
  ping(): Promise<void>
  close(): Promise<void>
}

export type BackendOptions = {
  readonly databaseUrl: string
  readonly redisUrl: string | null
  /** Names this installation's keys, so that several can share one Redis. */
  readonly prefix: string
  readonly log: Logger
  /** How long to wait for a backend that does not answer, in milliseconds. */
  readonly patienceMs: number
  readonly signal: AbortSignal
}

const schema = 'bullmq'
/** Three workers pin a LISTEN connection each; the rest serves their jobs. */
const poolSize = 16
const quietMs = 5_000
/** A try that is not answered within this is given up, and another one made. */
const longestTryMs = 10_000

/** BullMQ waits for ever for a backend that is gone; a process with nothing left to do does not, in milliseconds. */
const closeMs = 10_000

const workerOptions = {
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

/** Lets `close` wait no longer than `closeMs`: what the backend did not hear of, it finds out by its own time limits. */
function endingInTime<T extends { close(force?: boolean): Promise<void> }>(opened: T, log: Logger): T {
  const close = opened.close.bind(opened)
  opened.close = (force) =>
    withDeadline(close(force), closeMs).catch((error: unknown) =>
      log.warn({ event: 'queue_close_failed', reason: messageOf(error) }, 'the queue could not be closed cleanly'),
    )
  return opened
}

/** Says the same error once in five seconds. */
function quietly(log: Logger): (error: Error) => void {
  const last = new Map<string, number>()
  return (error) => {
    const now = Date.now()
    if (now - (last.get(error.message) ?? 0) < quietMs) return
    last.set(error.message, now)
    log.warn({ event: 'queue_error', reason: messageOf(error) }, 'the queue backend reported an error')
  }
}

const refusals =
  /NOAUTH|WRONGPASS|NOPERM|password authentication|does not exist|permission denied|SchemaMigration|schema/i

function queueError(kind: BackendKind, error: unknown): BoatMirrorError {
  const variable = kind === 'redis' ? 'REDIS_URL' : 'DATABASE_URL'
  const refused = refusals.test(messageOf(error))
  return new BoatMirrorError(
    refused ? 'QUEUE_REFUSED' : 'QUEUE_UNREACHABLE',
    `The queue on ${kind === 'redis' ? 'Redis' : 'Postgres'} does not work: ${messageOf(error)}`,
    {
      cause: error,
      remedy:
        refused && kind === 'postgres' ? 'Run boat-mirror migrate with a role that may create.' : `Check ${variable}.`,
    },
  )
}

/** Tries until it works, patience runs out or the backend refuses for good. Each try uses new objects: a failed one stays failed (BullMQ 6.7). */
async function untilReady<T extends { close(force?: boolean): Promise<void> }>(
  kind: BackendKind,
  options: BackendOptions,
  open: () => T,
  ready: (opened: T) => Promise<unknown>,
): Promise<T> {
  const deadline = Date.now() + options.patienceMs
  for (let delayMs = 200; ; delayMs = Math.min(delayMs * 2, 2_000)) {
    const opened = open()
    try {
      await ready(opened)
      return endingInTime(opened, options.log)
    } catch (error) {
      await opened
        .close()
        .catch((cause: unknown) => options.log.debug({ event: 'queue_close_failed', reason: messageOf(cause) }))
      const failure = queueError(kind, error)
      if (failure.code === 'QUEUE_REFUSED' || Date.now() + delayMs > deadline) throw failure
      await sleep(delayMs, options.signal)
    }
  }
}

/** True when BullMQ's tables are of this version and each of our queues has its sequence (named by BullMQ 6.7). */
async function isQueueMigrated(client: pg.Client): Promise<boolean> {
  try {
    if ((await assertSchemaCompatibility(client, schema)) !== LATEST_SCHEMA_VERSION) return false
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return false
    throw error
  }
  const { rows } = await client.query<{ found: number }>(
    `select count(*)::int as found from unnest($1::text[]) q
     where to_regclass($2 || '.bullmq_jid_' || md5(q)) is not null`,
    [queueNames, schema],
  )
  return rows[0]?.found === queueNames.length
}

/** Creates BullMQ's own tables, and the sequences of our queues, so that a role without CREATE can work (reliability F14). */
export async function migrateQueue(databaseUrl: string, log: Logger): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', quietly(log))
  await client.connect()
  try {
    if (await isQueueMigrated(client)) return
    await runMigrations(client, schema)
  } finally {
    await client.end()
  }
  const pool = createPool(databaseUrl, log, 2)
  try {
    for (const name of queueNames) {
      const queue = new Queue(name, { connection: bullPool(pool) }, createPostgresBackend)
      await queue.waitUntilReady()
      // The first job with an id of the queue's own creates the queue's sequence.
      const job = await queue.add('migrated', {}, { delay: 3_600_000 })
      await job.remove()
      await queue.close()
    }
  } finally {
    await pool.end()
  }
}

function createPool(databaseUrl: string, log: Logger, max: number): pg.Pool {
  const onError = quietly(log)
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max,
    options: `-c search_path=${schema}`,
    application_name: 'boat-mirror queue',
    connectionTimeoutMillis: 10_000,
    query_timeout: 20_000,
    keepAlive: true,
  })
  pool.on('error', onError)
  pool.on('connect', (client) => client.on('error', onError))
  return pool
}

// BullMQ describes pg's pool by an interface of its own, whose overloads pg's types do not match.
const bullPool = (pool: pg.Pool): PgPool => pool as unknown as PgPool

/** Opens the backend that the configuration names: Redis when there is a `redisUrl`, else Postgres. */
export function openBackend(options: BackendOptions): QueueBackend {
  return options.redisUrl === null ? postgresBackend(options) : redisBackend(options, options.redisUrl)
}

function postgresBackend(options: BackendOptions): QueueBackend {
  const pool = createPool(options.databaseUrl, options.log, poolSize)
  const onError = quietly(options.log)
  return {
    kind: 'postgres',
    openQueue: (name) =>
      untilReady(
        'postgres',
        options,
        () => {
          const queue = new Queue(name, { connection: bullPool(pool) }, createPostgresBackend)
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
              { ...workerOptions, concurrency, connection: bullPool(pool) },
              createPostgresBackend,
            ),
            onError,
          ),
        (worker) => worker.waitUntilReady(),
      ).then((worker) => running(worker, onError)),
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

function redisBackend(options: BackendOptions, url: string): QueueBackend {
  const onError = quietly(options.log)
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
          const queue = new Queue(name, { connection: connect(), prefix: options.prefix })
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
              concurrency,
              connection: connect(),
              prefix: options.prefix,
            }),
            onError,
          ),
        answered,
      ).then((worker) => running(worker, onError)),
    ping: async () => {
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
        await redis.ping()
      } catch (error) {
        throw queueError('redis', reason ?? error)
      } finally {
        redis.disconnect()
      }
    },
    close: async () => {
      for (const redis of connections) redis.disconnect()
    },
  }
}

async function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

const processorOf = (processor: Processor) => (job: Job, _token?: string, signal?: AbortSignal) =>
  processor(job, signal ?? new AbortController().signal)

type WorkerLike = {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'lockRenewalFailed', listener: (jobIds: string[]) => void): unknown
  cancelJob(jobId: string, reason?: string): boolean
  run(): Promise<void>
}

function listening<T extends WorkerLike>(worker: T, onError: (error: Error) => void): T {
  worker.on('error', onError)
  // A lost lock does not stop the handler by itself.
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'lock lost')
  })
  return worker
}

function running<T extends WorkerLike>(worker: T, onError: (error: Error) => void): T {
  worker.run().catch(onError)
  return worker
}
