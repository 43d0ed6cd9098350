// Folders and questions that the tests of the embedded Postgres share.

import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { pino } from 'pino'
import { inject } from 'vitest'

export const quiet = pino({ level: 'silent' })

export type Folder = AsyncDisposable & { readonly path: string }

/** A new folder below the one of the run; by default every account may pass through it. */
export async function makeFolder(mode = 0o711): Promise<Folder> {
  const path = await realpath(await mkdtemp(join(inject('runFolder'), 'embedded-')))
  await chmod(path, mode)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Runs one statement and returns the first column of the first row. */
export async function ask(url: string, statement: string): Promise<unknown> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<unknown[]>({ text: statement, rowMode: 'array' })
    return rows[0]?.[0]
  } finally {
    await client.end()
  }
}

/** True when a server answers at this address. */
export async function answers(url: string): Promise<boolean> {
  try {
    return (await ask(url, 'select 1')) === 1
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return false
    throw error
  }
}
