// The sync of rentals against its floors and against the usual ways, all on the same world in the same run.

import { join } from 'node:path'
import { Client } from 'pg'
import type { BaselineOptions, BaselineResult } from './baseline-process.ts'
import type { DownloadOptions, DownloadResult } from './download-process.ts'
import { runOnce } from './processes.ts'
import type { Programs } from './programs.ts'
import type { SyncOptions, SyncResult } from './sync-process.ts'
import type { Databases, World } from './world.ts'
import { type Rows, saveRows, writeRows } from './write-floor.ts'

export type Place = { readonly databases: Databases; readonly programs: Programs; readonly world: World }

/** One round: everything once. Times in milliseconds. */
export type Round = {
  readonly first: SyncResult
  /** The first sync by a process that has synced before; null: not measured. */
  readonly worker: SyncResult | null
  readonly again: SyncResult
  readonly changed: SyncResult
  readonly changedRecords: number
  readonly download: DownloadResult
  /** Null: was not asked for. */
  readonly write: { readonly ms: number; readonly rows: number } | null
  readonly rowByRow: BaselineResult | null
  readonly multiRow: BaselineResult | null
  readonly careful: BaselineResult | null
}

export type Work = {
  readonly size: number
  /** What is read: the list of rentals, or also the details of each. */
  readonly depth: 'lists' | 'details'
  readonly streams: readonly string[]
  /** Lists that are in the mirror before the first measured sync, as they are in every complete one. */
  readonly before: readonly string[]
  /** What the sync is measured against, besides the download floor: the write floor, the usual ways; and itself as a long-lived worker. */
  readonly against: readonly ('write floor' | 'usual ways' | 'long-lived worker')[]
}

const pageSize = 100
const concurrency = 8

/** V8 flags of the command line (src/cli/program.ts). */
export const nodeFlags = ['--heap-growing-percent=70']

/**
 * Where only lists are measured, the details that were planned after them are not to be read by the next sync, and their jobs,
 * which nobody else leaves behind, wake nobody.
 */
export async function callOffDetails(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`delete from sync.tasks; delete from bullmq.job; update sync.requests set finished_at = now();
    update sync.runs set status = 'done', finished_at = now() where status = 'running'`)
  await client.end()
}

/**
 * Prepares the rounds of one piece of work. The first round syncs first, because it finds out which addresses are read and
 * which rows are written; after that the order is turned around in every other round.
 */
export async function prepareRounds(
  work: Work,
  { databases, programs, world }: Place,
): Promise<(round: number) => Promise<Round>> {
  const addresses = join(databases.folder, 'addresses')
  let rows: Rows | undefined

  const optionsOf = (database: string): SyncOptions => ({
    role: 'ask',
    apiUrl: world.url,
    env: { DATABASE_URL: database, API_PAGE_SIZE: String(pageSize), API_CONCURRENCY: String(concurrency) },
    streams: work.streams,
    full: false,
    until: work.depth === 'lists' ? 'lists' : 'end',
    addresses: rows === undefined ? addresses : null,
    warmUp: null,
  })
  const start = await databases.create()
  if (work.before.length > 0) {
    const options: SyncOptions = { ...optionsOf(start), streams: work.before, until: 'lists', addresses: null }
    await runOnce<SyncResult>(programs.sync, options, nodeFlags)
    await callOffDetails(start)
  }

  const sync = async (database: string, warmUp: string | null = null): Promise<SyncResult> => {
    const result = await runOnce<SyncResult>(programs.sync, { ...optionsOf(database), warmUp }, nodeFlags)
    if (result.notDone.length > 0) throw new Error(`The sync did not end well: ${result.notDone.join(', ')}`)
    if (work.depth === 'lists') await callOffDetails(database)
    rows ??= await saveRows(database, databases.folder, work.streams)
    return result
  }
  const syncs = async (round: number): Promise<Partial<Round>> => {
    const database = await databases.copy(start)
    const first = await sync(database)
    const again = await sync(database)
    const changedRecords = await world.change(work.size, 0.01, round)
    const changed = await sync(database)
    await databases.drop(database)
    return { first, again, changed, changedRecords }
  }
  const longLived = async (): Promise<Partial<Round>> => {
    const [database, warmUp] = [await databases.copy(start), await databases.copy(start)]
    const worker = await sync(database, warmUp)
    await databases.drop(database)
    await databases.drop(warmUp)
    return { worker }
  }
  const download = async (): Promise<Partial<Round>> => {
    const options: DownloadOptions = { apiUrl: world.url, addresses, concurrency }
    return { download: await runOnce<DownloadResult>(programs.download, options) }
  }
  const inEmpty = async <T>(use: (database: string) => Promise<T>): Promise<T> => {
    const database = await databases.create()
    try {
      return await use(database)
    } finally {
      await databases.drop(database)
    }
  }
  const baseline = (way: BaselineOptions['way']): Promise<BaselineResult> =>
    inEmpty((databaseUrl) => {
      const options: BaselineOptions = { apiUrl: world.url, databaseUrl, way, pageSize }
      return runOnce<BaselineResult>(programs.baseline, options)
    })
  const write = (): Promise<Round['write']> => inEmpty((database) => writeRows(database, rows ?? []))

  const steps = [
    syncs,
    download,
    ...(work.against.includes('long-lived worker') ? [longLived] : []),
    ...(work.against.includes('write floor') ? [async () => ({ write: await write() })] : []),
    ...(work.against.includes('usual ways')
      ? [
          async () => ({ rowByRow: await baseline('rows') }),
          async () => ({ multiRow: await baseline('pages') }),
          async () => ({ careful: await baseline('careful') }),
        ]
      : []),
  ]
  return async (round) => {
    const measured: Partial<Round> = {}
    for (const step of round % 2 === 1 ? steps : [...steps].reverse()) Object.assign(measured, await step(round))
    return { worker: null, write: null, rowByRow: null, multiRow: null, careful: null, ...measured } as Round
  }
}
