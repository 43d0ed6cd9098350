// A small file system of its own for a database, which can be filled to the last byte. Root of Linux only.

import { spawnSync } from 'node:child_process'
import { chmod, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'

export type Volume = {
  readonly folder: string
  /** Takes all the space that is left. */
  fill(): Promise<void>
  free(): Promise<void>
  close(): Promise<void>
}

const chunk = Buffer.alloc(1024 * 1024)

/** Mounts a file system of `megabytes` in memory. Returns why not where that is not possible. */
export async function openVolume(folder: string, megabytes: number): Promise<Volume | string> {
  await mkdir(folder, { recursive: true })
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=711`, 'tmpfs', folder], {
    encoding: 'utf8',
  })
  if (mounted.error !== undefined) return `a file system cannot be mounted here (${mounted.error.message})`
  if (mounted.status !== 0) return `a file system cannot be mounted here (${mounted.stderr.trim().split('\n')[0]})`
  await chmod(folder, 0o711) // passable for the account that runs Postgres
  const ballast = join(folder, 'ballast')
  return {
    folder,
    fill: async () => {
      const file = await open(ballast, 'w')
      try {
        for (let size = chunk.length; size >= 4_096; )
          try {
            await file.appendFile(chunk.subarray(0, size))
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
            size = size >> 1
          }
      } finally {
        await file.close()
      }
    },
    free: () => rm(ballast, { force: true }),
    close: async () => {
      const unmounted = spawnSync('umount', [folder], { encoding: 'utf8' })
      if (unmounted.status !== 0) throw new Error(`${folder} stays mounted: ${unmounted.stderr}`)
    },
  }
}
