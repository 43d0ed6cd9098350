// The folder of a test run, and what runs that were killed left behind: their servers are stopped, their folders removed.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, realpath, rm, statfs, writeFile } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive, ownToken } from '../../src/embedded/processes.ts'
import { stateFileName } from '../../src/embedded/state.ts'
import { messageOf } from '../../src/errors.ts'
import { pgbouncerPidFile } from './pgbouncer.ts'
import { stopLeftPostgres } from './postgres-versions.ts'
import { redisPidFile, stopLeftServer } from './redis-server.ts'

const prefix = 'boat-mirror-test-'

/** Where Linux keeps files in memory. */
const memory = '/dev/shm'
const gigabyte = 2 ** 30

/**
 * Where tests keep their databases: in memory where there is plenty of it, since hundreds of them are made and dropped, for
 * which the disk takes longer than the tests do. TMPDIR decides otherwise.
 */
export async function foldersOfTests(): Promise<string> {
  if (process.env.TMPDIR !== undefined || !existsSync(memory)) return tmpdir()
  const { bavail, bsize } = await statfs(memory)
  return freemem() >= 8 * gigabyte && bavail * bsize >= 4 * gigabyte ? memory : tmpdir()
}

/**
 * Makes the folder of this run in another one. Started as root, Postgres runs as another user, who must be able to pass
 * through it.
 */
export async function makeRunFolder(parent = tmpdir()): Promise<string> {
  await clearLeftovers()
  const folder = await realpath(await mkdtemp(join(parent, prefix)))
  await chmod(folder, 0o711)
  await writeFile(join(folder, 'owner'), ownToken())
  return folder
}

/** Stops the servers of runs that were killed and removes their folders; runs that live are left alone. */
export async function clearLeftovers(): Promise<void> {
  for (const parent of new Set([tmpdir(), ...(existsSync(memory) ? [memory] : [])]))
    for (const name of await readdir(parent)) {
      if (!name.startsWith(prefix)) continue
      const folder = join(parent, name)
      try {
        if (!isAlive(await readFile(join(folder, 'owner'), 'utf8'))) await clear(folder)
      } catch (error) {
        // No owner yet, or another run clears it at this moment: not ours, and no reason for this run to fail.
        process.stderr.write(`${folder} stays: ${messageOf(error)}\n`)
      }
    }
}

async function clear(folder: string): Promise<void> {
  // A storm has its servers further below, and a file system of its own.
  for (const { name, parentPath } of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (name === redisPidFile || name === pgbouncerPidFile) await stopLeftServer(parentPath, name)
    if (name !== stateFileName) continue
    await stopLeftPostgres(parentPath)
  }
  await unmountBelow(folder)
  await rm(folder, { recursive: true, force: true })
}

/** Linux names what is mounted; elsewhere nothing was. */
async function unmountBelow(folder: string): Promise<void> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '')
  const points = mounts.split('\n').map((line) => line.split(' ')[1] ?? '')
  for (const point of points.filter((each) => each.startsWith(`${folder}/`))) {
    const { status, stderr } = spawnSync('umount', [point], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`${point} stays mounted: ${stderr.trim()}`)
  }
}
