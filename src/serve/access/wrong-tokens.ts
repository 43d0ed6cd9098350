// Counts wrong tokens and keys by address. A right one is never counted, and never refused because others of its address are wrong.

import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

type Limits = { readonly perAddress: number; readonly seconds: number }

const defaults: Limits = { perAddress: 30, seconds: 60 }

/** Counts a wrong one. @returns seconds to wait; null: this address has not sent too many. */
export type WrongTokens = (address: string) => Promise<number | null>

/** Counts for one server, in memory. A window begins with the first wrong one. */
export function createWrongTokens({ perAddress, seconds }: Limits = defaults): WrongTokens {
  const limiter = new RateLimiterMemory({ points: perAddress, duration: seconds })
  return async (address) => {
    const counted = await limiter.consume(address).catch((reason: unknown) => reason)
    if (!(counted instanceof RateLimiterRes)) throw counted
    return counted.consumedPoints > limiter.points ? Math.ceil(counted.msBeforeNext / 1_000) : null
  }
}
