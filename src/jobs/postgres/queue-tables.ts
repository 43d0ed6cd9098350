// BullMQ's own tables on Postgres, and the queue's pool.

import { EventEmitter } from 'node:events'
import {
  assertSchemaCompatibility,
  createPostgresBackend,
  LATEST_SCHEMA_VERSION,
  type PgPool,
  type PgPoolClient,
  type PgQueryResult,
  Queue,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq'
import type pg from 'pg'
import { inTransaction, openDatabase } from '../../database/database.ts'
import { watchLocks } from '../../database/lock-wait.ts'
import { openPool } from '../../database/session.ts'
import { translateDatabaseError } from '../../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import { withoutDefaults } from '../../schema/roles.ts'
import { type BackendOptions, queueNames, queueOptions } from '../queues.ts'
import { quietly } from './backend-ready.ts'

export const schema = 'bullmq'

/** Whether BullMQ's tables have this version, and each of our queues its sequence (named by BullMQ 6.7). */
async function isQueueMigrated(client: pg.Pool): Promise<boolean> {
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

/**
 * Creates BullMQ's tables and the sequences of our queues, so that a role without CREATE can work. Existing ones are kept.
 * @throws BoatMirrorError DATABASE_*, QUEUE_REFUSED, saying that it may be repeated; the signal's reason.
 */
export async function migrateQueue(databaseUrl: string, log: Logger, signal?: AbortSignal): Promise<void> {
  try {
    if (await migrateTables(databaseUrl, log, signal)) await makeSequences(databaseUrl, log, signal)
  } catch (error) {
    if (signal?.aborted) throw error
    const known = translateDatabaseError(error, databaseUrl)
    const { code, remedy = '' } =
      known instanceof BoatMirrorError ? known : ({ code: 'QUEUE_REFUSED' } satisfies Partial<BoatMirrorError>)
    throw new BoatMirrorError(
      code,
      `The mirror's own schema is up to date, but the queue's tables (schema ${schema}) are not: ${messageOf(known)}`,
      { cause: error, remedy: `${remedy} Then run boat-mirror migrate again: what was applied is kept.`.trimStart() },
    )
  }
}

/** @returns false when there was nothing to do. */
async function migrateTables(url: string, log: Logger, signal: AbortSignal | undefined): Promise<boolean> {
  // One connection migrates, one looks for locks.
  const database = openDatabase({ url, applicationName: 'boat-mirror migrate', max: 2, log, statementTimeoutMs: 0 })
  const { pool } = database
  try {
    if (await isQueueMigrated(pool)) return false
    // BullMQ begins and commits its own transactions. Postgres ignores its `begin` inside the existing one.
    await database.transaction((client) =>
      watchLocks({ pool, client, what: 'migrate (queue)', log, signal }, () => runMigrations(client, schema)),
    )
    return true
  } finally {
    await database.close()
  }
}

/** The rights do not depend on default privileges: see `schema/roles.ts`. */
const queueRights = `${withoutDefaults([schema])} grant execute on all functions in schema ${schema} to public`

async function makeSequences(databaseUrl: string, log: Logger, signal: AbortSignal | undefined): Promise<void> {
  // This mode works behind any pooler.
  const pool = bullPool({ databaseUrl, log, pooling: 'transaction' }, 2)
  try {
    for (const name of queueNames) {
      signal?.throwIfAborted()
      const queue = new Queue(name, { ...queueOptions, connection: pool.connection() }, createPostgresBackend)
      await queue.waitUntilReady()
      // The first job with an id of the queue's own creates the queue's sequence.
      const job = await queue.add('migrated', {}, { delay: 3_600_000 })
      await job.remove()
      await queue.close()
    }
    await pool.query(queueRights)
  } finally {
    await pool.end()
  }
}

type BullPool = {
  /** The pool with a separate emitter, because BullMQ 6.7 listens to a pool for its errors and never stops; errors are logged here. */
  connection(): PgPool
  query(text: string): Promise<unknown>
  end(): Promise<void>
}

/** The queue's own pool. BullMQ finds its functions on the search path. */
export function bullPool(
  { databaseUrl, log, pooling }: Pick<BackendOptions, 'databaseUrl' | 'log' | 'pooling'>,
  max: number,
): BullPool {
  const pool = openPool({
    url: databaseUrl,
    applicationName: 'boat-mirror queue',
    max,
    schema,
    lasting: pooling !== 'transaction',
    onLost: quietly(log),
  })
  const { query, connect } = pooling === 'transaction' ? throughPooler(pool) : directly(pool)
  return {
    connection: () => Object.assign(new EventEmitter(), { query, connect, end: async () => {} }),
    query: (text) => query(text),
    end: () => pool.end(),
  }
}

/** BullMQ's type of a pool does not match pg's types. */
const directly = (pool: pg.Pool): Pick<PgPool, 'query' | 'connect'> =>
  ({ query: pool.query.bind(pool), connect: () => pool.connect() }) as unknown as PgPool

/** Statements of BullMQ's listening connection that change its session (BullMQ 6.7). */
const sessionState = /^(LISTEN |SELECT set_config\()/m

/**
 * A pool for BullMQ behind a transaction pooler, where settings of a session are lost and notifications do not arrive: each command runs
 * in a transaction that sets the search path, and workers poll.
 */
function throughPooler(pool: pg.Pool): Pick<PgPool, 'query' | 'connect'> {
  const query = (text: string, values: readonly unknown[] = []): Promise<PgQueryResult> =>
    inTransaction(pool, (client) => client.query(text, [...values]))
  // Replaces the connection on which BullMQ listens.
  const connect = async (): Promise<PgPoolClient> =>
    Object.assign(new EventEmitter(), {
      query: async (text: string, values?: readonly unknown[]) =>
        sessionState.test(text) ? { rows: [] } : await query(text, values),
      release: () => undefined,
    })
  return { query, connect }
}
