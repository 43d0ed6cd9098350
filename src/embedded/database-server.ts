// Where the database is.

import type { Logger } from '../log.ts'
import { openEmbeddedPostgres } from './embedded-postgres.ts'

export type DatabaseServer = {
  readonly url: string
  /** The same database past a pooler, where that is configured. */
  readonly directUrl: string
  close(): Promise<void>
}

export type DatabasePlace = {
  readonly databaseUrl: string | null
  readonly databaseDirectUrl: string | null
  readonly dataDir: string
}

/** The configured database, or the embedded one in DATA_DIR, which is started if nobody has. */
export async function openDatabaseServer(config: DatabasePlace, log: Logger): Promise<DatabaseServer> {
  const { databaseUrl: url } = config
  if (url !== null) return { url, directUrl: config.databaseDirectUrl ?? url, close: async () => {} }
  const { url: embedded, close } = await openEmbeddedPostgres({ dataDir: config.dataDir, log })
  return { url: embedded, directUrl: embedded, close }
}
