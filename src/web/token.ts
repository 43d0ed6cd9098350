// ADMIN_TOKEN in a request: from a program as a bearer, from a browser as the password that it has asked for (HTTP Basic,
// RFC 7617). It is never stored, and never part of an address. Guesses are slowed down.

import { createHash, timingSafeEqual } from 'node:crypto'
import { createLimit } from '../serve/access/limit.ts'

/** The token of a request; `basic`: a browser sent it, after an operator typed it. */
type Credential = { readonly kind: 'bearer' | 'basic'; readonly token: string }

/** Reads an Authorization header; null: there is no token in it. The user's name of Basic may be any. */
export function credentialIn(authorization: string | undefined): Credential | null {
  const [, scheme = '', given = ''] = /^(bearer|basic) +(.+?) *$/i.exec(authorization ?? '') ?? []
  if (scheme.toLowerCase() === 'bearer') return { kind: 'bearer', token: given }
  const [, token = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(given, 'base64').toString()) ?? []
  return token === '' ? null : { kind: 'basic', token }
}

/** Is this the token? Takes the same time whatever is given. */
export const isToken = (token: string, given: string): boolean =>
  timingSafeEqual(createHash('sha256').update(token).digest(), createHash('sha256').update(given).digest())

type GuessLimits = {
  /** Wrong ones in a minute from one address, and from all that never showed a right one. */
  readonly perAddress: number
  readonly inAll: number
  readonly now?: () => number
}

/** Judges a token. @returns seconds to wait before any token of this address is checked. */
export type Guesses = (address: string, isRight: () => boolean) => 'right' | 'wrong' | number

const remembered = 1_000

/** Counts for one server, in memory. An address that showed the right token does not wait because of others. */
export function createGuesses({ perAddress = 10, inAll = 100, now }: Partial<GuessLimits> = {}): Guesses {
  const clock = now === undefined ? {} : { now }
  const ofAddress = createLimit({ burst: perAddress, perSecond: perAddress / 60, ...clock })
  const ofAll = createLimit({ burst: inAll, perSecond: inAll / 60, ...clock })
  const wereRight = new Set<string>()
  return (address, isRight) => {
    const isKnown = wereRight.has(address)
    const seconds = Math.max(ofAddress.wait(address), isKnown ? 0 : ofAll.wait('all'))
    if (seconds > 0) return seconds
    if (!isRight()) {
      ofAddress.take(address)
      if (!isKnown) ofAll.take('all')
      return 'wrong'
    }
    if (wereRight.size < remembered) wereRight.add(address)
    return 'right'
  }
}
