// The Postgres of a test run: TEST_DATABASE_URL, or an embedded one in a folder of its own that disappears afterwards.

import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts'
import { createLogger } from '../../src/log.ts'

export type TestPostgres = { readonly url: string; close(): Promise<void> }

/** Durability is of no use to a database that lives as long as the tests. */
const fastSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' }

/** Opens the Postgres of this run. Its address may create databases and roles. */
export async function openTestPostgres(): Promise<TestPostgres> {
  const given = process.env.TEST_DATABASE_URL
  if (given !== undefined && given !== '') return { url: given, close: async () => {} }

  const dataDir = await mkdtemp(join(tmpdir(), 'boat-mirror-test-'))
  await chmod(dataDir, 0o711) // started as root, Postgres runs as another user, who must be able to enter
  const log = createLogger('warn')
  const server = await openEmbeddedPostgres({ dataDir, log, settings: fastSettings })
  return {
    url: server.url,
    close: async () => {
      await server.close()
      await rm(server.location, { recursive: true, force: true })
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
