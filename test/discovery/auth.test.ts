// Which kind of authentication is tried, and what refusals ask for.

import { describe, expect, it } from 'vitest'
import type { AuthSetting } from '../../src/config.ts'
import { authText, nextAuth, wishesIn } from '../../src/profile/search/auth.ts'

/** All that would be tried if each were refused. */
function tries(
  token: string | null,
  wishes: readonly AuthSetting[],
  more: { set?: AuthSetting; tryQuery?: boolean } = {},
) {
  const tried: AuthSetting[] = []
  for (;;) {
    const next = nextAuth({ set: { kind: 'bearer' }, tryQuery: false, ...more, tried, wishes, token })
    if (next === null) return tried.map(authText)
    tried.push(next)
  }
}

describe('what is tried', () => {
  const key: AuthSetting = { kind: 'header', name: 'X-Api-Key' }
  const inQuery: AuthSetting = { kind: 'query', name: 'key' }
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['without a wish, Bearer alone', tries('secret', []), ['bearer']],
    ['a user and password, also as Basic', tries('user:password', []), ['bearer', 'basic']],
    ['a wish for Basic, not without a colon', tries('secret', [{ kind: 'basic' }]), ['bearer']],
    [
      'what the refusals name, each once',
      tries('secret', [key, inQuery, key]),
      ['bearer', 'header:X-Api-Key', 'query:key'],
    ],
    ['what is set, first', tries('secret', [], { set: key }), ['header:X-Api-Key', 'bearer']],
    ['a secret that no header can carry, in none', tries('gehéim', [key, inQuery]), ['query:key']],
    ['nothing but the list, without a secret', tries(null, [key]), ['none']],
    [
      'usual names in the address, for whoever allows it',
      tries('secret', [], { tryQuery: true }),
      ['bearer', 'query:api_key', 'query:apikey', 'query:key', 'query:token', 'query:access_token'],
    ],
  ]
  for (const [name, found, expected] of cases) it(name, () => expect(found).toEqual(expected))
})

describe('a refusal asks for', () => {
  const cases: readonly (readonly [string | undefined, string | undefined, readonly string[]])[] = [
    ['Bearer', '{"message":"Authorization missing or invalid"}', []],
    ['Bearer realm="x", Basic realm="y"', undefined, ['basic']],
    ['ApiKey in="header", name="X-Api-Key"', undefined, ['header:X-Api-Key']],
    ['ApiKey realm="boats", name=key, in=query', undefined, ['query:key']],
    [undefined, '{"message":"Missing X-Boat-Token header"}', ['header:X-Boat-Token']],
    [undefined, '{"error":"send your key in the header `apikey`"}', ['header:apikey']],
    [undefined, '{"error":"the query parameter \'token\' is required"}', ['query:token']],
    [undefined, 'missing api_key query parameter', ['query:api_key']],
    [undefined, 'call /v3/rentals?api-key=YOUR_KEY', ['query:api-key']],
    [undefined, 'The Authorization header is missing', []],
    [undefined, 'Missing or malformed credentials in the request header', []],
    [undefined, "'Authorization' header must be sent", []],
  ]
  for (const [challenge, text, wishes] of cases)
    it(`${wishes.join(', ') || 'nothing new'}: ${challenge ?? text}`, () =>
      expect([...new Set(wishesIn(challenge, text).map(authText))]).toEqual(wishes))
})
