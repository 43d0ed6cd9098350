// Access to the pages: the token in a header, or a signed cookie that the sign-in form sets. Pure, except for the
// clock that is passed in. The token itself is never stored in the browser and never part of an address.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** How long a sign-in lasts, in seconds. */
export const sessionSeconds = 12 * 3_600

export const cookieName = 'boat_mirror_session'

/** Is this the token, or the signature? Takes the same time whatever is given. */
export const isSecret = (secret: string, given: string): boolean =>
  timingSafeEqual(createHash('sha256').update(secret).digest(), createHash('sha256').update(given).digest())

const signature = (token: string, expires: string): string =>
  createHmac('sha256', createHmac('sha256', token).update('boat-mirror session').digest())
    .update(expires)
    .digest('base64url')

/** A session that ends `sessionSeconds` after `now`: its end and a signature made with the token. */
export function issueSession(token: string, now: Date): string {
  const expires = String(Math.floor(now.getTime() / 1_000) + sessionSeconds)
  return `${expires}.${signature(token, expires)}`
}

/** Was this session made with this token, and is it not over? A new token ends all sessions. */
export function isSession(token: string, session: string, now: Date): boolean {
  const [expires = '', signed = '', ...more] = session.split('.')
  if (more.length > 0 || !/^\d{1,12}$/.test(expires)) return false
  return isSecret(signature(token, expires), signed) && Number(expires) * 1_000 > now.getTime()
}

/** The session in a Cookie header, if there is one. */
export function sessionOf(cookieHeader: string | undefined): string | undefined {
  const pairs = (cookieHeader ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([name]) => name === cookieName)?.[1]
}

/** Value of a Set-Cookie header. `secure`: the browser came by https. An empty session signs out. */
export function sessionCookie(session: string, secure: boolean): string {
  const age = session === '' ? 0 : sessionSeconds
  return `${cookieName}=${session}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
}

/** The credentials of a request. */
export type Credential = { readonly kind: 'token' | 'session'; readonly text: string }

/** The token in an Authorization header, else the session in a Cookie header; null: neither is there. */
export function credentialOf(headers: {
  readonly authorization?: string | undefined
  readonly cookie?: string | undefined
}): Credential | null {
  const bearer = /^bearer +(.+?) *$/i.exec(headers.authorization ?? '')?.[1]
  if (bearer !== undefined) return { kind: 'token', text: bearer }
  const session = sessionOf(headers.cookie)
  return session === undefined || session === '' ? null : { kind: 'session', text: session }
}

/** Does this credential open the pages at this moment? */
export const isRight = (token: string, { kind, text }: Credential, now: Date): boolean =>
  kind === 'token' ? isSecret(token, text) : isSession(token, text, now)
