// Warns a command without DATABASE_URL that opens the embedded database, although the worker of this folder uses another one.
// DATA_DIR/worker.json names that one.

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { holdsDatabase } from '../embedded/embedded-postgres.ts'
import { isAlive, ownToken } from '../embedded/processes.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
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
type SetUp = Places & { readonly api: Pick<Config['api'], 'baseUrl'> }

const fileOf = (dataDir: string): string => join(dataDir, 'worker.json')

/** Records in DATA_DIR which database this worker uses, as long as it runs. */
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
    return null // no readable file
  }
}

/** Names the database of the running worker of this folder, and what to do; null: no worker runs. */
async function workerDatabase({ dataDir }: Places): Promise<string | null> {
  const mark = await readMark(dataDir)
  if (mark === null || !isAlive(mark.owner)) return null
  return `The worker of this folder uses ${mark.database}. Set DATABASE_URL to that address, or store it in .env with: boat-mirror init`
}

/** The warning for a command that opens the embedded database; null: no worker uses another one. */
export async function otherDatabase(places: Places): Promise<string | null> {
  const used = places.databaseUrl === null ? await workerDatabase(places) : null
  return (
    used &&
    `This command opened the embedded database in ${places.dataDir}, because DATABASE_URL is not set here. ${used}`
  )
}

const elsewhere =
  'Set it up with: boat-mirror init. Without settings, boat-mirror worker tries the built-in sandbox. A service, container or pod has settings of its own: docs/operations.md shows how to run a command beside it.'

/** The error of a command that has no database and creates none; null: it has one. */
export async function missingDatabase(config: SetUp): Promise<BoatMirrorError | null> {
  if (config.databaseUrl !== null || (await holdsDatabase(config.dataDir))) return null
  const what = config.api.baseUrl === null ? 'Nothing' : 'No database'
  const message = `${what} is set up in this folder: DATABASE_URL is not set, and there is no database in ${config.dataDir}.`
  return new BoatMirrorError('CONFIG_INVALID', message, { remedy: (await workerDatabase(config)) ?? elsewhere })
}

/**
 * Checks that a command has a database, and warns about another one: on a terminal as a note, else in the log.
 * @param creates an embedded database may be created. @throws BoatMirrorError CONFIG_INVALID where there must be one
 */
export async function seekDatabase(config: SetUp, log: Logger, creates: boolean): Promise<void> {
  const missing = creates ? null : await missingDatabase(config)
  if (missing !== null) throw missing
  const note = await otherDatabase(config)
  if (note === null) return
  if (process.stderr.isTTY === true) printNote(note)
  else log.warn({ event: 'other_database' }, note)
}
