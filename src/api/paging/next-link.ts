// Where a list continues: Link headers, next links and their limits. Of a link only path and query are used, on the
// API's own origin and below its own path. Pure.

import { BoatMirrorError } from '../../errors.ts'

const linkValue = /<([^<>]*)>((?:\s*;\s*[\w*-]+(?:\s*=\s*(?:"[^"]*"|[^\s",;]+))?)*)/g
const linkParameter = /;\s*([\w*-]+)\s*=\s*(?:"([^"]*)"|([^\s",;]+))/g

/** The target of `rel="next"` in a Link header (RFC 8288); undefined when there is none. */
export function nextOfLinkHeader(header: string | undefined): string | undefined {
  for (const [, target, parameters] of (header ?? '').matchAll(linkValue))
    for (const [, name, quoted, bare] of (parameters ?? '').matchAll(linkParameter))
      if (name?.toLowerCase() === 'rel' && /(^|\s)next(\s|$)/i.test(quoted ?? bare ?? '')) return target
  return undefined
}

/** Whether a next value of unknown kind is an address, and not a token to be sent back: tokens may begin with a slash. */
export function looksLikeLink(next: string, prefix: string): boolean {
  return /^https?:\/\//i.test(next) || next.startsWith('?') || next.startsWith(`${prefix}/v3/`)
}

/** Tokens that mean "no next page" in some APIs and the first page in others; following them shows which. Not links. */
export const mayMeanNone = (next: string): boolean => next === '0' || next === '-1'

/** So much of a foreign address is named: the API chose its length. */
const shownLength = 100

export type LinkBase = {
  /** `https://host:port` of the API. */
  readonly origin: string
  /** Path in front of `/v3`. */
  readonly prefix: string
  /** Path of the list, for relative links. */
  readonly path: string
  /** Query parameter that carries our secret: an API may echo it in its links, and cursors are stored. */
  readonly secretParam: string | null
}

/**
 * Path and query of a next link, without the secret.
 * @throws BoatMirrorError PAGING_FOREIGN_LINK for another origin, or a path outside `<prefix>/v3/`
 */
export function resolveNextLink(link: string, base: LinkBase): string {
  const from = new URL(base.path, base.origin).href
  const url = URL.canParse(link, from) ? new URL(link, from) : null
  if (url === null || url.origin !== base.origin || !url.pathname.startsWith(`${base.prefix}/v3/`))
    throw new BoatMirrorError(
      'PAGING_FOREIGN_LINK',
      `A next link points to ${url?.origin.slice(0, shownLength) ?? 'an invalid address'}, not below ${base.origin}${base.prefix}/v3/.`,
      {
        remedy: 'Set API_BASE_URL to the address that the API uses in its links, or set API_PAGING=page.',
      },
    )
  if (base.secretParam !== null) url.searchParams.delete(base.secretParam)
  return url.pathname + url.search
}
