// Describes a failure of the embedded Postgres: what failed, the program's own last words, what to do.

import { statfs } from 'node:fs/promises'
import { BoatMirrorError, messageOf } from '../errors.ts'

const otherDatabase = 'or set DATABASE_URL to a Postgres of your own'
/** An empty database with its log takes about 40 MB, the binaries 60 MB. */
const neededBytes = 150 * 1024 * 1024

/** An EMBEDDED_UNAVAILABLE whose remedy ends with the way out that always exists. */
export function unavailable(message: string, remedy: string, cause?: unknown): BoatMirrorError {
  return new BoatMirrorError('EMBEDDED_UNAVAILABLE', message, { remedy: `${remedy}, ${otherDatabase}.`, cause })
}

/**
 * The error for a failed step that wrote to `folder`; a full disk is recognised by asking the file system, not by
 * text.
 */
export async function failedStep(step: string, words: string, folder: string): Promise<BoatMirrorError> {
  const freeBytes = await freeSpace(folder)
  const remedy =
    freeBytes !== null && freeBytes < neededBytes
      ? `Free some space: ${folder} has ${Math.floor(freeBytes / 1024 / 1024)} MB left`
      : `Correct what it names`
  return unavailable(`${step} failed: ${words}`, remedy)
}

/** Turns the error of a file operation into EMBEDDED_UNAVAILABLE; our own errors and aborts pass unchanged. */
export function told(error: unknown, dataDir: string, signal?: AbortSignal): unknown {
  if (error instanceof BoatMirrorError || (signal?.aborted && error === signal.reason)) return error
  const code = (error as NodeJS.ErrnoException).code
  const advice: Readonly<Record<string, string>> = {
    ENOSPC: 'Free some space on that disk',
    EDQUOT: 'Free some space on that disk',
    53100: 'Free some space on that disk', // of Postgres itself
    EACCES: 'Run as the user these files belong to, set DATA_DIR to a folder you may write to',
    EPERM: 'Run as the user these files belong to, set DATA_DIR to a folder you may write to',
    EROFS: 'Set DATA_DIR to a folder that can be written to',
    ENOENT: 'Set DATA_DIR to a folder that can be made', // also what a read-only file system answers
    ENOTDIR: 'Set DATA_DIR to a folder',
    EEXIST: 'Set DATA_DIR to a folder',
  }
  const remedy = code === undefined ? undefined : advice[code]
  if (remedy === undefined) return error
  return unavailable(`The embedded Postgres in ${dataDir} cannot be used: ${messageOf(error)}`, remedy, error)
}

/** The result of a file operation; null when the file does not exist. */
export async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** The lines of a program's output or log that show what went wrong: at most three, the fatal ones if there are any. */
export function lastWords(output: string): string {
  const lines = output.split('\n').map((line) => line.trim())
  const filled = lines.filter((line) => line !== '')
  const fatal = filled.filter((line) => /\b(FATAL|PANIC|error):/.test(line))
  const chosen = fatal.length > 0 ? fatal : filled
  return chosen.slice(-3).join(' · ') || 'it said nothing'
}

async function freeSpace(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    return null // not worth a second failure: the first one is being reported
  }
}
