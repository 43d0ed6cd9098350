// Every error of Boat Mirror: a stable code, what must happen next (`kind`), and what the user can do about it.
// docs/errors.md lists the same codes; a test compares the two.

/**
 * What must happen next:
 * `retry` try again later · `fatal` stop and report it · `skip` skip this record or stream, continue · `abort` a stop was requested.
 */
export type ErrorKind = 'retry' | 'fatal' | 'skip' | 'abort'

const ofKind =
  <K extends ErrorKind>(kind: K) =>
  (meaning: string): { readonly kind: K; readonly meaning: string } => ({ kind, meaning })
const [retry, fatal, skip, abort] = [ofKind('retry'), ofKind('fatal'), ofKind('skip'), ofKind('abort')]

/** All codes, with kind and meaning. */
export const errorCodes = {
  CONFIG_INVALID: fatal('A setting has a value that it does not accept, or its name is unknown.'),
  USAGE: fatal('A command was called with arguments that it does not accept.'),
  NOT_FOUND: fatal('The run, change, record or stream named on the command line does not exist.'),
  PLAN_CHANGED: fatal('The plan of the decision has changed since you reviewed it.'),
  API_CHANGED: fatal('The database mirrors another API than the configured one.'),
  API_UNREACHABLE: retry('The connection to the API failed, or broke before the answer was complete.'),
  API_TIMEOUT: retry('The API did not answer within API_TIMEOUT_MS.'),
  API_UNAUTHORIZED: fatal('The API answered 401: the credentials are missing or wrong.'),
  API_FORBIDDEN: skip('The API answered 403: these credentials may not read this.'),
  API_NOT_FOUND: skip('The API answered 404 or 410: the record is gone.'),
  API_REJECTED: skip('The API refused the request with another 4xx.'),
  API_RATE_LIMITED: retry('The API answered 429; requests wait as long as it says.'),
  API_SERVER_ERROR: retry('The API answered 5xx or 408.'),
  API_REDIRECT: skip(
    'The API answered with a redirect, which is never followed, or with a 304 that was not requested.',
  ),
  API_ERROR_BODY: skip('The API answered 200, but the body says that the request failed.'),
  API_NOT_JSON: retry('The body of the answer is not JSON, is cut off, or is in an unknown character set.'),
  API_WRONG_RECORD: retry('A read for a change returned a different record than requested.'),
  API_TOO_LARGE: skip('The decoded answer is larger, nested deeper or has more values than allowed.'),
  API_PAUSED: retry('All requests wait: the API failed too often, refuses the account, or asked for a pause.'),
  API_QUOTA_USED: retry('API_QUOTA is used up: no request of this kind is sent until some of it is free again.'),
  PAGING_IGNORED: skip('The API answered the second page with the first: the paging parameter is ignored.'),
  PAGING_FOREIGN_LINK: skip('A next link points to another origin or path than the API.'),
  PAGING_ENDLESS: skip('Pages repeat, or exceed any possible number, and nothing proves that the list ended.'),
  PAGING_UNPROVEN: skip('Nothing proves that the list ended where it seemed to.'),
  PAGING_ENVELOPE: skip('The answer holds no array of records, or says that there are more but not where.'),
  DATABASE_UNREACHABLE: retry('The connection to Postgres failed.'),
  DATABASE_REFUSED: fatal(
    'Postgres refused the login, the database does not exist, TLS is missing although `sslmode` requires it, or Postgres is too old.',
  ),
  DATABASE_UNSUITABLE: fatal(
    'The database cannot be used as it is: its engine, encoding, read-only, schemas in use by others, an added column that must be filled, or a setting of the role.',
  ),
  DATABASE_BUSY: retry('Postgres aborted a statement: a deadlock, a timeout, or a full disk.'),
  DATA_REFUSED: skip('Postgres refused the data of a record.'),
  DATABASE_SCHEMA: fatal('The schema is missing, older or newer than this program needs.'),
  DATABASE_PRIVILEGE: fatal('The database role lacks a privilege.'),
  EMBEDDED_UNAVAILABLE: fatal('The embedded Postgres cannot be started here.'),
  QUEUE_UNREACHABLE: retry('The connection to the queue backend (Redis or Postgres) failed.'),
  QUEUE_REFUSED: fatal('The queue backend answered but refused: login, rights, replica, database number or schema.'),
  MESSAGE_REFUSED: retry('A receiver did not accept a message.'),
  PROGRAM_MISSING: fatal('A program that a command runs is not on the path.'),
  CLOCK_SKEW: fatal('The clocks of this host and of Postgres differ by more than 2 s.'),
  PRIVACY_DIFFERS: fatal(
    'PERSONAL_DATA, PERSONAL_DATA_KEY or `privacy` differs from the settings that this database was filled with.',
  ),
  OUTPUT_LOST: fatal('What a command prints could not be written, and it is its result or a secret.'),
  LEASE_LOST: abort('Another worker took over this task; its uncommitted work is discarded.'),
  ABORTED: abort('The program was asked to stop.'),
  INTERNAL: fatal('An error in Boat Mirror itself.'),
}

export type ErrorCode = keyof typeof errorCodes

type ErrorDetails = {
  /** What you can do about it, as an imperative sentence. */
  readonly remedy?: string | undefined
  readonly cause?: unknown
  /** Replaces the kind of the code. */
  readonly kind?: ErrorKind | undefined
}

/** An error with a stable code. `message` names the thing and the value; `remedy` says what to do. */
export class BoatMirrorError extends Error {
  readonly code: ErrorCode
  readonly kind: ErrorKind
  readonly remedy: string | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'BoatMirrorError'
    this.code = code
    this.kind = details.kind ?? errorCodes[code].kind
    this.remedy = details.remedy
  }
}

export type ApiErrorDetails = ErrorDetails & {
  /** Method and path template, e.g. `GET /v3/rentals/{rentalId}`; never an id. */
  readonly endpoint: string
  readonly status?: number | undefined
  /** Milliseconds the API asked us to wait. */
  readonly retryAfterMs?: number | undefined
  /** The first 500 characters of the body, secrets removed. */
  readonly body?: string | undefined
  /** The reason in the API's answer, secrets removed. It may hold personal data, so it is not part of `message`. */
  readonly reason?: string | undefined
  /** What a 401 asks for (WWW-Authenticate), secrets removed. */
  readonly asksFor?: string | undefined
  /** False if the request was certainly not sent: repeating a write is then safe. */
  readonly mayHaveTakenEffect?: boolean
}

export class ApiError extends BoatMirrorError {
  readonly endpoint: string
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly body: string | undefined
  readonly reason: string | undefined
  readonly asksFor: string | undefined
  readonly mayHaveTakenEffect: boolean

  constructor(code: ErrorCode, message: string, details: ApiErrorDetails) {
    super(code, message, details)
    this.name = 'ApiError'
    this.endpoint = details.endpoint
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.body = details.body
    this.reason = details.reason
    this.asksFor = details.asksFor
    this.mayHaveTakenEffect = details.mayHaveTakenEffect ?? true
  }
}

/** The message of anything thrown, without a stack. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  if (error instanceof Error) return error.message || error.name
  return String(error)
}

/** A file of settings that exists and cannot be read. */
export const unreadableFile = (path: string, cause: unknown): BoatMirrorError =>
  new BoatMirrorError('CONFIG_INVALID', `${path} cannot be read: ${messageOf(cause)}.`, {
    remedy:
      'Run the command as the owner of the file. For a service, move its settings to the environment of the service.',
    cause,
  })

/** The exit code a command ends with for an error: 2 for wrong usage or settings, 1 otherwise. */
export function exitCodeOf(error: unknown): 1 | 2 {
  return error instanceof BoatMirrorError && (error.code === 'CONFIG_INVALID' || error.code === 'USAGE') ? 2 : 1
}
