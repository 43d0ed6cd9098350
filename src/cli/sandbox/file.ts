// The files of the built-in sandbox in DATA_DIR: where it listens and who runs it, and its world as it was left.

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sandbox } from '../../../sandbox/index.ts'
import { unlessMissing } from '../../embedded/failures.ts'
import type { Logger } from '../../log.ts'
import { type Service, service } from '../../service.ts'

export type SandboxFile = {
  /** Root of the API, without `/v3`. */
  readonly url: string
  readonly port: number
  /** Mark of the process that runs it. */
  readonly owner: string
}

const placeFile = (dataDir: string): string => join(dataDir, 'sandbox.json')
const worldFile = (dataDir: string): string => join(dataDir, 'sandbox-world')

/** The sandbox of a DATA_DIR, running or not; null when it never had one, or when the file is damaged. */
export async function knownSandbox(dataDir: string): Promise<SandboxFile | null> {
  const text = await unlessMissing(readFile(placeFile(dataDir), 'utf8'))
  return text === null ? null : parseSandboxFile(text)
}

/** Reads the file's text; null when it is not one. Pure. */
export function parseSandboxFile(text: string): SandboxFile | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null // the port is found anew
  }
  if (typeof value !== 'object' || value === null) return null
  const { url, port, owner } = value as Readonly<Record<string, unknown>>
  if (typeof url !== 'string' || typeof owner !== 'string' || !Number.isInteger(port)) return null
  return { url, port: Number(port), owner }
}

export const writeSandboxFile = (dataDir: string, file: SandboxFile): Promise<void> =>
  replace(placeFile(dataDir), `${JSON.stringify(file, null, 2)}\n`)

/** Writes a file, whole or not at all. */
async function replace(file: string, content: string | Uint8Array): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true })
  const draft = `${file}.${process.pid}.new`
  await writeFile(draft, content, { mode: 0o600 })
  await rename(draft, file)
}

export const savedWorld = async (dataDir: string): Promise<Uint8Array | undefined> =>
  (await unlessMissing(readFile(worldFile(dataDir)))) ?? undefined

const saveMs = 500

/** Saves the world of a running sandbox after writes; `stop` saves it once more. */
export function keepWorld(dataDir: string, sandbox: Sandbox, log: Logger): Service {
  let saved = ''
  const save = (): Promise<void> => replace(worldFile(dataDir), sandbox.save())
  const look = async (): Promise<void> => {
    const writes = sandbox.requests().filter(({ method }) => method !== 'GET')
    const state = `${writes.length} ${writes.filter(({ status }) => status === null).length}`
    if (state !== saved) await save()
    saved = state
  }
  return service('storing the world of the built-in sandbox', saveMs, look, {
    ...{ log, delayMs: saveMs, isBackground: true, atEnd: save },
  })
}
