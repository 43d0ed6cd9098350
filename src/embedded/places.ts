// Where the database's files lie: in DATA_DIR, or below /var/lib when its account can't enter that.

import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, realpath, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../log.ts'
import { unavailable, unlessMissing } from './failures.ts'
import { canEnter, type Identity } from './identity.ts'

/** Not readable by others, but passable for the account that runs Postgres. */
const passable = 0o711

/** Makes DATA_DIR when it is missing and returns its real path. An existing folder keeps its mode. */
export async function prepareDataDir(dataDir: string): Promise<string> {
  const made = await mkdir(dataDir, { recursive: true })
  if (made !== undefined) await chmod(dataDir, passable)
  const path = await realpath(dataDir)
  if (!path.includes('\n')) return path
  throw unavailable(
    `The name of ${JSON.stringify(path)} has a line break, which the pid file of Postgres cannot hold`,
    'Set DATA_DIR to another folder',
  )
}

/**
 * Chooses the folder for a new database: DATA_DIR, else one below /var/lib/boat-mirror named after DATA_DIR. Files of an
 * earlier DATA_DIR of the same path are moved aside there, never removed.
 * @throws BoatMirrorError EMBEDDED_UNAVAILABLE when the account can enter neither.
 */
export async function chooseLocation(
  dataDir: string,
  identity: Identity,
  log: Logger,
  shared = '/var/lib/boat-mirror',
): Promise<string> {
  if (await canEnter(dataDir, identity)) return dataDir
  const below = await makeBelow(shared, dataDir, log)
  if (below !== null && (await canEnter(below, identity))) return below
  throw unavailable(
    `${identity?.name ?? 'This account'}, as whom Postgres runs, can enter neither ${dataDir} nor ${shared}`,
    'Set DATA_DIR to a folder that others may pass through (such as /srv/boat-mirror)',
  )
}

async function makeBelow(shared: string, dataDir: string, log: Logger): Promise<string | null> {
  const folder = join(shared, createHash('sha256').update(dataDir).digest('hex').slice(0, 16))
  try {
    if ((await mkdir(shared, { recursive: true })) !== undefined) await chmod(shared, 0o755)
    if ((await unlessMissing(stat(folder))) !== null) {
      const aside = `${folder}.${new Date().toISOString().replace(/\D/g, '')}`
      await rename(folder, aside)
      log.warn({ event: 'embedded_moved_aside', aside }, `an earlier database of ${dataDir} was moved to ${aside}`)
    }
    await mkdir(folder)
    await chmod(folder, passable)
    return folder
  } catch (error) {
    log.debug({ event: 'embedded_place_refused', folder, err: error }, `${folder} cannot be used`)
    return null
  }
}

/** Lets every account read a tree of our making, pass its folders and run the named programs. */
export async function openToAll(root: string, programs: readonly string[]): Promise<void> {
  await chmod(root, 0o755)
  for (const entry of await readdir(root, { withFileTypes: true, recursive: true })) {
    const runs = entry.isDirectory() || programs.includes(entry.name)
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), runs ? 0o755 : 0o644)
  }
}
