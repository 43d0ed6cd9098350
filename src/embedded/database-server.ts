// Where the database is.

import type { Logger } from '../log.ts'
import { openEmbeddedPostgres } from './embedded-postgres.ts'

/** The configured database, or the embedded one in DATA_DIR, which is started if nobody has. */
export async function openDatabaseServer(
  config: { readonly databaseUrl: string | null; readonly dataDir: string },
  log: Logger,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  if (config.databaseUrl !== null) return { url: config.databaseUrl, close: async () => {} }
  return await openEmbeddedPostgres({ dataDir: config.dataDir, log })
}
