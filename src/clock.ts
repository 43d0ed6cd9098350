// Time: clocks that are passed in, so that tests decide what "now" is; deadlines, backoff and waiting.

import { zoneOffset } from './date-time.ts'

export type Clock = { readonly now: () => Date }

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

/** Returns whether `ms` milliseconds have passed, by the faster of two clocks: a steady clock stops while the machine sleeps. */
export function deadlineIn(ms: number): () => boolean {
  const [steady, wall] = [performance.now(), Date.now()]
  return () => Math.max(performance.now() - steady, Date.now() - wall) >= ms
}

type Backoff = {
  readonly firstMs: number
  readonly longestMs: number
  /** The random share of the wait; a half by default. */
  readonly jitter?: number
}

/** Milliseconds to wait after consecutive failures: the first wait, doubled each time, up to the longest; shortened at random by up to `jitter`. */
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

/** Waits for the promise, but at most `ms` milliseconds. Rejects as the promise does, or with the signal's reason. */
export async function within(ms: number, promise: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  const waiting = new AbortController()
  const either = signal === undefined ? waiting.signal : AbortSignal.any([waiting.signal, signal])
  try {
    await Promise.race([promise, sleep(ms, either)])
  } finally {
    waiting.abort()
  }
}

/** @throws when there is no answer within `ms` milliseconds. */
export async function withDeadline<T>(
  promise: Promise<T>,
  ms: number,
  late = new Error(`no answer within ${ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), ms)
  })
  try {
    return await Promise.race([promise, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
