// The Postgres of a test run: TEST_DATABASE_URL, or an embedded one that disappears afterwards.

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts'
import { createLogger } from '../../src/log.ts'

export type TestPostgres = { readonly url: string; close(): Promise<void> }

/** Durability is of no use to a database that lives as long as the tests. */
const fastSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' }

/** Opens the Postgres of this run, with its files below `folder`. Its address may create databases and roles. */
export async function openTestPostgres(folder: string): Promise<TestPostgres> {
  const given = process.env.TEST_DATABASE_URL
  if (given !== undefined && given !== '') return { url: given, close: async () => {} }

  const dataDir = join(folder, 'postgres')
  const log = createLogger('warn')
  const server = await openEmbeddedPostgres({ dataDir, log, settings: fastSettings })
  return {
    url: server.url,
    close: async () => {
      await server.close()
      await rm(server.location, { recursive: true, force: true })
    },
  }
}
