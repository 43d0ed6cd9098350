// Where a request carries its access token: where the real API takes its secret (API_AUTH), so that a program written
// for the API changes only address and secret; and always as a bearer. Pure.

import type { IncomingHttpHeaders } from 'node:http'
import type { AuthSetting } from '../../config.ts'

/** The part of a request that is read. A request of fastify fits. */
export type CredentialSource = { readonly headers: IncomingHttpHeaders; readonly url: string }

/** The credential that a request carries; null: none. */
export function credentialIn({ headers, url }: CredentialSource, auth: AuthSetting): string | null {
  return fromApiPlace(headers, url, auth) ?? afterScheme(headers.authorization, 'bearer')
}

function fromApiPlace(headers: IncomingHttpHeaders, url: string, auth: AuthSetting): string | null {
  switch (auth.kind) {
    case 'basic':
      return fromBasic(afterScheme(headers.authorization, 'basic'))
    case 'header': {
      const value = headers[auth.name.toLowerCase()]
      return typeof value === 'string' ? value.trim() : null
    }
    case 'query':
      return new URLSearchParams(url.split('?').slice(1).join('?')).get(auth.name)
    case 'bearer':
    case 'none':
      return null
    default:
      return auth satisfies never
  }
}

/** The text after the name of a scheme, whose case does not count. */
function afterScheme(authorization: string | undefined, scheme: string): string | null {
  const [name = '', ...rest] = (authorization ?? '').trim().split(/ +/)
  return name.toLowerCase() === scheme ? rest.join(' ') : null
}

/** The token is the password of any user, or the user without a password. */
function fromBasic(encoded: string | null): string | null {
  if (encoded === null) return null
  const [user = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  const password = rest.join(':')
  return password === '' ? user : password
}

/** The value of WWW-Authenticate (RFC 9110, 11.6.1): the API's own way first. */
export function challenge(auth: AuthSetting): string {
  const bearer = 'Bearer realm="boat-mirror"'
  if (auth.kind === 'basic') return `Basic realm="boat-mirror", charset="UTF-8", ${bearer}`
  if (auth.kind === 'header' || auth.kind === 'query')
    return `ApiKey realm="boat-mirror", in="${auth.kind}", name="${auth.name}", ${bearer}`
  return bearer
}
