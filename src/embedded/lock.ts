// A lock between processes that dies with its owner. Each owner makes the next numbered file by a hard link, which
// is atomic with its content; the highest number counts and is never removed, so a dead lock is taken over by one only.
// And a list of who uses what the lock guards: one file per opener, with the same mark of a living process.

import { randomBytes } from 'node:crypto'
import { link, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sleep } from '../clock.ts'
import { BoatMirrorError } from '../errors.ts'
import { unlessMissing } from './failures.ts'
import { isAlive, ownToken } from './processes.ts'

const pollMs = 100
/** Longer than creating a database or recovering one takes on a slow disk. */
const waitLimitMs = 300_000

/**
 * Runs `work` while no other process or call holds the lock of this folder (made when missing).
 * @throws BoatMirrorError EMBEDDED_UNAVAILABLE when a living process keeps the lock for five minutes.
 */
export async function withLock<T>(
  folder: string,
  work: () => Promise<T>,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<T> {
  await mkdir(folder, { recursive: true })
  const file = await acquire(folder, options.signal)
  try {
    return await work()
  } finally {
    await truncate(file)
  }
}

async function acquire(folder: string, signal: AbortSignal | undefined): Promise<string> {
  const draft = join(folder, `.${randomBytes(8).toString('hex')}`)
  await writeFile(draft, ownToken())
  try {
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      const file = await take(folder, draft)
      if (file !== null) return file
      if (waitedMs >= waitLimitMs) throw heldTooLong(folder)
      await sleep(pollMs, signal)
    }
  } finally {
    await rm(draft, { force: true })
  }
}

/** One attempt. Returns the file of our turn, or null while it is another process's. */
async function take(folder: string, draft: string): Promise<string | null> {
  const seen = await newest(folder)
  const owner = seen === 0 ? '' : await unlessMissing(readFile(join(folder, String(seen)), 'utf8'))
  if (owner === null || isAlive(owner)) return null // null: overtaken, so that the caller looks again
  const mine = join(folder, String(seen + 1))
  try {
    await link(draft, mine)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null
    throw error
  }
  // Between our look and our link others may have come, gone and tidied up: a higher number proves it.
  if ((await newest(folder)) !== seen + 1) {
    await rm(mine, { force: true })
    return null
  }
  for (const turn of await turns(folder)) if (turn <= seen) await rm(join(folder, String(turn)), { force: true })
  return mine
}

async function turns(folder: string): Promise<number[]> {
  return (await readdir(folder)).filter((name) => /^\d+$/.test(name)).map(Number)
}

async function newest(folder: string): Promise<number> {
  return Math.max(0, ...(await turns(folder)))
}

function heldTooLong(folder: string): BoatMirrorError {
  return new BoatMirrorError('EMBEDDED_UNAVAILABLE', `Another command has been starting the database for 5 minutes.`, {
    remedy: `End the boat-mirror process whose number stands in the newest file of ${folder}.`,
  })
}

/** Enters an opener. Returns its file, to be handed to `leave`. Called under the lock only. */
export async function enter(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, `${process.pid}-${randomBytes(6).toString('hex')}`)
  await writeFile(file, ownToken())
  return file
}

/**
 * Takes an opener off the list, and those whose process died. Returns true when the list is empty. Called only under
 * the lock, so that exactly one is the last.
 */
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
