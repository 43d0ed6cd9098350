// When a message that was not taken is sent again. Pure.

const firstMs = 1_000
const longestMs = 300_000
/** A receiver that is gone (410) is asked once in an hour whether it is back. */
const goneMs = 3_600_000

type Failure = { readonly status: number | null; readonly retryAfterMs: number }

/**
 * Milliseconds to the next attempt after `attempts` consecutive failures, including this one: 1 s, 2 s, 4 s … capped
 * at 5 min, reduced by up to a half by `random` (0..1); never less than the receiver asked for (`Retry-After`).
 */
export function waitMs({ status, retryAfterMs }: Failure, attempts: number, random: number): number {
  if (status === 410) return Math.max(goneMs, retryAfterMs)
  const capped = Math.min(longestMs, firstMs * 2 ** Math.min(attempts - 1, 30))
  return Math.max(retryAfterMs, capped * (1 - random / 2))
}
