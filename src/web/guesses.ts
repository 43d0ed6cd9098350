// Slows down clients that guess the token, in the form, as a bearer or with a forged session, and never locks out a
// client that has it.

import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Credential } from './session.ts'

type GuessLimits = {
  /** Wrong ones in a window from one address, and from all that never showed a right one. */
  readonly perAddress: number
  readonly inAll: number
  /** Length of a window in seconds; it begins with the first wrong one, and no later one makes it longer. */
  readonly seconds: number
}

const defaults: GuessLimits = { perAddress: 10, inAll: 100, seconds: 60 }

/** So many addresses and sessions that were right are remembered. */
const remembered = 1_000

type Verdict = { readonly kind: 'right' | 'wrong' } | { readonly kind: 'wait'; readonly seconds: number }

/** Checks credentials; `isRight` is not called while an address has to wait. */
export type Guesses = (address: string, shown: Credential, isRight: () => boolean) => Promise<Verdict>

/** Counts for one server, in memory. */
export function createGuesses(limits: GuessLimits = defaults): Guesses {
  const perAddress = new RateLimiterMemory({ points: limits.perAddress, duration: limits.seconds })
  const inAll = new RateLimiterMemory({ points: limits.inAll, duration: limits.seconds })
  const wereRight = new Set<string>()
  const remember = (what: string): void => {
    wereRight.delete(what)
    wereRight.add(what)
    const [oldest] = wereRight
    if (wereRight.size > remembered && oldest !== undefined) wereRight.delete(oldest)
  }

  return async (address, shown, isRight) => {
    // A session that was right before is not a guess, however many others behind the same proxy guess.
    if (shown.kind === 'session' && wereRight.has(shown.text)) return { kind: isRight() ? 'right' : 'wrong' }
    const counters: (readonly [RateLimiterMemory, string])[] = [[perAddress, address]]
    if (!wereRight.has(address)) counters.push([inAll, 'all'])
    // Counted before it is checked, so that guesses at the same moment are counted too; a right one is subtracted
    // again.
    for (const [limiter, key] of counters) {
      const refused = await limiter.consume(key).catch((reason: unknown) => reason)
      if (!(refused instanceof RateLimiterRes)) throw refused
      if (refused.consumedPoints > limiter.points)
        return { kind: 'wait', seconds: Math.ceil(refused.msBeforeNext / 1_000) }
    }
    if (!isRight()) return { kind: 'wrong' }
    for (const [limiter, key] of counters) await limiter.reward(key)
    remember(address)
    if (shown.kind === 'session') remember(shown.text)
    return { kind: 'right' }
  }
}
