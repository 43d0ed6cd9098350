// How many requests a second each token may send: a bucket of one second's requests for each, in this process. Pure, except for the
// clock. rate-limiter-flexible, which counts wrong tokens, has fixed windows (at their edge a token could send twice as many) and answers
// by a promise and a timer for each key: too much for what every request passes.

type Bucket = { left: number; at: number }

/** Takes one request of a token. @returns seconds to wait, at least 1; null: it may go. */
export type TokenLimit = (tokenId: string) => number | null

/**
 * @param perSecond SERVE_RATE_LIMIT; null: no limit
 * @param now milliseconds that only grow
 */
export function createTokenLimit(
  perSecond: number | null,
  now: () => number = performance.now.bind(performance),
): TokenLimit {
  if (perSecond === null) return () => null
  const buckets = new Map<string, Bucket>()
  return (tokenId) => {
    const at = now()
    const bucket = buckets.get(tokenId) ?? { left: perSecond, at }
    const left = Math.min(perSecond, bucket.left + ((at - bucket.at) / 1_000) * perSecond)
    const isFree = left >= 1
    buckets.set(tokenId, { left: isFree ? left - 1 : left, at })
    return isFree ? null : Math.max(1, Math.ceil((1 - left) / perSecond))
  }
}
