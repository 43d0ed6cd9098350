// Addresses in settings, and the secret that signs posted messages: undefined is an invalid value. And the Host headers that are accepted:
// a foreign site can make its own name point to this address (DNS rebinding), and is then refused by that name. Pure.

import { isIP } from 'node:net'

/** An address with one of these schemes, without the slashes at its end. */
const addressWith =
  (...schemes: readonly string[]) =>
  (value: string): string | undefined =>
    URL.canParse(value) && schemes.includes(new URL(value).protocol) ? value.replace(/\/+$/, '') : undefined

const httpAddress = addressWith('http:', 'https:')

/** The address; undefined if a % in its user or password is not an escape. */
function withReadableLogin(address: string | undefined): string | undefined {
  try {
    const { username, password } = new URL(address ?? '')
    decodeURIComponent(username + password)
    return address
  } catch {
    return undefined // no address, or not to be decoded: the caller reports it with the variable's name
  }
}

const postgresAddress = addressWith('postgres:', 'postgresql:')

/** Valid values of libpq's parameters; pg would fail on others, or ignore them. */
const postgresParameters: Readonly<Record<string, RegExp>> = {
  sslmode: /^(disable|allow|prefer|require|verify-ca|verify-full|no-verify)$/,
  sslnegotiation: /^(postgres|direct)$/,
  port: /^\d{1,5}$/,
  host: /^[^,]*$/,
}

/** libpq and pg allow a user without a host, which is no URL: `postgres://user:pw@/db?host=/dir`. */
const withHost = (value: string): string =>
  value.replace(
    /^postgres(ql)?:\/\/[^/?#]*@(?=[/?]|$)/i,
    (user) => user + encodeURIComponent(process.env.PGHOST || 'localhost'),
  )

/** A Postgres address of one host. */
export function parsePostgresAddress(value: string): string | undefined {
  // A % that escapes nothing is a plain character, as in pg.
  const given = postgresAddress(withHost(value.replace(/%(?![0-9a-f]{2})/gi, '%25')))
  if (given === undefined) return undefined
  const url = new URL(given)
  const { username, password, hostname, pathname, searchParams } = url
  // The last of repeated parameters counts, as in libpq and pg.
  for (const name of new Set(searchParams.keys())) {
    const [last, before] = searchParams.getAll(name).reverse()
    if (before !== undefined) searchParams.set(name, last ?? '')
  }
  for (const [name, pattern] of Object.entries(postgresParameters))
    if (searchParams.getAll(name).some((given) => !pattern.test(given))) return undefined
  // As in libpq: no TLS unless it is requested.
  const mode = searchParams.get('sslmode') ?? ''
  if (searchParams.get('sslnegotiation') === 'direct' && ['disable', 'allow', 'prefer'].includes(mode)) return undefined
  try {
    decodeURIComponent(username + password + pathname)
    return decodeURIComponent(hostname).includes(',') ? undefined : url.href.replace(/\/+$/, '')
  } catch {
    return undefined // not to be decoded: the caller reports it with the variable's name
  }
}

/** A proxy's address; without a scheme it is http, as everywhere. */
export const parseProxy = (value: string): string | undefined =>
  withReadableLogin(httpAddress(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`))

/** The API's root, without /v3. */
export function parseApiAddress(value: string): string | undefined {
  const address = withReadableLogin(httpAddress(value)?.replace(/\/v3$/, ''))
  if (address === undefined) return undefined
  const { search, hash } = new URL(address)
  return search === '' && hash === '' ? address : undefined
}

/** A Redis address, with no more behind it than a database number. */
export function parseRedisAddress(value: string): string | undefined {
  const address = addressWith('redis:', 'rediss:')(value)
  return address !== undefined && /^(\/\d*)?$/.test(new URL(address).pathname) ? address : undefined
}

/** The address of a receiver of our messages: clear text only to this machine and to names of a local network. It is not changed. */
export function parseReceiver(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return undefined
  const isNear = /^(127(\.\d+){3}|\[::1\]|[^.:[\]]+|.+\.localhost)$/.test(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && isNear) ? url.href : undefined
}

/** Keys of Standard Webhooks, separated by spaces. */
export function parseSigningSecrets(value: string): readonly string[] | undefined {
  const secrets = value.split(/\s+/).map(parseSigningSecret)
  return secrets.every((secret) => secret !== undefined) ? [...new Set(secrets)] : undefined
}

/** One key, of 24 to 64 bytes. */
function parseSigningSecret(value: string): string | undefined {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1]
  if (base64 === undefined || base64.length % 4 !== 0) return undefined
  const bytes = Buffer.from(base64, 'base64').length
  return bytes >= 24 && bytes <= 64 ? value : undefined
}

/** An address to listen on, such as 127.0.0.1:8585 or [::1]:8585. Port 0 is any free one. */
export function parseListen(value: string): { readonly host: string; readonly port: number } | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+)):(\d{1,5})$/i.exec(value)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host !== undefined && port <= 65_535 ? { host, port } : undefined
}

/** The name in a Host header, without port and brackets, in lower case; null if it is invalid. */
export function hostNameOf(header: string | undefined): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header ?? '')
  return (match?.[1] ?? match?.[2] ?? null)?.toLowerCase() ?? null
}

/** Whether this is a loopback name or address. */
export const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)

/**
 * Whether a request for this Host is answered: on loopback, loopback names; elsewhere also addresses, the configured name and names without
 * a dot, as in a local network. `listening`: HOST.
 */
export function isKnownHost(header: string | undefined, listening: string): boolean {
  const name = hostNameOf(header)
  if (name === null) return false
  if (isLoopback(name)) return true
  if (isLoopback(listening)) return false
  return isIP(name) !== 0 || name === listening.toLowerCase() || !name.includes('.')
}

/** Whether a form comes from one of our pages: every browser sends its origin. */
export function isOwnForm(headers: {
  readonly host?: string | undefined
  readonly origin?: string | undefined
  readonly 'sec-fetch-site'?: string | string[] | undefined
}): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { origin } = headers
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === headers.host
}
