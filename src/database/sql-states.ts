// Every SQLSTATE the program reacts to, named once, with its meaning here; and the translation of pg's errors into
// BoatMirrorErrors that name DATABASE_URL and a remedy. Never decides on Postgres's message text.

import { BoatMirrorError, type ErrorCode, messageOf } from '../errors.ts'
import { shownAddress } from '../text.ts'

type Reaction = { readonly code: ErrorCode; readonly remedy: string }

const unreachable = 'Start Postgres, or correct host and port in DATABASE_URL.'
const migrate = 'Run `boat-mirror migrate` with a role that may create tables.'

/** SQLSTATE (or its class of two characters) → what it means here. Exact codes go before classes. */
const reactions: Readonly<Record<string, Reaction>> = {
  '28P01': { code: 'DATABASE_REFUSED', remedy: 'Correct user and password in DATABASE_URL.' }, // invalid_password
  '28000': {
    code: 'DATABASE_REFUSED',
    remedy: 'Correct user and sslmode in DATABASE_URL, or allow them in pg_hba.conf.',
  }, // invalid_authorization
  '3D000': { code: 'DATABASE_REFUSED', remedy: 'Create the database, or correct its name in DATABASE_URL.' }, // invalid_catalog_name
  '3F000': { code: 'DATABASE_SCHEMA', remedy: migrate }, // invalid_schema_name
  '42P01': { code: 'DATABASE_SCHEMA', remedy: migrate }, // undefined_table
  '42703': { code: 'DATABASE_SCHEMA', remedy: migrate }, // undefined_column
  '42883': { code: 'DATABASE_SCHEMA', remedy: migrate }, // undefined_function
  '42501': { code: 'DATABASE_PRIVILEGE', remedy: 'Grant the role of DATABASE_URL what it lacks, or use another role.' }, // insufficient_privilege
  '25006': {
    code: 'DATABASE_UNSUITABLE',
    remedy: 'Set DATABASE_URL to a primary, and default_transaction_read_only to off.',
  }, // read_only_sql_transaction
  '53300': { code: 'DATABASE_UNREACHABLE', remedy: 'Raise max_connections of Postgres, or run fewer processes.' }, // too_many_connections
  '57P01': { code: 'DATABASE_UNREACHABLE', remedy: unreachable }, // admin_shutdown
  '57P02': { code: 'DATABASE_UNREACHABLE', remedy: unreachable }, // crash_shutdown
  '57P03': { code: 'DATABASE_UNREACHABLE', remedy: 'Wait until Postgres has started.' }, // cannot_connect_now
  '57P05': { code: 'DATABASE_UNREACHABLE', remedy: unreachable }, // idle_session_timeout
  '08P01': {
    code: 'DATABASE_UNREACHABLE',
    remedy: 'So a pooler answers: follow its message; its pools or its clients may be used up.',
  }, // protocol_violation
  '08': { code: 'DATABASE_UNREACHABLE', remedy: unreachable }, // connection_exception
  '40P01': { code: 'DATABASE_BUSY', remedy: 'Try again.' }, // deadlock_detected
  '40001': { code: 'DATABASE_BUSY', remedy: 'Try again.' }, // serialization_failure
  '55P03': { code: 'DATABASE_BUSY', remedy: 'Try again when the other transaction has ended.' }, // lock_not_available
  '57014': { code: 'DATABASE_BUSY', remedy: 'Look for long transactions and locks in pg_stat_activity.' }, // query_canceled, by a timeout
  '25P03': { code: 'DATABASE_BUSY', remedy: 'Try again.' }, // idle_in_transaction_session_timeout
  '53100': { code: 'DATABASE_BUSY', remedy: 'Free some space on the disk of Postgres. The work then continues.' }, // disk_full
  '53': { code: 'DATABASE_BUSY', remedy: 'Give Postgres more disk space or memory.' }, // insufficient_resources
}

/** Where the embedded Postgres has its files, by its address: what a full disk is about. */
export const folders = new Map<string, string>()

/** Transactions that ended with one of these are run again: nothing of them took effect. */
const repeatable: ReadonlySet<string> = new Set(['40P01', '40001'])

/** Classes that concern the data of a statement: data exception, integrity violation, program limit (index row too large). */
const dataClasses: ReadonlySet<string> = new Set(['22', '23', '54'])

/** Socket errors of Node. */
const socketCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT', // the unix socket does not exist
])

/** pg's own texts for a lost connection: these errors carry no code, and the texts are pg's constants. */
const lostConnectionTexts: ReadonlySet<string> = new Set([
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Client has encountered a connection error and is not queryable',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Query read timeout',
])

/** What pg itself says where Postgres asks for a password and none is set: no code either. */
const noPasswordTexts: ReadonlySet<string> = new Set([
  'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
  'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string',
])

const codeOf = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined

/** What to do about a TLS connection that was not made; undefined: the error is another. */
function tlsRemedy(error: unknown): string | undefined {
  // pg's own text; the error has no code.
  if (error instanceof Error && error.message === 'The server does not support SSL connections')
    return 'Switch TLS on in Postgres (ssl = on), or set sslmode=disable or sslmode=prefer in DATABASE_URL.'
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_|EPROTO$)/.test(codeOf(error) ?? ''))
    return 'Name the authority that signed its certificate with sslrootcert=FILE in DATABASE_URL, or take any with sslmode=no-verify.'
  return undefined
}

/** The SQLSTATE of an error that Postgres answered, if it is one. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error)
  const answered = typeof error === 'object' && error !== null && 'severity' in error
  return answered && code !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** True when the transaction may simply be run again: a deadlock or a serialization failure. */
export const isRepeatable = (error: unknown): boolean => repeatable.has(sqlStateOf(error) ?? '')

/** True when Postgres refused the data of a statement, not the statement. */
export const isDataError = (error: unknown): boolean => dataClasses.has((sqlStateOf(error) ?? '').slice(0, 2))

/** True when a row of the same key is there. */
export const isUniqueViolation = (error: unknown): boolean => sqlStateOf(error) === '23505'

/** True when a lock was not to be had within lock_timeout. */
export const isLockTimeout = (error: unknown): boolean => sqlStateOf(error) === '55P03'

/** True when the connection broke, could not be made, or did not answer in time. */
export function isConnectionError(error: unknown): boolean {
  if (sqlStateOf(error) !== undefined) return false
  return socketCodes.has(codeOf(error) ?? '') || (error instanceof Error && lostConnectionTexts.has(error.message))
}

/**
 * Turns an error of pg into a BoatMirrorError that names the setting (password hidden) and what to do. Other errors,
 * and those that are not about the database's state (data, constraints, bugs), are returned unchanged.
 */
export function translateDatabaseError(
  error: unknown,
  url?: string,
  setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL' = 'DATABASE_URL',
): unknown {
  if (error instanceof BoatMirrorError) return error
  const where = `the database (${url === undefined ? setting : `${setting} ${shownAddress(url)}`})`
  if (isConnectionError(error))
    return new BoatMirrorError('DATABASE_UNREACHABLE', `No connection to ${where}: ${messageOf(error)}.`, {
      remedy: unreachable.replace('DATABASE_URL', setting),
      cause: error,
    })
  if (error instanceof Error && noPasswordTexts.has(error.message))
    return new BoatMirrorError('DATABASE_REFUSED', `Postgres asks for a password at ${where}, and none is set.`, {
      remedy: `Add the password to ${setting}, or set PGPASSWORD or ~/.pgpass.`,
      cause: error,
    })
  const tls = tlsRemedy(error)
  if (tls !== undefined)
    return new BoatMirrorError('DATABASE_REFUSED', `No TLS with ${where}: ${messageOf(error)}.`.replace('..', '.'), {
      remedy: tls.replace('DATABASE_URL', setting),
      cause: error,
    })
  const state = sqlStateOf(error)
  const reaction = state === undefined ? undefined : (reactions[state] ?? reactions[state.slice(0, 2)])
  if (reaction === undefined) return error
  const folder = url === undefined ? [...folders.values()][0] : folders.get(url)
  return new BoatMirrorError(reaction.code, `Postgres refused at ${where}: ${messageOf(error)} (${state}).`, {
    remedy: reaction.remedy
      .replace('DATABASE_URL', setting)
      .replace('on the disk of Postgres', folder ? `in ${folder}` : '$&'),
    cause: error,
  })
}
