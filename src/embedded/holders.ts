// Who uses the server: one file per opener, with a mark that shows whether its process still lives.
// Both functions are called under the lock only, so that the last one out is one.

import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive, ownToken } from './liveness.ts'

/** Enters an opener. Returns its file, to be handed to `leave`. */
export async function enter(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, `${process.pid}-${randomBytes(6).toString('hex')}`)
  await writeFile(file, ownToken())
  return file
}

/** Takes an opener off the list, and those whose process died. Returns true when nobody is left. */
export async function leave(folder: string, file: string): Promise<boolean> {
  await rm(file, { force: true })
  let left = 0
  for (const name of await readdir(folder)) {
    const other = join(folder, name)
    if (isAlive(await readFile(other, 'utf8'))) left += 1
    else await rm(other, { force: true })
  }
  return left === 0
}
