// The checks that every request passes before a page sees it: headers that restrict the browser, the Host check, no
// state change except by our own forms, and ADMIN_TOKEN: from a program as a bearer, from a browser as the password that it has asked
// for (HTTP Basic, RFC 7617). The token is never stored, and never part of an address. Guesses are slowed down.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isKnownHost, isLoopback, isOwnForm } from '../addresses.ts'
import { BoatMirrorError } from '../errors.ts'
import { createLimit } from '../serve/access/limit.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Needs no token: it reveals only that the process is running. */
    open?: boolean
    /** Accepts our own forms by POST. A browser that knows the token also sends it with the forms of foreign sites. */
    form?: boolean
  }
}

/** Only content of this server, no inline script, no frame. */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const headers = {
  'content-security-policy': contentPolicy,
  'cache-control': 'no-store',
  // Without a referrer of the same origin, browsers would send "Origin: null" with our own forms.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
} as const

const isForm = (request: FastifyRequest): boolean =>
  request.method === 'POST' && request.routeOptions.config?.form === true

type GuardOptions = { readonly host: string; readonly adminToken: string | null; readonly guesses: Guesses }

type Refusal = { readonly status: number; readonly text: string; readonly retryAfterS?: number }

/** CONFIG_INVALID if other machines could read the pages without a token, else null. */
export function unguarded({ host, adminToken }: Pick<GuardOptions, 'host' | 'adminToken'>): BoatMirrorError | null {
  if (isLoopback(host) || adminToken !== null) return null
  return new BoatMirrorError(
    'CONFIG_INVALID',
    `HOST is ${JSON.stringify(host.slice(0, 100))}, which is not a loopback address. The operator pages then need ADMIN_TOKEN.`,
    { remedy: 'Set ADMIN_TOKEN (at least 16 characters), or HOST=127.0.0.1.' },
  )
}

/** Why a request is refused; null: it is not. */
function refusal(request: FastifyRequest, options: GuardOptions): Refusal | null {
  if (!isKnownHost(request.headers.host, options.host))
    return {
      status: 421,
      text: 'The Host header names a host that this server does not accept. Use localhost, an IP address, or the name in HOST.',
    }
  const reads = request.method === 'GET' || request.method === 'HEAD'
  if (!reads && !isForm(request)) return { status: 405, text: 'These pages are read-only. Use the command line.' }
  if (!reads && !isOwnForm(request.headers))
    return { status: 403, text: 'This form was not sent from a page of this server.' }
  if (request.routeOptions.config?.open === true) return null
  return refusalOfCredential(request, options)
}

function refusalOfCredential(request: FastifyRequest, { adminToken, guesses }: GuardOptions): Refusal | null {
  if (adminToken === null) return null // then only loopback can reach us
  const shown = credentialIn(request.headers.authorization)
  const verdict = shown === null ? 'wrong' : guesses(request.ip, () => isToken(adminToken, shown.token))
  if (verdict === 'right') return null
  if (verdict !== 'wrong')
    return { status: 429, text: 'Too many wrong tokens were sent from your address.', retryAfterS: verdict }
  return {
    status: 401,
    text: 'This page needs the token in ADMIN_TOKEN: in a browser as the password, with any user name; from a program as "Authorization: Bearer …".',
  }
}

function refuse(request: FastifyRequest, reply: FastifyReply, { status, text, retryAfterS }: Refusal): FastifyReply {
  const isBrowser = request.headers.accept?.includes('text/html') === true
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS))
  // Only a browser is asked for Basic, which it answers with a prompt. A program must not send the token as a password.
  if (status === 401)
    reply.header(
      'www-authenticate',
      `${isBrowser ? 'Basic' : 'Bearer'} realm="boat-mirror"${isBrowser ? ', charset="UTF-8"' : ''}`,
    )
  if (status === 405) reply.header('allow', 'GET, HEAD')
  return reply.code(status).type('text/plain; charset=utf-8').send(`${text}\n`)
}

/** Puts the guard before all routes of a server. */
export function guard(server: FastifyInstance, options: GuardOptions): void {
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(headers)
    const refused = refusal(request, options)
    if (refused !== null) return refuse(request, reply, refused)
  })
}

/** The token of a request; `basic`: a browser sent it, after an operator typed it. */
type Credential = { readonly kind: 'bearer' | 'basic'; readonly token: string }

/** Reads an Authorization header; null: it has no token. Basic may have any user name. */
export function credentialIn(authorization: string | undefined): Credential | null {
  const [, scheme = '', given = ''] = /^(bearer|basic) +(.+?) *$/i.exec(authorization ?? '') ?? []
  if (scheme.toLowerCase() === 'bearer') return { kind: 'bearer', token: given }
  const [, token = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(given, 'base64').toString()) ?? []
  return token === '' ? null : { kind: 'basic', token }
}

/** Whether this is the token, in the same time for any text. */
export const isToken = (token: string, given: string): boolean =>
  timingSafeEqual(createHash('sha256').update(token).digest(), createHash('sha256').update(given).digest())

type GuessLimits = {
  /** Wrong tokens in a minute: from one address, and from all addresses that never sent a right one. */
  readonly perAddress: number
  readonly inAll: number
  readonly now?: () => number
}

/** Checks a token. @returns the seconds to wait before any token of this address is checked, or the result */
type Guesses = (address: string, isRight: () => boolean) => 'right' | 'wrong' | number

const remembered = 1_000

/** Counts in memory. An address that sent the right token does not wait because of others. */
export function createGuesses({ perAddress = 10, inAll = 100, now }: Partial<GuessLimits> = {}): Guesses {
  const clock = now === undefined ? {} : { now }
  const ofAddress = createLimit({ burst: perAddress, perSecond: perAddress / 60, ...clock })
  const ofAll = createLimit({ burst: inAll, perSecond: inAll / 60, ...clock })
  const wereRight = new Set<string>()
  return (address, isRight) => {
    const isKnown = wereRight.has(address)
    const seconds = Math.max(ofAddress.wait(address), isKnown ? 0 : ofAll.wait('all'))
    if (seconds > 0) return seconds
    if (!isRight()) {
      ofAddress.take(address)
      if (!isKnown) ofAll.take('all')
      return 'wrong'
    }
    if (wereRight.size < remembered) wereRight.add(address)
    return 'right'
  }
}
