// The sender of a request to `serve`. Each request reads `sync.access_tokens` once, shared with those of the same
// moment, so that a token is refused from the moment it is revoked.

import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from '../../addresses.ts'
import type { AuthSetting } from '../../config.ts'
import type { Connecting } from '../../database/together.ts'
import { gathered } from '../../memo.ts'
import { problem, Refusal } from '../problem.ts'
import type { Caller } from '../types.ts'
import { type CredentialSource, challenge, credentialIn } from './credential.ts'
import { type Limit, requestLimit, wrongTokenLimit } from './limit.ts'
import { isSecretOf, tokenParts } from './secrets.ts'
import { findHistory, findTokens, type KnownToken } from './tokens.ts'

export type AccessSettings = {
  /** API_AUTH. */
  readonly auth: AuthSetting
  /** The host in SERVE_LISTEN. */
  readonly host: string
  /** SERVE_RATE_LIMIT; null: no limit. */
  readonly perSecond: number | null
}

/** Users of this machine may read without a token, as with the operator's pages. Their tags hold for this history of the database. */
const localCaller = (history: string): Caller => ({
  ...{ token: null, role: null, companies: null, personal: false, write: false },
  tagKey: history,
})

/** A proxy of this machine says in one of these for whom it asks. */
const forwarding = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
] as const

const isForwarded = (headers: IncomingHttpHeaders): boolean => forwarding.some((name) => headers[name] !== undefined)

/** A refusal that asks to wait so many seconds. */
const tooEarly = (status: 429 | 503, detail: string, seconds: number): Refusal =>
  new Refusal(problem(status, detail, {}, { 'retry-after': String(seconds) }))

const callerOfToken = ({ id, name, role, companies, personal, write, hash, history }: KnownToken): Caller => ({
  token: { id, name },
  ...{ role, companies, personal, write },
  tagKey: createHmac('sha256', hash).update(history).digest('base64url'),
})

/**
 * Makes a function that finds the caller of a request; a request of fastify fits. Calendars share `wrongTokens`.
 * @throws Refusal 401 without a token that counts, 429 for too many, 503 while the token's database role does not exist; what the
 * database says when it cannot be asked
 */
export function createCallerOf(
  pool: Connecting,
  { auth, host, perSecond }: AccessSettings,
  wrongTokens: Limit = wrongTokenLimit(),
): (request: CredentialSource & { readonly ip: string }) => Promise<Caller> {
  const isOpenToLocal = isLoopback(host)
  const limit = requestLimit(perSecond)
  const find = gathered((ids) => findTokens(pool, ids))
  const history = gathered(async ([key = '']) => new Map([[key, await findHistory(pool)]]))

  const unauthorized = (detail: string, isWrong: boolean): Refusal => {
    const header = `${challenge(auth)}${isWrong ? ', error="invalid_token"' : ''}`
    return new Refusal(problem(401, detail, {}, { 'www-authenticate': header }))
  }

  const tokenOf = async (credential: string): Promise<KnownToken | null> => {
    const parts = tokenParts(credential)
    if (parts === null) return null
    const token = await find(parts.id)
    return token !== undefined && isSecretOf(parts.secret, token.hash) ? token : null
  }

  return async (request) => {
    const credential = credentialIn(request, auth)
    if (credential === null) {
      if (isOpenToLocal && !isForwarded(request.headers)) return localCaller((await history('')) ?? '')
      throw unauthorized('This request has no access token.', false)
    }
    const token = await tokenOf(credential)
    if (token === null) {
      const wait = wrongTokens.take(request.ip)
      if (wait > 0) throw tooEarly(429, 'Too many wrong access tokens came from this address.', wait)
      throw unauthorized('This access token is not valid.', true)
    }
    if (token.state === 'expired') throw unauthorized('This access token has expired.', true)
    const seconds = limit.take(token.id)
    if (seconds > 0) throw tooEarly(429, 'This access token has sent too many requests.', seconds)
    if (token.state === 'active') return callerOfToken(token)
    const missing = 'The database role of this access token does not exist yet.'
    throw tooEarly(503, `${missing} Ask the operator who created the token.`, 60)
  }
}
