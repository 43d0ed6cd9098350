// What is remembered of an embedded database between commands: DATA_DIR/embedded.json, readable by its owner only.

import { randomBytes } from 'node:crypto'
import { chmod, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unavailable, unlessMissing } from './failures.ts'

export type State = {
  /** Folder that holds the database, DATA_DIR itself where possible. */
  readonly location: string
  /** Port it last listened on; 0: none yet. */
  readonly port: number
  readonly password: string
  /** True once the database was created: if its files are missing then, they got lost. */
  readonly created: boolean
}

export const stateFileName = 'embedded.json'
const user = 'boat_mirror'
const database = 'boat_mirror'

/** A password of 32 characters that needs no escaping in an address (192 random bits). */
export function newPassword(): string {
  return randomBytes(24).toString('base64url')
}

/** The address of a database of this server; without a name, the one of Boat Mirror. */
export function addressOf(state: State, port: number, name: string = database): string {
  return `postgres://${user}:${state.password}@127.0.0.1:${port}/${name}`
}

/** Names of the superuser and of the database of Boat Mirror. */
export const roles = { user, database }

/** Reads the state; null when there is none yet. @throws BoatMirrorError EMBEDDED_UNAVAILABLE when it is damaged. */
export async function readState(dataDir: string): Promise<State | null> {
  const file = join(dataDir, stateFileName)
  const text = await unlessMissing(readFile(file, 'utf8'))
  if (text === null) return null
  const state = parseState(text)
  if (state !== null) return state
  throw unavailable(
    `${file} is damaged, and the database cannot be opened without the password in it`,
    'Restore that file from a backup, move the folder away to begin with an empty database',
  )
}

function parseState(text: string): State | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null // the caller reports which file is damaged
  }
  if (typeof value !== 'object' || value === null) return null
  const { location, port, password, created } = value as Record<string, unknown>
  if (typeof location !== 'string' || typeof password !== 'string' || typeof created !== 'boolean') return null
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 0 || port > 65_535) return null
  return { location, port, password, created }
}

/** Writes the state, whole or not at all. */
export async function writeState(dataDir: string, state: State): Promise<void> {
  const file = join(dataDir, stateFileName)
  const draft = `${file}.new`
  await writeFile(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 })
  await chmod(draft, 0o600) // a draft left by a crash keeps its old mode
  await rename(draft, file)
}
