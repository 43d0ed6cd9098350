// When a failed read is tried again, and after how long: the one retry layer for reads.

import { backoffMs, sleep } from '../clock.ts'
import { ApiError } from '../errors.ts'

const attempts = 5
const backoff = { firstMs: 1_000, longestMs: 30_000, jitter: 1 }
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

type Answered = {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly now: Date
}

/**
 * Milliseconds that a refusal asks us to wait: its Retry-After, else, where a limit is spent, the time until that is reset.
 * Undefined: it names no time.
 */
export function askedWaitMs({ status, headers, now }: Answered): number | undefined {
  const asked = parseRetryAfter(headers['retry-after'], headers.date, now)
  const isSpent = status === 429 || (status === 403 && headers['x-ratelimit-remaining']?.trim() === '0')
  return asked ?? (isSpent ? untilReset(headers, now) : undefined)
}

/** The names under which the reset of a limit is found in public. */
const resetHeaders = ['ratelimit-reset', 'x-ratelimit-reset', 'x-rate-limit-reset']
/** Numbers from here on are instants in seconds since 1970, and from the second on in milliseconds; below, seconds to wait. */
const [epochSeconds, epochMilliseconds] = [1e8, 1e11]

/** Until the reset that an answer names; the latest of several. Never under a second: the limit is spent now. */
function untilReset(headers: Answered['headers'], now: Date): number | undefined {
  const texts = [
    ...resetHeaders.flatMap((name) => headers[name]?.split(',') ?? []),
    ...spentResets(headers.ratelimit ?? ''),
  ]
  const sentAt = parseHttpDate(headers.date?.trim() ?? '') ?? now.getTime()
  const waits = texts.flatMap((text) => {
    if (!/^\s*\d+(\.\d+)?\s*$/.test(text)) return []
    const value = Number(text)
    if (value < epochSeconds) return [value * 1000]
    return [(value < epochMilliseconds ? value * 1000 : value) - sentAt]
  })
  return waits.length === 0 ? undefined : Math.max(rateLimitedFloorMs, clamp(Math.max(...waits)))
}

/** `RateLimit: "burst";r=0;t=30, "day";r=900;t=4000`, or `limit=100, remaining=0, reset=30`: the times of what is spent. */
function spentResets(header: string): readonly string[] {
  const older = /\breset=(\d+)/.exec(header)?.[1]
  if (older !== undefined) return [older]
  const limits = header.split(',').flatMap((limit) => {
    const reset = /;\s*t=(\d+)/.exec(limit)?.[1]
    return reset === undefined ? [] : [{ reset, left: /;\s*r=(\d+)/.exec(limit)?.[1] ?? '0' }]
  })
  const spent = limits.filter(({ left }) => Number(left) === 0)
  return (spent.length > 0 ? spent : limits).map(({ reset }) => reset)
}

/** Answers that say "not now" of whatever is asked: locked, too early. */
const notNow: ReadonlySet<number> = new Set([423, 425])

/** Whether a refusal is temporary: it names a time, or states that it is too early. */
export const passesByItself = (status: number, askedMs: number | undefined): boolean =>
  status >= 400 && status < 500 && (askedMs !== undefined || notNow.has(status))

/** Whether an error speaks of the account rather than of this request: nothing of it is refused for good. */
export const concernsAccount = ({ status = 0, retryAfterMs }: ApiError): boolean =>
  status === 401 || status === 429 || passesByItself(status, retryAfterMs)

const clamp = (ms: number): number => Math.min(longestRetryAfterMs, Math.max(0, Math.round(ms)))

/** The three forms of RFC 9110. Date.parse would accept almost anything, and read asctime as local time. */
function parseHttpDate(text: string): number | undefined {
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w :-]+$/.test(text)) return undefined
  const ms = Date.parse(/(GMT|UTC)$/.test(text) ? text : `${text} GMT`)
  return Number.isNaN(ms) ? undefined : ms
}

/**
 * Delay before attempt `attempt + 1`: full jitter of 1 s, 2 s, 4 s … capped at 30 s (`random` in 0..1). A time named
 * by the API is not waited for here: it pauses the gate for all callers.
 */
export function retryDelayMs(error: ApiError, attempt: number, random: number): number {
  if (error.retryAfterMs !== undefined) return 0
  const jittered = backoffMs(attempt, backoff, random)
  return error.code === 'API_RATE_LIMITED' ? rateLimitedFloorMs + jittered : jittered
}

/** Whether nothing was asked, because nothing may be: no attempt was made, and another one will not be either. */
export const isHeldBack = ({ code }: ApiError): boolean => code === 'API_PAUSED' || code === 'API_QUOTA_USED'

/** Is it worth another attempt? */
const isPassing = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.kind === 'retry' && !isHeldBack(error)

/** Runs a read up to five times, as long as its errors are of kind `retry` and the signal is not aborted. */
export async function withRetries<T>(
  run: (attempt: number) => Promise<T>,
  options: { readonly signal?: AbortSignal | undefined; readonly random: () => number },
): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await run(attempt)
    } catch (error) {
      if (attempt === attempts || !isPassing(error)) throw error
      await sleep(retryDelayMs(error, attempt, options.random()), options.signal)
    }
}
