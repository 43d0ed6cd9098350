// One list read three times: into an empty table, unchanged, and with a hundredth changed. Also what the sandbox needs for it.

import { callOffDetails, nodeFlags } from '../lists.ts'
import { runOnce } from '../processes.ts'
import type { Programs } from '../programs.ts'
import { listsBeforeRentals } from '../streams.ts'
import type { SyncOptions, SyncResult } from '../sync-process.ts'
import { type Databases, openWorld } from '../world.ts'

export type ListSync = { readonly what: string } & Pick<SyncResult, 'ms' | 'cpuS' | 'peakMb' | 'read' | 'written'>

export type ListResult = {
  readonly size: number
  readonly syncs: readonly ListSync[]
  /** The largest resident set of the sandbox, in MB. */
  readonly sandboxMb: number
}

/** Reads the list of a world of so many rentals. */
export async function measureList(
  size: number,
  { databases, programs }: { readonly databases: Databases; readonly programs: Programs },
): Promise<ListResult> {
  const world = await openWorld(size)
  const database = await databases.create()
  const read = async (streams: readonly string[]): Promise<SyncResult> => {
    const options: SyncOptions = {
      role: 'ask',
      apiUrl: world.url,
      env: { DATABASE_URL: database, API_PAGE_SIZE: '100', API_CONCURRENCY: '8' },
      streams,
      full: false,
      until: 'lists',
      addresses: null,
      warmUp: null,
    }
    const result = await runOnce<SyncResult>(programs.sync, options, nodeFlags)
    await callOffDetails(database)
    return result
  }
  const syncs: ListSync[] = []
  const measure = async (what: string): Promise<void> => {
    const { ms, cpuS, peakMb, read: records, written } = await read(['rentals'])
    syncs.push({ what, ms, cpuS, peakMb, read: records, written })
    process.stderr.write(`list of ${size}, ${what}: ${Math.round(ms / 1000)} s\n`)
  }
  try {
    await read(listsBeforeRentals)
    await measure('first')
    await measure('unchanged')
    await world.change(size, 0.01, 1)
    await measure('1 % changed')
    return { size, syncs, sandboxMb: await world.peakMb() }
  } finally {
    await world.close()
    await databases.drop(database)
  }
}
