// Intervals that fit the rate limit: scheduled reads take at most 60 % of it. Pure.

/** The share of the request budget that scheduled reads may take. */
export const scheduledShare = 0.6

export type Turn = {
  readonly stream: string
  readonly intervalMs: number /** Requests of one turn. */
  readonly cost: number
}

/**
 * By how much all intervals are stretched so that the turns fit; 1 when they fit anyway.
 * Example: 30 requests a minute under a limit of 0.5/s need 0.5/s, and 0.3/s is allowed: 1.67.
 * @param ratePerSecond requests per second over all workers; 0 is no limit.
 */
export function stretchFactor(turns: readonly Turn[], ratePerSecond: number): number {
  if (ratePerSecond === 0) return 1
  const needed = turns.reduce((sum, { intervalMs, cost }) => sum + (cost * 1_000) / intervalMs, 0)
  return Math.max(1, needed / (ratePerSecond * scheduledShare))
}
