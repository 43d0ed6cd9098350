// Which Host headers are answered. A page of a foreign site can make its own name point to this address (DNS rebinding);
// it then asks under that name, and is refused. Pure.

import { isIP } from 'node:net'

/** The name in a Host header, without port and brackets, in lower case; null when it is none. */
export function hostNameOf(header: string | undefined): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header ?? '')
  return (match?.[1] ?? match?.[2] ?? null)?.toLowerCase() ?? null
}

/** Is this the name or address of this machine to itself? */
export const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)

/**
 * Whether a request for this Host is answered. On loopback only loopback names are. Elsewhere addresses, the
 * configured name and names without a dot (containers, machines of a local network) are: no public name looks like
 * these.
 * @param listening HOST.
 */
export function isKnownHost(header: string | undefined, listening: string): boolean {
  const name = hostNameOf(header)
  if (name === null) return false
  if (isLoopback(name)) return true
  if (isLoopback(listening)) return false
  return isIP(name) !== 0 || name === listening.toLowerCase() || !name.includes('.')
}

/** Whether a form comes from one of our pages. Every browser says where a form comes from; null and silence are not us. */
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
