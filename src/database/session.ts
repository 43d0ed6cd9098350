// Opens connections to Postgres, and is alone in that. Each gets what the program's SQL and pg's parsers rely on, whatever server,
// database, role and PGOPTIONS are set to.

import pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { BoatMirrorError, messageOf } from '../errors.ts'
import { readJson } from '../json/lossless.ts'
import { sqlStateOf } from './sql-states.ts'

export type SessionOptions = {
  readonly url: string
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
  /** Longest statement, in milliseconds; a link that is silently dead is noticed after this. 0: as long as it takes. */
  readonly statementTimeoutMs?: number
  /** A schema whose objects are found without its name. */
  readonly schema?: string
  /** Whether what is set on the session stays. Undefined: where no pooler stands between, as its process id shows. */
  readonly lasting?: boolean
  /** Called when a connection is lost, whether idle or in use. A statement under way fails as well. */
  readonly onLost?: (error: Error) => void
}

const defaultStatementTimeoutMs = 15_000 // merges take under a second, a dead link must be noticed within 20 s
/** The server's own timeout comes first, so that its error is the one we see. */
export const clientGraceMs = 2_000
const connectTimeoutMs = 10_000 // also the longest wait for a free connection of the pool

/** Set for every session. A setting that is not here makes a difference of speed only; the test of this file names them all. */
const settings = {
  // Poolers track these per client.
  timezone: 'UTC',
  datestyle: 'ISO, MDY',
  intervalstyle: 'postgres',
  standard_conforming_strings: 'on',
  // How values are read and written.
  timezone_abbreviations: 'Default',
  extra_float_digits: '1',
  bytea_output: 'hex',
  array_nulls: 'on',
  backslash_quote: 'safe_encoding',
  quote_all_identifiers: 'off',
  transform_null_equals: 'off',
  // What is found, and what runs.
  gin_fuzzy_search_limit: '0',
  restrict_nonsystem_relation_kind: '',
  row_security: 'on',
  session_replication_role: 'origin', // anything else switches triggers off; only a superuser may change it
  createrole_self_grant: '',
  check_function_bodies: 'on',
  'plpgsql.extra_errors': 'none',
  'plpgsql.extra_warnings': 'none',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  client_min_messages: 'notice',
  jit: 'off', // compiling takes longer than any of our statements
  // When it ends.
  exit_on_error: 'off',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '60000', // a forgotten transaction would hold the change feed back
  idle_session_timeout: '0',
  transaction_timeout: '0',
  tcp_user_timeout: '0',
} as const
const tracked = ['timezone', 'datestyle', 'intervalstyle', 'standard_conforming_strings']

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

/** Settings of pg itself for each connection: time limits, keep-alive, how values are read. */
export function clientConfig({ url, applicationName, statementTimeoutMs }: SessionOptions): pg.ClientConfig {
  return {
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs === 0 ? 0 : (statementTimeoutMs ?? defaultStatementTimeoutMs) + clientGraceMs,
    keepAlive: true,
    types,
    ...connectionOf(url),
  }
}

/** Where an address leads. The name of the database is decoded as psql does it: pg leaves `%26` and its like. */
function connectionOf(url: string): pg.ClientConfig {
  const { pathname, searchParams } = new URL(url)
  return {
    ...parseIntoClientConfig(url),
    database: searchParams.get('dbname') ?? decodeURIComponent(pathname.slice(1)),
  }
}

/** A pool of prepared connections. */
export function openPool(options: SessionOptions & { readonly max: number }): pg.Pool {
  const onConnect = (client: pg.ClientBase): Promise<void> => prepare(client, options, watch(client, options))
  const pool = new pg.Pool({ ...clientConfig(options), max: options.max, onConnect })
  pool.on('error', (error) => options.onLost?.(error))
  return pool
}

/** One prepared connection, which its caller ends. */
export async function openClient(options: SessionOptions): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(options))
  const lost = watch(client, options) // before it connects: Postgres may end a session with its first answer
  try {
    await client.connect()
    await prepare(client, options, lost)
    return client
  } catch (error) {
    void client.end().catch(() => undefined) // a half-open one would be waited for for good
    throw error
  }
}

/** Runs `work` on a connection of its own. */
export async function withClient<T>(options: SessionOptions, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await openClient(options)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** What a transaction on a connection begins with; empty where the session itself keeps its settings. */
const beginnings = new WeakMap<pg.ClientBase, string>()

/** The statements that begin a transaction with these characteristics. */
export const begin = (client: pg.ClientBase, characteristics = 'isolation level read committed'): string =>
  `begin ${characteristics}${beginnings.get(client) ?? ''}`

/** Whether statements that are prepared on a connection stay there: no pooler hands its process on in between. */
export const keepsPrepared = (client: pg.ClientBase): boolean => beginnings.get(client) === ''

/**
 * The process that serves a connection, as announced at its start: by Postgres its process id, by a pooler its own
 * number. pg stores it for cancelling, outside its types.
 */
const processIdOf = (client: pg.ClientBase): number | null =>
  (client as pg.ClientBase & { readonly processID: number | null }).processID

// Nothing of a role's path is found while its settings are replaced, nor does its time limit end that.
const firstly = 'set local search_path = pg_catalog, pg_temp; set local statement_timeout = 0'

/** Sets what is set otherwise, where this version of Postgres has it. `local`: SQL, whether for this transaction only. */
function setting({ schema, statementTimeoutMs = defaultStatementTimeoutMs }: SessionOptions, local: string): string {
  // Postgres searches pg_catalog first where it is not named, and temporary tables before all where they are not.
  const search_path = schema === undefined ? 'pg_catalog, pg_temp' : `${schema}, pg_temp`
  const wanted = Object.entries({ ...settings, search_path, statement_timeout: `${statementTimeoutMs}` })
  return `select set_config(name, value, ${local}) from (values ${wanted.map(([name, value]) => `('${name}', '${value}')`).join(', ')},
      ('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'local' end)) w (name, value)
    where value <> current_setting(name, true) or name in ('search_path', 'statement_timeout')`
}

/** Schemas on the path of the role, as the session had it, in which another role may make objects, or which it may make. */
const openSchemas = `(select string_agg(schema, ', ') from pg_settings s
    cross join unnest(string_to_array(s.reset_val, ',')) part
    cross join replace(btrim(part, ' "'), '$user', current_user) schema
  where s.name = 'search_path' and schema not in ('pg_catalog', 'pg_temp') and exists (select from pg_roles r
    where r.oid >= 16384 and not r.rolsuper and r.rolname <> current_user
      and case when to_regnamespace(quote_ident(schema)) is null then has_database_privilege(r.oid, current_database(), 'create')
        else has_schema_privilege(r.oid, to_regnamespace(quote_ident(schema)), 'create') end))`

/** Listens for errors: a client without a listener ends the process when Postgres goes away. Returns what reads the last one. */
function watch(client: pg.ClientBase, { onLost }: SessionOptions): () => unknown {
  let lost: unknown
  client.on('error', (error) => {
    lost = error
    onLost?.(error)
  })
  return () => lost
}

/** Makes a connection that was just opened ours. Nothing stays on one that a pooler may hand to other clients, but what it tracks. */
async function prepare(client: pg.ClientBase, options: SessionOptions, lost: () => unknown): Promise<void> {
  const { lasting } = options
  const pooled = lasting === undefined ? `pg_backend_pid() is distinct from ${processIdOf(client)}` : `${!lasting}`
  const local = `${pooled} and name not in (${tracked.map((name) => `'${name}'`).join(', ')})`
  // Each statement of a queue is in a transaction, which carries its path.
  const open = lasting === undefined ? `case when ${pooled} then ${openSchemas} end` : 'null'
  try {
    // Of several statements pg gives several results, which its types do not say.
    const results = (await client.query(
      `begin; ${firstly}; select quote_ident(current_user) as role, ${pooled} as pooled, ${open} as open; ${setting(options, local)}; commit`,
    )) as unknown as readonly pg.QueryResult<{ role: string; pooled: boolean; open: string | null }>[]
    const found = results[3]?.rows[0]
    if (found?.open) throw openPath(found.role, found.open)
    beginnings.set(client, found?.pooled ? ` not deferrable; ${firstly}; ${setting(options, 'true')}` : '')
  } catch (error) {
    throw refusal(sqlStateOf(error) === undefined ? (lost() ?? error) : error)
  }
}

const openPath = (role: string, schemas: string): BoatMirrorError =>
  new BoatMirrorError(
    'DATABASE_UNSUITABLE',
    `Behind a pooler, statements of role ${role} find objects by its search_path, and other roles may create objects there (${schemas}).`,
    { remedy: `Run: alter role ${role} set search_path = pg_catalog, pg_temp. Then let the pooler reconnect.` },
  )

/** Time limits of a role that are over before they can be raised, by the SQLSTATE of their end. */
const limits: Readonly<Record<string, string>> = {
  '57014': 'statement_timeout',
  '57P05': 'idle_session_timeout',
  '25P03': 'idle_in_transaction_session_timeout',
  '25P04': 'transaction_timeout',
}

function refusal(error: unknown): unknown {
  const state = sqlStateOf(error) ?? ''
  const limit = limits[state]
  if (limit === undefined && state !== '42501') return error
  const [message, remedy] =
    limit === undefined
      ? [
          `The role has a setting that the program needs otherwise and may not change: ${messageOf(error)}.`,
          'Reset it: alter role NAME reset SETTING.',
        ]
      : [
          `The ${limit} of the role or the database is too short: it is over before the program can set its own.`,
          `Raise it: alter role NAME set ${limit} = '1min'.`,
        ]
  return new BoatMirrorError('DATABASE_UNSUITABLE', message, { remedy, cause: error })
}

/**
 * Runs a statement that is prepared once on each connection, under its name; on one of a pooler it is planned each time.
 * Its plan must be right whatever the values are and however the tables have grown since.
 */
export const queryPrepared = <R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  { name, text, values }: { readonly name: string; readonly text: string; readonly values: unknown[] },
): Promise<pg.QueryResult<R>> => client.query<R>(keepsPrepared(client) ? { name, text, values } : { text, values })
