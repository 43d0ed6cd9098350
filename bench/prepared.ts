// A database to measure something else on: rentals that were read once, with their details.

import { nodeFlags, type Place } from './lists.ts'
import { runOnce } from './processes.ts'
import type { SyncOptions } from './sync-process.ts'

/** Reads these streams of the world to their end, and leaves nothing out. Returns the address of the database. */
export async function prepared(place: Place, streams: readonly string[]): Promise<string> {
  const database = await place.databases.create()
  const env = { DATABASE_URL: database, READ_ECONOMY: 'off' }
  const options: SyncOptions = {
    role: 'ask',
    apiUrl: place.world.url,
    env,
    streams,
    full: false,
    until: 'end',
    addresses: null,
    warmUp: null,
  }
  await runOnce(place.programs.sync, options, nodeFlags)
  return database
}
