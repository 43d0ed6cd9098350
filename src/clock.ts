// Time as a value that is passed in, so that pure logic and tests decide what "now" is.

import { zoneOffset } from './date-time.ts'

/** A source of the present instant. */
export type Clock = { readonly now: () => Date }

/** The host's own clock. */
export const systemClock: Clock = { now: () => new Date() }

/** The calendar date (`YYYY-MM-DD`) of an instant in an IANA time zone. */
export const dateIn = (timeZone: string, instant: Date): string =>
  new Date(instant.getTime() + zoneOffset(instant.getTime(), timeZone)).toISOString().slice(0, 10)

/** Adds whole days to a `YYYY-MM-DD` date. */
export function addDays(date: string, days: number): string {
  const instant = new Date(`${date}T00:00:00Z`)
  instant.setUTCDate(instant.getUTCDate() + days)
  return instant.toISOString().slice(0, 10)
}

/**
 * Returns whether `ms` milliseconds have passed since now. Timers of a process that was halted are late, and a steady
 * clock stops while the machine sleeps: the clock that went further counts.
 */
export function deadlineIn(ms: number): () => boolean {
  const [steady, wall] = [performance.now(), Date.now()]
  return () => Math.max(performance.now() - steady, Date.now() - wall) >= ms
}

type Backoff = {
  readonly firstMs: number
  readonly longestMs: number
  /** The share of the wait that is random; a half by default. */
  readonly jitter?: number
}

/**
 * Milliseconds to wait after so many failures in a row, at least 1: the first wait, then twice as long each time, up to the
 * longest. `random`, from 0 to 1, shortens it by up to `jitter`; 1 leaves it whole.
 */
export function backoffMs(
  failures: number,
  { firstMs, longestMs, jitter = 0.5 }: Backoff,
  random: number = Math.random(),
): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1)) * (1 - jitter * (1 - random))
}

/** Resolves after `ms` milliseconds; rejects with the signal's reason when aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/**
 * Waits for the promise, but no longer than `ms` milliseconds, and leaves no timer behind. Rejects as the promise does, or
 * with the signal's reason.
 */
export async function within(ms: number, promise: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  const waiting = new AbortController()
  const onAbort = (): void => waiting.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([promise, sleep(ms, waiting.signal)])
  } finally {
    signal?.removeEventListener('abort', onAbort)
    waiting.abort()
  }
}

/** @throws Error when there is no answer within `ms` milliseconds. */
export async function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
