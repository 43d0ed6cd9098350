// When a failed read is tried again, and after how long: the one retry layer for reads.

import pRetry from 'p-retry'
import { sleep } from '../clock.ts'
import { ApiError } from '../errors.ts'

const attempts = 5
const firstDelayMs = 1_000
const longestDelayMs = 30_000
/** A 429 that names no time gets at least this long. */
const rateLimitedFloorMs = 1_000
const longestRetryAfterMs = 3_600_000

/**
 * Milliseconds a Retry-After header asks for, in seconds or as an HTTP date, clamped to 0..1 h; undefined for garbage.
 * A date is measured against the answer's own Date header where there is one, because the clocks may differ.
 */
export function parseRetryAfter(header: string | undefined, date: string | undefined, now: Date): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return clamp(Number(text) * 1000)
  const until = parseHttpDate(text)
  return until === undefined ? undefined : clamp(until - (parseHttpDate(date?.trim() ?? '') ?? now.getTime()))
}

const clamp = (ms: number): number => Math.min(longestRetryAfterMs, Math.max(0, Math.round(ms)))

/** The three forms of RFC 9110; Date.parse alone takes almost anything and reads asctime as local time. */
function parseHttpDate(text: string): number | undefined {
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w :-]+$/.test(text)) return undefined
  const ms = Date.parse(/(GMT|UTC)$/.test(text) ? text : `${text} GMT`)
  return Number.isNaN(ms) ? undefined : ms
}

/**
 * Delay before attempt `attempt + 1`: full jitter of 1 s, 2 s, 4 s … capped at 30 s (`random` in 0..1). A time the API
 * named is not waited here: it pauses the gate, for everybody.
 */
export function retryDelayMs(error: ApiError, attempt: number, random: number): number {
  if (error.retryAfterMs !== undefined) return 0
  const jittered = random * Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1))
  return error.code === 'API_RATE_LIMITED' ? rateLimitedFloorMs + jittered : jittered
}

/** Is it worth another attempt? */
const isPassing = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.kind === 'retry' && error.code !== 'API_PAUSED'

/** Runs a read up to five times, as long as its errors are of kind `retry` and nobody asked to stop. */
export async function withRetries<T>(
  run: (attempt: number) => Promise<T>,
  options: { readonly signal?: AbortSignal | undefined; readonly random: () => number },
): Promise<T> {
  const waitAfter = (error: ApiError, attempt: number): Promise<void> =>
    sleep(retryDelayMs(error, attempt, options.random()), options.signal)
  try {
    // Most reads succeed at once: only one that failed is worth what the retries cost.
    return await run(1)
  } catch (error) {
    if (!isPassing(error)) throw error
    await waitAfter(error, 1)
  }
  return await pRetry((attempt) => run(attempt + 1), {
    retries: attempts - 2,
    minTimeout: 0,
    maxTimeout: 0,
    // p-retry's own delays are neither fully jittered nor depend on the error, so the delay is awaited here.
    shouldRetry: async ({ error, attemptNumber }) => {
      if (!isPassing(error)) return false
      await waitAfter(error, attemptNumber + 1)
      return true
    },
  })
}
