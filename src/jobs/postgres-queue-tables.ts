// BullMQ's own tables on Postgres, made ahead so that a role without CREATE can work; and the queue's own pool.

import {
  assertSchemaCompatibility,
  createPostgresBackend,
  LATEST_SCHEMA_VERSION,
  type PgPool,
  Queue,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq'
import pg from 'pg'
import type { Logger } from '../log.ts'
import { quietly } from './backend-ready.ts'
import { queueNames } from './queues.ts'

export const schema = 'bullmq'

/** True when BullMQ's tables are of this version and each of our queues has its sequence (named by BullMQ 6.7). */
async function isQueueMigrated(client: pg.Client): Promise<boolean> {
  try {
    if ((await assertSchemaCompatibility(client, schema)) !== LATEST_SCHEMA_VERSION) return false
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return false
    throw error
  }
  const { rows } = await client.query<{ found: number }>(
    `select count(*)::int as found from unnest($1::text[]) q
     where to_regclass($2 || '.bullmq_jid_' || md5(q)) is not null`,
    [queueNames, schema],
  )
  return rows[0]?.found === queueNames.length
}

/** Creates BullMQ's own tables, and the sequences of our queues, so that a role without CREATE can work (reliability F14). */
export async function migrateQueue(databaseUrl: string, log: Logger): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', quietly(log))
  await client.connect()
  try {
    if (await isQueueMigrated(client)) return
    await runMigrations(client, schema)
  } finally {
    await client.end()
  }
  const pool = createPool(databaseUrl, log, 2)
  try {
    for (const name of queueNames) {
      const queue = new Queue(name, { connection: bullPool(pool) }, createPostgresBackend)
      await queue.waitUntilReady()
      // The first job with an id of the queue's own creates the queue's sequence.
      const job = await queue.add('migrated', {}, { delay: 3_600_000 })
      await job.remove()
      await queue.close()
    }
  } finally {
    await pool.end()
  }
}

export function createPool(databaseUrl: string, log: Logger, max: number): pg.Pool {
  const onError = quietly(log)
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max,
    options: `-c search_path=${schema}`,
    application_name: 'boat-mirror queue',
    connectionTimeoutMillis: 10_000,
    query_timeout: 20_000,
    keepAlive: true,
  })
  pool.on('error', onError)
  pool.on('connect', (client) => client.on('error', onError))
  return pool
}

// BullMQ describes pg's pool by an interface of its own, whose overloads pg's types do not match.
export const bullPool = (pool: pg.Pool): PgPool => pool as unknown as PgPool
