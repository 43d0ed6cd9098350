// Worker processes on the details of rentals, beside each other, with latency upstream and two requests in flight each, so
// that the waiting is shared and not the processors.

import { Client } from 'pg'
import { nodeFlags, type Place } from './lists.ts'
import { type Child, start } from './processes.ts'
import type { SyncOptions, SyncResult } from './sync-process.ts'

export type WorkersResult = {
  readonly workers: number
  readonly ms: number
  readonly requests: number
  /** Processor seconds of all workers in one second: at most the number of processors. */
  readonly load: number
}

export type WorkersWork = {
  /** Address of a Redis with a queue of nobody else; null: the queue is on Postgres. */
  readonly redisUrl: string | null
  /** A database whose lists were read, to be copied. */
  readonly prepared: string
  readonly inFlight: number
  /** Requests per second over all workers; 0: no limit, and nothing is counted. */
  readonly ratePerSecond: number
}

/** Lets so many workers read the details of all rentals. */
export async function runWorkers(workers: number, work: WorkersWork, place: Place): Promise<WorkersResult> {
  const { databases, programs, world } = place
  const database = await databases.copy(work.prepared)
  const env = {
    DATABASE_URL: database,
    API_CONCURRENCY: String(work.inFlight),
    API_RATE_LIMIT: String(work.ratePerSecond),
    READ_ECONOMY: 'off', // what is shared is the waiting for details; few are left otherwise
    ...(work.redisUrl === null ? {} : { REDIS_URL: work.redisUrl }),
  }
  const common = {
    apiUrl: world.url,
    env,
    streams: ['rentals'],
    full: false,
    until: 'end',
    addresses: null,
    warmUp: null,
  } as const
  const startOne = (role: SyncOptions['role']): Child =>
    start(programs.sync, [JSON.stringify({ ...common, role } satisfies SyncOptions)], nodeFlags)
  const helpers = Array.from({ length: workers - 1 }, () => startOne('help'))
  try {
    for (const helper of helpers) await helper.next()
    const asking = startOne('ask')
    const result = await asking.next<SyncResult>()
    await asking.end()
    if (result.notDone.length > 0) throw new Error(`The sync did not end well: ${result.notDone.join(', ')}`)
    let cpuS = result.cpuS
    for (const helper of helpers) {
      helper.process.kill('SIGTERM')
      cpuS += (await helper.next<{ cpuS: number }>()).cpuS
    }
    return { workers, ms: result.ms, requests: result.requests, load: cpuS / (result.ms / 1000) }
  } finally {
    await Promise.all(helpers.map((helper) => helper.end()))
    await databases.drop(database)
  }
}

/** Forgets the details of rentals, so that they are all due. */
export async function forgetDetails(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`update sync.records set detail_read_at = null, detail_hash = null`)
  await client.end()
}
