// Which kind of authentication to try next: the configured one, Bearer, then what a refusal itself names. The secret
// goes into an address only where an answer asked for that, or the operator allowed it. Pure.

import type { AuthSetting } from '../../config.ts'

/** `bearer`, `header:X-Api-Key`: as API_AUTH takes it. */
export const authText = (auth: AuthSetting): string =>
  auth.kind === 'header' || auth.kind === 'query' ? `${auth.kind}:${auth.name}` : auth.kind

/** Names that APIs give the parameter with the key; tried only on request. */
const usualQueryNames = ['api_key', 'apikey', 'key', 'token', 'access_token']

type Known = {
  /** API_AUTH as it is now. */
  readonly set: AuthSetting
  readonly tried: readonly AuthSetting[]
  /** What refusals asked for. */
  readonly wishes: readonly AuthSetting[]
  readonly token: string | null
  readonly tryQuery: boolean
}

/** What to try next; null: nothing is left that may be tried. */
export function nextAuth({ set, tried, wishes, token, tryQuery }: Known): AuthSetting | null {
  if (token === null) return tried.length === 0 ? { kind: 'none' } : null
  const candidates: readonly AuthSetting[] = [
    set,
    { kind: 'bearer' },
    ...wishes,
    { kind: 'basic' },
    ...(tryQuery ? usualQueryNames.map((name) => ({ kind: 'query', name }) as const) : []),
  ]
  const done = new Set(tried.map((auth) => authText(auth).toLowerCase()))
  return candidates.find((auth) => isPossible(auth, token) && !done.has(authText(auth).toLowerCase())) ?? null
}

const isPossible = ({ kind }: AuthSetting, token: string): boolean => {
  if (kind === 'basic') return token.includes(':')
  return kind === 'query' || kind === 'none' || !/[^\t\x20-\x7e]/.test(token)
}

const named = '["\'`]?([A-Za-z][\\w.-]{0,59})["\'`]?'
const quoted = '["\'`]([A-Za-z][\\w.-]{0,59})["\'`]'
const hyphened = '([A-Za-z]\\w*(?:-\\w+)+)'

/** How words name a header or a query parameter. A bare word counts as a name only where it looks like one. */
const wordings: readonly { readonly kind: 'header' | 'query'; readonly pattern: RegExp }[] = [
  { kind: 'header', pattern: new RegExp(`\\bheader\\s*[:=]?\\s*(?:${quoted}|${hyphened})`, 'i') },
  { kind: 'header', pattern: new RegExp(`(?:${quoted}|\\b${hyphened})\\s+(?:http\\s+|request\\s+)?header\\b`, 'i') },
  {
    kind: 'query',
    pattern: new RegExp(`\\bquery(?:\\s+(?:string\\s+)?param(?:eter)?)?\\s*[:=]?\\s*(?:${quoted}|(\\w+_\\w+))`, 'i'),
  },
  { kind: 'query', pattern: new RegExp(`(?:${quoted}|\\b(\\w+_\\w+))\\s+(?:query|url|request)\\s+param`, 'i') },
  { kind: 'query', pattern: /[?&]([A-Za-z][\w.-]{0,59})=/ },
]

/** Headers that carry no key, or have a meaning that is tried anyway. */
const notKeys = /^(authorization|www-authenticate|cookie|host|accept.*|content-.*|user-agent|proxy-.*)$/i

/**
 * What a 401 asks for.
 * @param asksFor its WWW-Authenticate, such as `Basic realm="x"` or `ApiKey in="header", name="X-Api-Key"`
 * @param text its body
 */
export function wishesIn(asksFor: string | undefined, text: string | undefined): readonly AuthSetting[] {
  const found: AuthSetting[] = []
  const challenge = asksFor ?? ''
  if (/(^|,)\s*basic\b/i.test(challenge)) found.push({ kind: 'basic' })
  const place = /\b(?:in|location|place)\s*=\s*"?(header|query)\b/i.exec(challenge)?.[1]?.toLowerCase()
  const name = new RegExp(`\\b(?:name|param|parameter|key)\\s*=\\s*${named}`, 'i').exec(challenge)?.[1]
  if (name !== undefined && (place === 'header' || place === 'query')) found.push({ kind: place, name })
  for (const said of [challenge, text ?? ''])
    for (const { kind, pattern } of wordings) {
      const match = pattern.exec(said)?.slice(1).find(Boolean)
      if (match !== undefined) found.push({ kind, name: match })
    }
  return found.filter((wish) => wish.kind !== 'header' || !notKeys.test(wish.name))
}
