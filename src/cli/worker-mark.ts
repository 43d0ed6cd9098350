// DATA_DIR/worker.json: the database that a worker of this folder runs on. A command that opens the embedded one
// instead, because it lacks that setting, warns about it.

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { isAlive, ownToken } from '../embedded/processes.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { shownAddress } from '../text.ts'
import { printNote } from './terminal/output.ts'

type Mark = {
  /** Mark of the worker's process. */
  readonly owner: string
  /** Without its password. */
  readonly database: string
}

type Places = Pick<Config, 'databaseUrl' | 'dataDir'>

const fileOf = (dataDir: string): string => join(dataDir, 'worker.json')

/**
 * Records in DATA_DIR where this worker's database is, as long as it runs; if the folder cannot be written, no
 * command is warned.
 */
export async function markDatabase({ databaseUrl, dataDir }: Places, log: Logger): Promise<AsyncDisposable> {
  const unmark = async (): Promise<void> => {
    if ((await readMark(dataDir))?.owner === ownToken()) await rm(fileOf(dataDir), { force: true })
  }
  if (databaseUrl === null) return { [Symbol.asyncDispose]: async () => {} }
  const mark: Mark = { owner: ownToken(), database: shownAddress(databaseUrl) }
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    await writeFile(fileOf(dataDir), `${JSON.stringify(mark)}\n`, { mode: 0o600 })
  } catch (error) {
    log.debug(
      { event: 'worker_not_marked', reason: messageOf(error) },
      'could not record which database this worker uses',
    )
  }
  return { [Symbol.asyncDispose]: unmark }
}

async function readMark(dataDir: string): Promise<Mark | null> {
  try {
    const { owner, database } = JSON.parse(await readFile(fileOf(dataDir), 'utf8')) as Partial<Mark>
    return typeof owner === 'string' && typeof database === 'string' ? { owner, database } : null
  } catch {
    return null // no file, half a file, or none that may be read: nothing is known
  }
}

/** The warning for a command that opens the embedded database; null: no worker of this folder runs on another one. */
export async function otherDatabase({ databaseUrl, dataDir }: Places): Promise<string | null> {
  const mark = databaseUrl === null ? await readMark(dataDir) : null
  if (mark === null || !isAlive(mark.owner)) return null
  return `This command opened the embedded database in ${dataDir}, because DATABASE_URL is not set here. The worker of this folder uses ${mark.database}. Set DATABASE_URL to that address, or store it in .env with: boat-mirror init`
}

/** Says it: on a terminal as a note, else as a warning of the log. */
export async function noteOtherDatabase(places: Places, log: Logger): Promise<void> {
  const note = await otherDatabase(places)
  if (note === null) return
  if (process.stderr.isTTY === true) printNote(note)
  else log.warn({ event: 'other_database' }, note)
}
