// DATA_DIR/sandbox.json: where the built-in sandbox listens, who runs it, and what its world began with.

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../../embedded/failures.ts'

export type SandboxFile = {
  /** Root of the API, without `/v3`. */
  readonly url: string
  readonly port: number
  /** Mark of the process that runs it. */
  readonly owner: string
  readonly seed: number
  /** Number of rentals the world began with. */
  readonly size: number
  /** When the world began, ISO 8601: the same seed and instant make the same world again. */
  readonly genesis: string
}

const fileOf = (dataDir: string): string => join(dataDir, 'sandbox.json')

/** The sandbox of a DATA_DIR, running or not; null when it never had one, or when the file is damaged. */
export async function knownSandbox(dataDir: string): Promise<SandboxFile | null> {
  const text = await unlessMissing(readFile(fileOf(dataDir), 'utf8'))
  return text === null ? null : parseSandboxFile(text)
}

/** Reads the file's text; null when it is not one. Pure. */
export function parseSandboxFile(text: string): SandboxFile | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null // nothing of value is lost: a new world is made
  }
  if (typeof value !== 'object' || value === null) return null
  const { url, port, owner, seed, size, genesis } = value as Readonly<Record<string, unknown>>
  if (typeof url !== 'string' || typeof owner !== 'string' || typeof genesis !== 'string') return null
  if (!Number.isInteger(port) || !Number.isInteger(seed) || !Number.isInteger(size)) return null
  if (Number.isNaN(Date.parse(genesis))) return null
  return { url, port: Number(port), owner, seed: Number(seed), size: Number(size), genesis }
}

/** Writes the file, whole or not at all. */
export async function writeSandboxFile(dataDir: string, file: SandboxFile): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  const draft = `${fileOf(dataDir)}.${process.pid}.new`
  await writeFile(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, fileOf(dataDir))
}
