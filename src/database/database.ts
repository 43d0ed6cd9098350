// The connection pool and transactions. Owns timeouts, error listeners and the repetition of deadlocked transactions;
// knows no table.

import pg from 'pg'
import { sleep } from '../clock.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import { readJson } from '../json/lossless.ts'
import { atMostEvery, type Logger } from '../log.ts'
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

type DatabaseOptions = {
  readonly url: string
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
  /** Connections at most. */
  readonly max: number
  readonly log: Logger
  /** Longest statement, in milliseconds; a link that is silently dead is noticed after this. 0: as long as it takes. */
  readonly statementTimeoutMs?: number
}

const defaultStatementTimeoutMs = 15_000 // merges take under a second, a dead link must be noticed within 20 s
const clientGraceMs = 2_000 // the server's own timeout comes first, so that its error is the one we see
const connectTimeoutMs = 10_000 // also the longest wait for a free connection of the pool
const idleInTransactionMs = 60_000 // a forgotten transaction would hold the change feed back
const repetitions = 4
const quietMs = 5_000 // one line per message within this time

/**
 * What the program's SQL and pg's parsers assume, whatever role and database are set to. Poolers track these per
 * client:
 */
const reported = [
  ['timezone', 'UTC'],
  ['datestyle', 'ISO'],
  ['intervalstyle', 'postgres'],
  ['standard_conforming_strings', 'on'],
] as const
/** And not of these: */
const unreported = [
  ['extra_float_digits', '1'],
  ['array_nulls', 'on'],
  ['bytea_output', 'hex'],
  ['row_security', 'on'],
  ['default_transaction_isolation', 'read committed'],
  ['jit', 'off'], // compiling takes longer than any of our statements
] as const

const { DATE, JSON: json, JSONB } = pg.types.builtins
const [textArrayOid, numericArrayOid, jsonArrayOid, jsonbArrayOid] = [1009, 1231, 199, 3807] as const

type Texts = readonly (Texts | string | null)[]

/**
 * How pg reads values. A `date` stays text: pg would make it an instant in the host's own time zone. So do decimals in
 * an array, which pg would round. `readJson`: JSON.parse would round, too.
 */
export function typesWith(readJson: (text: string) => unknown): pg.CustomTypesConfig {
  const texts: (text: string) => Texts = pg.types.getTypeParser(textArrayOid as number)
  const readEach = (given: Texts | string | null): unknown =>
    typeof given === 'string' ? readJson(given) : (given?.map(readEach) ?? null)
  const readAll = (text: string): unknown => readEach(texts(text))
  const own = new Map<number, (text: string) => unknown>([
    [DATE, (text) => text],
    [json, readJson],
    [JSONB, readJson],
    [jsonArrayOid, readAll],
    [jsonbArrayOid, readAll],
    [numericArrayOid, texts],
  ])
  const getTypeParser = (oid: number, format?: 'text') => own.get(oid) ?? pg.types.getTypeParser(oid, format)
  return { getTypeParser: getTypeParser as typeof pg.types.getTypeParser }
}

const types = typesWith(readJson)

/** Connection settings that every connection of the program shares: timeouts, keep-alive, how values are read. */
export function clientConfig(url: string, applicationName: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    types,
  }
}

/**
 * The process that serves a connection, as announced at its start: by Postgres its process id, by a pooler its own
 * number. pg stores it for cancelling, outside its types.
 */
export const processIdOf = (client: pg.ClientBase): number | null =>
  (client as pg.ClientBase & { readonly processID: number | null }).processID

/** Connections that lead to one process of Postgres as long as they are open: no pooler hands them on in between. */
const unpooled = new WeakSet<pg.ClientBase>()

/**
 * Runs a statement that is prepared once on each connection, under its name; on one of a pooler it is planned each time.
 * Its plan must be right whatever the values are and however the tables have grown since.
 */
export const queryPrepared = <R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  { name, text, values }: { readonly name: string; readonly text: string; readonly values: unknown[] },
): Promise<pg.QueryResult<R>> => client.query<R>(keepsPrepared(client) ? { name, text, values } : { text, values })

/** Whether statements that are prepared on a connection stay there. */
export const keepsPrepared = (client: pg.ClientBase): boolean => unpooled.has(client)

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

/** Logs lost connections, the same message at most once in five seconds. */
function connectionLog(log: Logger): (error: Error) => void {
  const isNew = atMostEvery(quietMs)
  return (error) => {
    if (isNew(error.message))
      log.warn({ event: 'database_connection_lost', reason: messageOf(error) }, 'a database connection was lost')
  }
}

/** bigint and numeric come back as text, timestamptz as Date, date as text, JSON without loss. Opens no connection before the first query. */
export function openDatabase(options: DatabaseOptions): Database {
  const { url, log } = options
  const statementTimeoutMs = options.statementTimeoutMs ?? defaultStatementTimeoutMs
  const onLost = connectionLog(log)

  let pooled = false
  // Set by a statement, not as start-up parameters: poolers between us and Postgres refuse unknown parameters.
  const prepareSession = async (client: pg.ClientBase): Promise<void> => {
    // A client without a listener ends the process when Postgres goes away, whether idle or checked out.
    client.on('error', onLost)
    // A pooler may hand this server connection to another client, so settings that it does not track per client end
    // with this statement.
    const { rows } = await client.query<{ pooled: boolean }>(
      `select pooled, set_config('statement_timeout', $1, pooled),
              set_config('idle_in_transaction_session_timeout', $2, pooled),
              ${reported.map(([name, value]) => `set_config('${name}', '${value}', false)`).join(', ')},
              ${unreported.map(([name, value]) => `set_config('${name}', '${value}', pooled)`).join(', ')}
       from (select pg_backend_pid() is distinct from $3::int) s (pooled)`,
      [String(statementTimeoutMs), String(idleInTransactionMs), processIdOf(client)],
    )
    pooled = rows[0]?.pooled ?? false
    if (!pooled) unpooled.add(client)
  }
  const locally = `; set local statement_timeout = ${statementTimeoutMs};
    set local idle_in_transaction_session_timeout = ${idleInTransactionMs};
    ${[...reported, ...unreported].map(([name, value]) => `set local ${name} = '${value}'`).join('; ')}`
  const pool = new pg.Pool({
    ...clientConfig(url, options.applicationName),
    max: options.max,
    query_timeout: statementTimeoutMs === 0 ? 0 : statementTimeoutMs + clientGraceMs,
    onConnect: prepareSession,
  })
  pool.on('error', onLost)

  let closed: Promise<void> | undefined
  return {
    pool,
    transaction: (fn, transactionOptions = {}) =>
      runTransaction(pool, url, fn, () => beginStatement(transactionOptions) + (pooled ? locally : '')),
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
  begin: () => string,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inTransaction(pool, fn, begin)
    } catch (error) {
      if (!isRepeatable(error) || attempt > repetitions) throw translateDatabaseError(error, url)
      // 20 to 40 ms, then twice as long each time: the other needs a moment to take what was given up, or the two meet again.
      await sleep((1 + Math.random()) * 10 * 2 ** attempt)
    }
  }
}

const beginStatement = ({ isolation = 'read committed', readOnly = false }: TransactionOptions): string =>
  `begin isolation level ${isolation}${readOnly ? ' read only' : ''}`

/** Runs `fn` once in a transaction that the statement `begin` starts; rolls back, and throws what it threw, when it fails. */
export async function inTransaction<T>(
  pool: pg.Pool,
  fn: (client: pg.PoolClient) => Promise<T>,
  begin: () => string,
): Promise<T> {
  const client = await pool.connect()
  let broken = false
  try {
    await client.query(begin())
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

/** The server's version as it names it, such as `16.4`. @throws BoatMirrorError DATABASE_REFUSED when it is too old. */
export async function supportedVersion(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ version: string; number: number }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number`,
  )
  const { version, number } = rows[0] ?? { version: 'of an unknown version', number: 0 }
  if (number >= oldestMajor * 10_000) return version
  throw new BoatMirrorError('DATABASE_REFUSED', `Postgres ${version} is too old.`, {
    remedy: `Use Postgres ${oldestMajor} or newer.`,
  })
}
