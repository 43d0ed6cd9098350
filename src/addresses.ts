// Addresses as they may be shown: the one place that hides what is secret in them. Pure.

/** Parameters of an address that say where a server is and how it is reached, and are no secret. */
const plainParameters: ReadonlySet<string> = new Set(['host', 'port', 'sslmode', 'db', 'family'])

/**
 * An address without its credentials, for logs, pages, errors and `--json`: `postgres://user:***@host/db?password=***`.
 * The user of a Postgres address stays, since Postgres itself names it; elsewhere the user may be the secret. Of what
 * cannot be read as an address, everything before the last @ and behind the first ? is left out.
 */
export function shownAddress(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null
  const isPostgres = url !== null && /^postgres(ql)?:$/.test(url.protocol)
  // A password with / or ? in it, unescaped, ends up in the path or the query.
  if (url === null || (url.host === '' && !isPostgres) || `${url.pathname}${url.search}${url.hash}`.includes('@'))
    return address.replace(/^([a-z][a-z0-9+.-]*:?\/*)?.*@/is, '$1***@').replace(/[?#].*/s, '?…')
  const hasLogin = url.username !== '' || url.password !== ''
  if (isPostgres && url.password !== '') url.password = '***'
  if (!isPostgres) [url.username, url.password] = [hasLogin ? '***' : '', '']
  for (const name of new Set(url.searchParams.keys())) if (!plainParameters.has(name)) url.searchParams.set(name, '***')
  url.hash = ''
  return address.endsWith('/') ? url.href : url.href.replace(/\/$/, '')
}
