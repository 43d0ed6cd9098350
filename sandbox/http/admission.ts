// Admission: credentials in the way the sandbox is configured to require them (a wrong way is refused at the start),
// and a limit of requests per second of real time, counted in whole seconds.

import { timingSafeEqual } from 'node:crypto'

/** The parts of a request that may carry credentials; header names in lower case. */
interface Credentials {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly query: Readonly<Record<string, string | undefined>>
}

function equal(given: unknown, expected: string): boolean {
  if (typeof given !== 'string') return false
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** A check for `none`, `bearer`, `basic`, `header:NAME` or `query:NAME`; throws RangeError for anything else. */
export function createAuthCheck(auth: string, token: string): (request: Credentials) => boolean {
  const [kind, name = ''] = auth.split(/:(.*)/s)
  if (kind === 'none') return () => true
  if (token === '') throw new RangeError(`auth ${auth} needs a token`)
  if (kind === 'bearer') return ({ headers }) => equal(headers.authorization, `Bearer ${token}`)
  if (kind === 'basic') {
    const expected = `Basic ${Buffer.from(token).toString('base64')}`
    return ({ headers }) => equal(headers.authorization, expected)
  }
  if (kind === 'header' && name) return ({ headers }) => equal(headers[name.toLowerCase()], token)
  if (kind === 'query' && name) return ({ query }) => equal(query[name], token)
  throw new RangeError(`auth must be none, bearer, basic, header:NAME or query:NAME, not ${auth}`)
}

/** What a 401 says it wants: the scheme, and where and under which name a key is to stand. */
export function challengeOf(auth: string): string {
  const [kind, name] = auth.split(/:(.*)/s)
  if (kind === 'basic') return 'Basic realm="sandbox"'
  return kind === 'header' || kind === 'query' ? `ApiKey in="${kind}", name="${name}"` : 'Bearer'
}

interface RateLimit {
  /** Counts a request; the value for `Retry-After` when it is one too many, else null. */
  readonly take: () => string | null
}

/** `perSecond` 0 never refuses. `now` gives milliseconds since 1970. */
export function createRateLimit(perSecond: number, form: 'seconds' | 'date', now: () => number = Date.now): RateLimit {
  let second = 0
  let used = 0
  return {
    take() {
      if (perSecond === 0) return null
      const current = Math.floor(now() / 1000)
      if (current !== second) {
        second = current
        used = 0
      }
      if (++used <= perSecond) return null
      return form === 'seconds' ? '1' : new Date((current + 1) * 1000).toUTCString()
    },
  }
}
