// What protecting personal data costs: the first sync of the same lists with PERSONAL_DATA=keep, hash and drop, in turn.

import { callOffDetails, nodeFlags, type Place } from './lists.ts'
import { runOnce } from './processes.ts'
import { listsBeforeRentals } from './streams.ts'
import type { SyncOptions, SyncResult } from './sync-process.ts'

export const modes = ['keep', 'hash', 'drop'] as const
export type Mode = (typeof modes)[number]

/** The first syncs of one round: of the list of users, who are personal data almost alone, and of the list of rentals. */
export type PrivacyResult = Readonly<Record<Mode, { readonly users: SyncResult; readonly rentals: SyncResult }>>

/** Syncs the lists of a world into three new databases, one a mode; the order is turned around in every other round. */
export async function runPrivacy(round: number, place: Place): Promise<PrivacyResult> {
  const results: Partial<Record<Mode, PrivacyResult[Mode]>> = {}
  for (const mode of round % 2 === 1 ? modes : modes.toReversed()) results[mode] = await firstLists(mode, place)
  const { keep, hash, drop } = results
  if (keep === undefined || hash === undefined || drop === undefined) throw new Error('A mode was not measured.')
  return { keep, hash, drop }
}

async function firstLists(mode: Mode, { databases, programs, world }: Place): Promise<PrivacyResult[Mode]> {
  const database = await databases.create()
  const key = mode === 'hash' ? { PERSONAL_DATA_KEY: 'a key of the bench' } : {}
  const sync = async (streams: readonly string[]): Promise<SyncResult> => {
    const options: SyncOptions = {
      ...{ role: 'ask', apiUrl: world.url, streams, full: false, until: 'lists', addresses: null, warmUp: null },
      env: { DATABASE_URL: database, API_PAGE_SIZE: '100', API_CONCURRENCY: '8', PERSONAL_DATA: mode, ...key },
    }
    const result = await runOnce<SyncResult>(programs.sync, options, nodeFlags)
    if (result.notDone.length > 0) throw new Error(`The sync did not end well: ${result.notDone.join(', ')}`)
    await callOffDetails(database)
    return result
  }
  await sync(listsBeforeRentals.filter((name) => name !== 'users'))
  const results = { users: await sync(['users']), rentals: await sync(['rentals']) }
  await databases.drop(database)
  return results
}
