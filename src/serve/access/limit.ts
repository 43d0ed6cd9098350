// How often something may happen for each key: a bucket for each, in this process. For requests of tokens, wrong tokens, and
// guesses of ADMIN_TOKEN. Pure, except for the clock.

type Options = {
  /** As often at once. */
  readonly burst: number
  /** How fast a bucket fills again. */
  readonly perSecond: number
  /** Milliseconds that only grow. */
  readonly now?: () => number
}

export type Limit = {
  /** Seconds until the next one may happen; 0: now. */
  wait(key: string): number
  /** Counts one. @returns the seconds to wait instead, at least 1; 0: it may happen. */
  take(key: string): number
}

/** Keys that are remembered; the one that was counted longest ago is forgotten for a new one. */
const mostKeys = 10_000

export function createLimit({ burst, perSecond, now = performance.now.bind(performance) }: Options): Limit {
  const buckets = new Map<string, { readonly left: number; readonly at: number }>()
  const leftOf = (key: string, at: number): number => {
    const bucket = buckets.get(key)
    return bucket === undefined ? burst : Math.min(burst, bucket.left + ((at - bucket.at) / 1_000) * perSecond)
  }
  const secondsFor = (left: number): number => (left >= 1 ? 0 : Math.max(1, Math.ceil((1 - left) / perSecond)))
  return {
    wait: (key) => secondsFor(leftOf(key, now())),
    take: (key) => {
      const at = now()
      const left = leftOf(key, at)
      const seconds = secondsFor(left)
      if (seconds > 0) return seconds
      buckets.delete(key)
      buckets.set(key, { left: left - 1, at })
      const [oldest] = buckets.keys()
      if (buckets.size > mostKeys && oldest !== undefined) buckets.delete(oldest)
      return 0
    },
  }
}

/** How many requests a second each token may send; null: any number (SERVE_RATE_LIMIT). */
export function requestLimit(perSecond: number | null): Limit {
  if (perSecond === null) return { wait: () => 0, take: () => 0 }
  return createLimit({ burst: perSecond, perSecond })
}

/** Wrong tokens and keys of one address: 30, and one more every two seconds. A right one is never counted or refused. */
export const wrongTokenLimit = (burst = 30): Limit => createLimit({ burst, perSecond: burst / 60 })
