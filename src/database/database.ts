// The connection pool and transactions. Owns error listeners and the repetition of deadlocked transactions; knows no table.

import type pg from 'pg'
import { backoffMs, sleep } from '../clock.ts'
import { BoatMirrorError } from '../errors.ts'
import { type Logger, warnAbout } from '../log.ts'
import { begin, clientGraceMs, openPool, type SessionOptions } from './session.ts'
import type { Queryable } from './sql.ts'
import { isConnectionError, isRepeatable, sqlStateOf, translateDatabaseError } from './sql-states.ts'

type TransactionOptions = {
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable'
  readonly readOnly?: boolean
}

export type Database = {
  readonly pool: pg.Pool
  /**
   * Runs `fn` in a transaction and commits; rolls back when it throws. After a deadlock or serialization failure it is
   * run again, at most four times more, so `fn` must not have effects outside the database.
   * @throws BoatMirrorError DATABASE_* when the database is the reason, else what `fn` threw.
   */
  transaction<T>(fn: (client: pg.PoolClient) => Promise<T>, options?: TransactionOptions): Promise<T>
  close(): Promise<void>
}

type DatabaseOptions = Pick<SessionOptions, 'url' | 'applicationName' | 'statementTimeoutMs'> & {
  /** Connections at most. */
  readonly max: number
  readonly log: Logger
}

const repetitions = 4
/** After a deadlock: 20 to 40 ms, then twice as long each time. */
const meetAgain = { firstMs: 40, longestMs: 320 }

/** What takes as long as it takes: the longest time that a timer knows, in milliseconds. */
const noLimitMs = 2 ** 31 - 1

/**
 * Lets statements of the caller's transaction take this many milliseconds (0: no limit). Run them with the returned
 * runner: the client itself would wait no longer than for any other.
 */
export async function withStatementTimeout(client: pg.ClientBase, ms: number): Promise<Queryable> {
  await client.query(`set local statement_timeout = ${ms}`)
  const query_timeout = ms === 0 ? noLimitMs : ms + clientGraceMs
  return {
    query: (text: string, values: unknown[] = []) => client.query({ text, values, query_timeout } as pg.QueryConfig),
  }
}

/** bigint and numeric come back as text, timestamptz as Date, date as text, JSON without loss. Opens no connection before the first query. */
export function openDatabase({ log, ...options }: DatabaseOptions): Database {
  const onLost = warnAbout(log, 'database_connection_lost', 'a database connection was lost')
  const pool = openPool({ ...options, onLost })
  let closed: Promise<void> | undefined
  return {
    pool,
    transaction: (fn, transactionOptions = {}) =>
      runTransaction(pool, options.url, fn, characteristicsOf(transactionOptions)),
    close: () => {
      closed ??= pool.end()
      return closed
    },
  }
}

async function runTransaction<T>(
  pool: pg.Pool,
  url: string,
  fn: (client: pg.PoolClient) => Promise<T>,
  characteristics: string,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inTransaction(pool, fn, characteristics)
    } catch (error) {
      if (!isRepeatable(error) || attempt > repetitions) throw translateDatabaseError(error, url)
      // The other transaction needs a moment to take the locks that this one gave up, or the two meet again.
      await sleep(backoffMs(attempt, meetAgain))
    }
  }
}

const characteristicsOf = ({ isolation = 'read committed', readOnly = false }: TransactionOptions): string =>
  `isolation level ${isolation}${readOnly ? ' read only' : ''}`

/** Runs `fn` once in a transaction with these characteristics; rolls back, and throws what it threw, when it fails. */
export async function inTransaction<T>(
  pool: pg.Pool,
  fn: (client: pg.PoolClient) => Promise<T>,
  characteristics?: string,
): Promise<T> {
  const client = await pool.connect()
  let broken = false
  try {
    await client.query(begin(client, characteristics))
    const result = await fn(client)
    await client.query('commit')
    return result
  } catch (error) {
    broken = isConnectionError(error) || !(await rollBack(client))
    throw error
  } finally {
    client.release(broken)
  }
}

/** Rolls back; false when the connection is of no use any more. */
async function rollBack(client: pg.PoolClient): Promise<boolean> {
  try {
    await client.query('rollback')
    return true
  } catch (error) {
    // The first error is the one to report; this one only says that the connection must not be used again.
    return sqlStateOf(error) !== undefined
  }
}

const oldestMajor = 14
/** Engines that speak the protocol of Postgres, as version() names them. */
const otherEngines = /cockroach|yugabyte|-YB-|redshift|materialize|risingwave|crate|questdb|spanner|gauss|greenplum/i

/** The server's version as it names it, such as `16.4`. @throws BoatMirrorError DATABASE_REFUSED when it is too old. */
export async function supportedVersion(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ name: string; version: string; number: number }>(
    `select version() as name, current_setting('server_version') as version, current_setting('server_version_num')::int as number`,
  )
  const { name, version, number } = rows[0] ?? { name: '', version: 'of an unknown version', number: 0 }
  if (otherEngines.test(name))
    throw new BoatMirrorError('DATABASE_UNSUITABLE', `The database is no Postgres: it names itself ${name}.`, {
      remedy: `Use Postgres ${oldestMajor} or newer. Locks and transactions of others work differently.`,
    })
  if (number >= oldestMajor * 10_000) return version
  throw new BoatMirrorError('DATABASE_REFUSED', `Postgres ${version} is too old.`, {
    remedy: `Use Postgres ${oldestMajor} or newer.`,
  })
}
