// Every error of ours: a stable code, what must happen next (`kind`), and what a person can do about it.
// docs/errors.md lists the same codes; a test compares the two.

/**
 * What must happen next:
 * `retry` try again later · `fatal` stop and tell a person · `skip` leave this record or stream, go on · `abort` we were asked to stop.
 */
export type ErrorKind = 'retry' | 'fatal' | 'skip' | 'abort'

const ofKind =
  <K extends ErrorKind>(kind: K) =>
  (meaning: string): { readonly kind: K; readonly meaning: string } => ({ kind, meaning })
const [retry, fatal, skip, abort] = [ofKind('retry'), ofKind('fatal'), ofKind('skip'), ofKind('abort')]

/** Code → kind and meaning. The only place where codes are born. */
export const errorCodes = {
  CONFIG_INVALID: fatal('A setting has a value it cannot take, or a name that is not one.'),
  USAGE: fatal('A command was called with arguments it does not take.'),
  NOT_FOUND: fatal('The run, change, record or stream named on the command line does not exist.'),
  PLAN_CHANGED: fatal('What is decided about has changed since it was looked at.'),
  API_UNREACHABLE: retry('No connection to the API, or it broke before the answer was complete.'),
  API_TIMEOUT: retry('The API did not answer within API_TIMEOUT_MS.'),
  API_UNAUTHORIZED: fatal('The API answered 401: the credentials are missing or wrong.'),
  API_FORBIDDEN: skip('The API answered 403: these credentials may not read this.'),
  API_NOT_FOUND: skip('The API answered 404 or 410: the addressed record is gone.'),
  API_REJECTED: skip('The API refused the request with another 4xx.'),
  API_RATE_LIMITED: retry('The API answered 429; we wait as long as it says.'),
  API_SERVER_ERROR: retry('The API answered 5xx or 408.'),
  API_REDIRECT: skip('The API answered with a redirect, which is never followed, or 304 where nobody asked for it.'),
  API_ERROR_BODY: skip('The API answered 200, but the body says that the request failed.'),
  API_NOT_JSON: retry('The body of the answer is not JSON, is cut off, or is in an unknown character set.'),
  API_WRONG_RECORD: retry('A read of a change was answered with something else than asked for.'),
  API_TOO_LARGE: skip('The decoded answer is larger, nested deeper or of more values than allowed.'),
  API_PAUSED: retry('Everything waits: the API failed too often, refuses the account, or asked for a pause.'),
  API_QUOTA_USED: retry('API_QUOTA is used: nothing of this kind leaves until some of it is free again.'),
  PAGING_IGNORED: skip('The API answered the second page with the first: the paging parameter is ignored.'),
  PAGING_FOREIGN_LINK: skip('A next link points to another origin or path than the API.'),
  PAGING_ENDLESS: skip('Pages come again, or more than can be, and nothing proves that the list ended.'),
  PAGING_UNPROVEN: skip('Nothing proves that the list ended where it seemed to.'),
  PAGING_ENVELOPE: skip('The answer holds no array of records, or says that there are more and not where.'),
  DATABASE_UNREACHABLE: retry('No connection to Postgres.'),
  DATABASE_REFUSED: fatal(
    'Postgres refused the login, the database does not exist, there is no TLS where `sslmode` demands it, or Postgres is too old.',
  ),
  DATABASE_UNSUITABLE: fatal(
    'The database cannot be worked with as it is: its encoding, read-only, schemas that others use, or a column of others that must be filled.',
  ),
  DATABASE_BUSY: retry('Postgres gave up a statement: a deadlock, a timeout, or a full disk.'),
  DATA_REFUSED: skip('Postgres refused the data of a record.'),
  DATABASE_SCHEMA: fatal('The schema is missing, older or newer than this program needs.'),
  DATABASE_PRIVILEGE: fatal('The database role lacks a privilege.'),
  EMBEDDED_UNAVAILABLE: fatal('The embedded Postgres cannot be started here.'),
  QUEUE_UNREACHABLE: retry('No connection to the queue backend (Redis or Postgres).'),
  QUEUE_REFUSED: fatal('The queue backend answered but refused: login, rights, replica, database number or schema.'),
  MESSAGE_REFUSED: retry('A receiver did not take a message.'),
  PROGRAM_MISSING: fatal('A program that a command runs is not on the path.'),
  CLOCK_SKEW: fatal('The clocks of this host and of Postgres differ by more than 2 s.'),
  PRIVACY_DIFFERS: fatal('PERSONAL_DATA, PERSONAL_DATA_KEY or `privacy` is not what this database was filled with.'),
  LEASE_LOST: abort('Another worker took this task over; what it had not committed is dropped.'),
  ABORTED: abort('The program was asked to stop.'),
  INTERNAL: fatal('A fault in this program.'),
}

export type ErrorCode = keyof typeof errorCodes

type ErrorDetails = {
  /** What a person can do about it, as an imperative sentence. */
  readonly remedy?: string
  readonly cause?: unknown
  /** Overrides the kind of the code, for the rare case where the same code calls for another reaction. */
  readonly kind?: ErrorKind
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
  readonly status?: number
  /** Milliseconds the API asked us to wait. */
  readonly retryAfterMs?: number
  /** The first 500 characters of the body, secrets removed. */
  readonly body?: string
  /** What the API gave as reason, secrets removed. For people: it may hold personal data, so it is not part of `message`. */
  readonly reason?: string
  /** What a 401 asks for (WWW-Authenticate), secrets removed. */
  readonly asksFor?: string
  /** False when the request certainly never left: repeating a write is then safe. */
  readonly mayHaveTakenEffect?: boolean
}

/** A failed call to the API. */
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

/** The exit code a command ends with for an error: 2 for wrong usage or settings, 1 otherwise. */
export function exitCodeOf(error: unknown): 1 | 2 {
  return error instanceof BoatMirrorError && (error.code === 'CONFIG_INVALID' || error.code === 'USAGE') ? 2 : 1
}
