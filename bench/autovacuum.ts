// The second sync of many rentals with their details on a server that nothing analyses, and on the same tables after what
// autovacuum does.

import { Client } from 'pg'
import { nodeFlags, type Place } from './lists.ts'
import { runOnce } from './processes.ts'
import { detailStreams } from './streams.ts'
import type { SyncOptions, SyncResult } from './sync-process.ts'

/** What the second sync took. */
export type AutovacuumResult = {
  /** Whether the tables were vacuumed and analysed before it. */
  readonly isOn: boolean
  readonly ms: number
  readonly cpuS: number
  /** Rows of tables and entries of indexes that Postgres read for it. */
  readonly rowsRead: number
  /** Pages of 8 kB that it read, in its memory or not. */
  readonly buffers: number
}

/**
 * Syncs a world once with autovacuum off, then in each round a copy of that database as it is and one that was vacuumed and
 * analysed, in turn. Leaves autovacuum on.
 */
export async function runAutovacuum(rounds: number, place: Place): Promise<readonly AutovacuumResult[]> {
  const { databases } = place
  await databases.setAutovacuum(false)
  try {
    const first = await databases.create()
    await sync(first, place)
    const results: AutovacuumResult[] = []
    for (let round = 1; round <= rounds; round++)
      for (const isOn of round % 2 === 1 ? [false, true] : [true, false]) {
        const database = await databases.copy(first)
        if (isOn) await withClient(database, (client) => client.query('vacuum (analyze)'))
        results.push({ isOn, ...(await secondSync(database, place)) })
        await databases.drop(database)
      }
    await databases.drop(first)
    return results
  } finally {
    await databases.setAutovacuum(true)
  }
}

async function sync(database: string, { programs, world }: Place): Promise<SyncResult> {
  const options: SyncOptions = {
    role: 'ask',
    apiUrl: world.url,
    env: { DATABASE_URL: database, API_PAGE_SIZE: '100', API_CONCURRENCY: '8' },
    streams: detailStreams,
    full: false,
    until: 'end',
    addresses: null,
    warmUp: null,
  }
  const result = await runOnce<SyncResult>(programs.sync, options, nodeFlags)
  if (result.notDone.length > 0) throw new Error(`The sync did not end well: ${result.notDone.join(', ')}`)
  return result
}

async function secondSync(database: string, place: Place): Promise<Omit<AutovacuumResult, 'isOn'>> {
  const before = await workOf(database)
  const { ms, cpuS } = await sync(database, place)
  const after = await workOf(database)
  return { ms, cpuS, rowsRead: after.rowsRead - before.rowsRead, buffers: after.buffers - before.buffers }
}

/** What Postgres read so far in a database; a connection that has ended is counted. */
const workOf = (database: string): Promise<{ rowsRead: number; buffers: number }> =>
  withClient(database, async (client) => {
    const { rows } = await client.query<{ rowsRead: number; buffers: number }>(
      `select (tup_returned + tup_fetched)::float8 as "rowsRead", (blks_hit + blks_read)::float8 as buffers
       from pg_stat_database where datname = current_database()`,
    )
    return rows[0] ?? { rowsRead: 0, buffers: 0 }
  })

async function withClient<T>(database: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: database })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}
