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
  /** The same with little to do, which each worker does first in a copy of its own, to be as warm as one that runs for long; null: new processes. */
  readonly warmUp: string | null
  readonly streams: readonly string[]
  readonly inFlight: number
  /** Requests per second over all workers; 0: no limit, and nothing is counted. */
  readonly ratePerSecond: number
}

/** Lets so many workers read all details of these streams. */
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
    streams: work.streams,
    full: false,
    until: 'end',
    addresses: null,
  } as const
  const warmUps: string[] = []
  const startOne = async (role: SyncOptions['role']): Promise<Child> => {
    const warmUp = work.warmUp === null ? null : await databases.copy(work.warmUp)
    if (warmUp !== null) warmUps.push(warmUp)
    return start(programs.sync, [JSON.stringify({ ...common, role, warmUp } satisfies SyncOptions)], nodeFlags)
  }
  const helpers: Child[] = []
  try {
    while (helpers.length < workers - 1) helpers.push(await startOne('help'))
    for (const helper of helpers) await helper.next()
    const asking = await startOne('ask')
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
    for (const each of [database, ...warmUps]) await databases.drop(each)
  }
}

/** Forgets details, so that they are due: those of all records, or of a few of each stream. */
export async function forgetDetails(databaseUrl: string, few: number | null = null): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(
    `update sync.records r set detail_read_at = null, detail_hash = null
     from (select stream, key, row_number() over (partition by stream order by key) as place from sync.records) p
     where p.stream = r.stream and p.key = r.key and ($1::int is null or p.place <= $1)`,
    [few],
  )
  await client.end()
}
