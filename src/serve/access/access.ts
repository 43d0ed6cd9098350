// The sender of a request to `serve`. Each request reads `sync.access_tokens` once, shared with those of the same
// moment, so that a token is refused from the moment it is revoked.

import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from '../../addresses.ts'
import type { AuthSetting } from '../../config.ts'
import type { Queryable } from '../../database/sql.ts'
import type { Caller } from '../types.ts'
import { type CredentialSource, challenge, credentialIn } from './credential.ts'
import { type Limit, requestLimit, wrongTokenLimit } from './limit.ts'
import { isSecretOf, tokenParts } from './secrets.ts'
import { findTokens, type KnownToken } from './tokens.ts'

/** The part of a request that access reads. A request of fastify fits. */
type AccessRequest = CredentialSource & {
  /** The address it comes from. */
  readonly ip: string
}

/** Why a request is not answered. */
export type AccessRefusal = {
  /** 401: no token, or none that counts. 429: too many. 503: the token's database role is not there. */
  readonly status: 401 | 429 | 503
  readonly detail: string
  readonly headers: Readonly<Record<string, string>>
}

export type Access = {
  /** The caller of a request, or why it is refused. @throws what the database says when it cannot be asked. */
  callerOf(request: AccessRequest): Promise<Caller | AccessRefusal>
}

export type AccessSettings = {
  /** API_AUTH. */
  readonly auth: AuthSetting
  /** The host in SERVE_LISTEN. */
  readonly host: string
  /** SERVE_RATE_LIMIT; null: no limit. */
  readonly perSecond: number | null
}

type Parts = {
  readonly db: Queryable
  readonly settings: AccessSettings
  /** Shared with calendars. */
  readonly wrongTokens?: Limit
}

/** Is it a refusal? */
export const isRefusal = (answer: Caller | AccessRefusal): answer is AccessRefusal => 'status' in answer

/** Users of this machine may read without a token, as with the operator's pages. */
const localCaller: Caller = { token: null, role: null, companies: null, personal: false, write: false, tagKey: '' }

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
const tooMany = (detail: string, seconds: number): AccessRefusal => ({
  status: 429,
  detail,
  headers: { 'retry-after': String(seconds) },
})

const callerOfToken = ({ id, name, role, companies, personal, write, hash, history }: KnownToken): Caller => ({
  token: { id, name },
  ...{ role, companies, personal, write },
  tagKey: createHmac('sha256', hash).update(history).digest('base64url'),
})

/** Opens access: nothing to close. */
export function openAccess({ db, settings, wrongTokens = wrongTokenLimit() }: Parts): Access {
  const { auth, host, perSecond } = settings
  const isOpenToLocal = isLoopback(host)
  const limit = requestLimit(perSecond)
  const find = gathered((ids) => findTokens(db, ids))

  const unauthorized = (detail: string, isWrong: boolean): AccessRefusal => ({
    status: 401,
    detail,
    headers: { 'www-authenticate': `${challenge(auth)}${isWrong ? ', error="invalid_token"' : ''}` },
  })

  const tokenOf = async (credential: string): Promise<KnownToken | null> => {
    const parts = tokenParts(credential)
    if (parts === null) return null
    const token = await find(parts.id)
    return token !== undefined && isSecretOf(parts.secret, token.hash) ? token : null
  }

  return {
    callerOf: async (request) => {
      const credential = credentialIn(request, auth)
      if (credential === null) {
        if (isOpenToLocal && !isForwarded(request.headers)) return localCaller
        return unauthorized('This request has no access token.', false)
      }
      const token = await tokenOf(credential)
      if (token === null) {
        const wait = wrongTokens.take(request.ip)
        if (wait > 0) return tooMany('Too many wrong access tokens came from this address.', wait)
        return unauthorized('This access token is not valid.', true)
      }
      if (token.state === 'expired') return unauthorized('This access token has expired.', true)
      const seconds = limit.take(token.id)
      if (seconds > 0) return tooMany('This access token has sent too many requests.', seconds)
      if (token.state === 'no role')
        return {
          status: 503,
          detail: 'The database role of this access token does not exist yet. Ask the operator who created the token.',
          headers: { 'retry-after': '60' },
        }
      return callerOfToken(token)
    },
  }
}

/**
 * Looks keys up together. A look-up never starts before it is requested, so its result is not older than the request.
 * @param find finds several keys at once; all its callers get its error
 */
export function gathered<V>(
  find: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): (key: string) => Promise<V | undefined> {
  let before: Promise<unknown> = Promise.resolve()
  let next: { readonly keys: Set<string>; readonly found: Promise<ReadonlyMap<string, V>> } | null = null
  return async (key) => {
    if (next === null) {
      const keys = new Set<string>()
      const found = before.then(() => {
        next = null
        return find([...keys])
      })
      next = { keys, found }
      before = found.catch(() => {}) // the callers get the error; the next look-up continues
    }
    next.keys.add(key)
    return (await next.found).get(key)
  }
}
