// What went wrong with a request, in our own error codes: from statuses, and from errors of sockets, TLS and zlib.
// Pure. Messages name endpoint and status; what the API said goes into `body` and `reason`, never into a log. Connections
// to proxies and Redis are explained by the same codes; they differ in the names of their settings and schemes.

import { ApiError, type ApiErrorDetails, BoatMirrorError, type ErrorCode } from '../../errors.ts'
import { oneLine } from '../../text.ts'
import { passesByItself } from '../retry.ts'
import { abortedCall } from './abort.ts'
import { get, type Json, parseJson, textOf } from './json.ts'
import { type ApiProxy, ProxyFailure } from './proxy.ts'
import { type Target, withoutSecrets } from './request.ts'

/** The code of an answer that is not 2xx. */
function codeOfStatus(status: number): ErrorCode {
  if (status === 401) return 'API_UNAUTHORIZED'
  if (status === 403) return 'API_FORBIDDEN'
  if (status === 404 || status === 410) return 'API_NOT_FOUND'
  if (status === 429) return 'API_RATE_LIMITED'
  if (status === 408 || status >= 500) return 'API_SERVER_ERROR'
  return status < 400 ? 'API_REDIRECT' : 'API_REJECTED'
}

const remedies: Partial<Record<ErrorCode, string>> = {
  API_UNAUTHORIZED: 'Check API_TOKEN, and API_AUTH, which sets how it is sent.',
  API_FORBIDDEN:
    'Ask the API’s operator for the right to read this, or turn off the stream: `schedules: {STREAM: off}`.',
  API_REDIRECT: 'Set API_BASE_URL to the address the API redirects to: redirects are not followed.',
  API_RATE_LIMITED: 'Lower API_RATE_LIMIT if this persists.',
}

/** A 304 is not a redirect: it names no address to follow. */
const remedyOfUnasked304 =
  'A cache in front of the API answers 304 to requests without an entity tag. Ask its operator, or set API_BASE_URL to an address without the cache.'

const keptOfBody = 500
const keptOfReason = 200

type FailedAnswer = {
  readonly endpoint: string
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly text: string
  readonly target: Pick<Target, 'secrets' | 'sent'>
  /** The header WWW-Authenticate of a 401. */
  readonly asksFor: string | undefined
}

/** The error for an answer that is not 2xx. A 4xx other than 408 was refused: it took no effect. */
export function failureOfAnswer(answer: FailedAnswer): ApiError {
  const { endpoint, status, text, retryAfterMs } = answer
  const { secrets } = answer.target
  const code = codeOfStatus(status)
  const reason = reasonIn(text)
  const details: ApiErrorDetails = {
    endpoint,
    status,
    mayHaveTakenEffect: !(status >= 400 && status < 500 && status !== 408),
    body: text === '' ? undefined : withoutSecrets(text, secrets).slice(0, keptOfBody),
    reason: reason && withoutSecrets(reason, secrets).slice(0, keptOfReason),
    asksFor: answer.asksFor && shownWish(answer.asksFor, secrets),
    retryAfterMs,
    remedy: status === 304 ? remedyOfUnasked304 : remedies[code],
    kind: passesByItself(status, retryAfterMs) ? 'retry' : undefined,
  }
  return new ApiError(code, status === 401 ? refusal(answer) : `${endpoint} answered ${status}.`, details)
}

/** The same for every endpoint, so that it is said once. */
function refusal({ target, asksFor }: FailedAnswer): string {
  const wish =
    asksFor === undefined
      ? 'does not say what it requires'
      : `requires ${oneLine(shownWish(asksFor, target.secrets), 120)}`
  return `The API answered 401. The request carried ${target.sent}; the API ${wish}.`
}

const shownWish = (asksFor: string, secrets: readonly string[]): string =>
  secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), asksFor)

const reasonPaths = ['message', 'error', 'error.message', 'detail', 'title', 'errors', 'error_description']

/** What the body gives as reason: the usual members, RFC 9457 among them; the API documents none. */
function reasonIn(text: string): string | undefined {
  let body: Json
  try {
    body = parseJson(text).value
  } catch {
    return undefined // error pages are often HTML: no reason to be found
  }
  for (const path of reasonPaths) {
    const found = sentences(get(body, path))
    if (found !== undefined) return found
  }
  return undefined
}

function sentences(value: Json | undefined): string | undefined {
  if (!Array.isArray(value)) return textOf(value)
  const parts = value.map((item) => textOf(item) ?? textOf(get(item, 'message')) ?? textOf(get(item, 'detail')))
  const known = parts.filter((part) => part !== undefined)
  return known.length === 0 ? undefined : known.join('; ')
}

type FailedRequest = {
  readonly endpoint: string
  /** Scheme, host and port. */
  readonly origin: string
  /** The proxy in between, if there is one. */
  readonly proxy: ApiProxy | null
  /** null: our own time limit did not end it. */
  readonly timedOutAfterMs: number | null
  /** Set when the caller called it off. */
  readonly abortedBy: AbortSignal | null
  /** Whether a byte of it may have left. */
  readonly sent: boolean
  /** Of the answer whose body could not be read; undefined: none came. */
  readonly status: number | undefined
}

/** The error for a request that got no complete answer. */
export function failureOfRequest(error: unknown, request: FailedRequest): ApiError {
  const { endpoint, origin, sent } = request
  const details = { endpoint, mayHaveTakenEffect: sent, status: request.status }
  if (request.abortedBy !== null) return abortedCall(request.abortedBy, endpoint, sent)
  if (request.timedOutAfterMs !== null)
    return new ApiError('API_TIMEOUT', `${endpoint} did not answer within ${request.timedOutAfterMs} ms.`, {
      ...details,
      remedy: 'Raise API_TIMEOUT_MS if the API is just slow.',
    })
  if (error instanceof ApiError) return error
  if (error instanceof BoatMirrorError)
    return new ApiError(error.code, `${endpoint}: ${error.message}`, { ...details, remedy: error.remedy })
  const code = codeIn(error)
  if (/^(Z_|ERR_BROTLI|ERR__ERROR)/.test(code))
    return new ApiError('API_NOT_JSON', `${endpoint}: the compressed answer is damaged or cut off (${code}).`, {
      ...details,
      remedy: 'Check what is between this host and the API: a proxy may change or cut off answers.',
    })
  // For an http API, every connection is the proxy's own.
  const isProxys = error instanceof ProxyFailure || request.proxy?.variable === 'HTTP_PROXY'
  if (request.proxy !== null && isProxys) return proxyFailed(error, code, request.proxy, details)
  // A connection that breaks in the middle of an answer has shown that it is the right one.
  const problem = request.status === undefined ? connectionProblem(code, httpPeer('API_BASE_URL', origin)) : undefined
  return new ApiError(
    'API_UNREACHABLE',
    `${endpoint}: ${problem?.what ?? 'the connection broke'} at ${origin} (${code}).`,
    { ...details, remedy: problem?.remedy },
  )
}

/** The error for a request that got no further than the proxy. */
function proxyFailed(error: unknown, code: string, proxy: ApiProxy, details: ApiErrorDetails): ApiError {
  const { variable, origin } = proxy
  const where = `at the proxy ${origin} (${variable})`
  const status = error instanceof ProxyFailure ? error.status : undefined
  const otherwise = 'Or add the host of the API to NO_PROXY if it can be reached without a proxy.'
  if (status !== undefined)
    return new ApiError('API_UNREACHABLE', `${details.endpoint}: refused with ${status} ${where}.`, {
      ...details,
      remedy:
        status === 407
          ? `Put the user and password that the proxy requires into ${variable}: http://USER:PASSWORD@HOST:PORT.`
          : `Ask the operator of the proxy to let this host through to the API. ${otherwise}`,
    })
  const problem = connectionProblem(code, httpPeer(variable, origin))
  return new ApiError(
    'API_UNREACHABLE',
    `${details.endpoint}: ${problem?.what ?? 'the connection broke'} ${where} (${code}).`,
    { ...details, remedy: `${problem?.remedy ?? `Check ${variable}.`} ${otherwise}` },
  )
}

/** Whom a connection was for. */
type Peer = {
  /** The setting that holds its address, e.g. `API_BASE_URL`. */
  readonly variable: string
  /** Its address's scheme, and the one that would be the other of with TLS and without. */
  readonly scheme: string
  readonly otherScheme: string
  readonly secure: boolean
}

type ConnectionProblem = {
  /** Completes "… at ADDRESS". */
  readonly what: string
  readonly remedy: string
}

/** The peer behind an address of http and https, which a setting holds. */
export function httpPeer(variable: string, origin: string): Peer {
  const secure = origin.startsWith('https:')
  return { variable, secure, scheme: secure ? 'https' : 'http', otherScheme: secure ? 'http' : 'https' }
}

const authorityUnknown =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?))$/
const hungUp = /^(UND_ERR_SOCKET|ECONNRESET|EPIPE|HTTPParserError|HPE_\w+)$/

/** Says what a code of Node's sockets, TLS or undici means for this peer; undefined: nothing more than the code is known. */
export function connectionProblem(code: string, peer: Peer): ConnectionProblem | undefined {
  const { variable, scheme, otherScheme, secure } = peer
  const check = `Check ${variable}, and that the server it names is up.`
  if (code === 'ECONNREFUSED') return { what: 'the connection was refused', remedy: check }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return { what: 'the host is unknown', remedy: check }
  if (/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/.test(code))
    return { what: 'the server could not be reached', remedy: check }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code))
    return {
      what: `the port does not speak ${scheme}`,
      remedy: `Use ${otherScheme}:// in ${variable}, or the port that speaks TLS.`,
    }
  if (!secure && hungUp.test(code))
    return {
      what: 'the connection was closed without a valid answer, as a TLS port does,',
      remedy: `If the port speaks TLS, use ${otherScheme}:// in ${variable}. Otherwise check the health of the server.`,
    }
  if (authorityUnknown.test(code))
    return {
      what: 'this host does not trust the authority that signed the certificate',
      remedy:
        'Set NODE_EXTRA_CA_CERTS to the file with the certificate of that authority (PEM). Set it in the environment: Node reads it before any .env.',
    }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return {
      what: code === 'CERT_HAS_EXPIRED' ? 'the certificate has expired' : 'the certificate is not valid yet',
      remedy: 'Renew the certificate. If it is valid, correct the clock of this host.',
    }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      what: 'the certificate is for another host name',
      remedy: `Use a name from the certificate in ${variable}, or have a certificate issued for this name.`,
    }
  if (/CERT|SIGNATURE|^ERR_TLS|^ERR_SSL|^EPROTO$/.test(code))
    return { what: 'the TLS connection failed', remedy: `Check ${variable}, and what its server requires for TLS.` }
  return undefined
}

/** The code of an error or of what caused it; names only, because messages may quote what was sent. */
export function codeIn(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    const code: unknown = 'code' in current ? current.code : undefined
    if (typeof code === 'string') return code
  }
  return error instanceof Error ? error.name : 'unknown'
}
