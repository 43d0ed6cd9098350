// A limit of requests per second of real time, counted in whole seconds.

export interface RateLimit {
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
