// Posts a message to one address: proxies as for the API, no redirects, one time limit. The body of the answer is discarded, and errors
// quote neither the address nor the answer.

import { createHash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { parseRetryAfter } from '../api/retry.ts'
import { codeIn, connectionProblem, httpPeer } from '../api/wire/failures.ts'
import { openRoute, ProxyFailure, proxyFor } from '../api/wire/proxy.ts'
import { packageVersion } from '../api/wire/request.ts'
import { backoffMs } from '../clock.ts'
import type { ProxySettings } from '../config.ts'
import { shownReceiver } from '../text.ts'

/** Milliseconds for the whole call; less than the rest of a lease. */
const timeLimitMs = 20_000
const connectTimeoutMs = 5_000
const backoff = { firstMs: 1_000, longestMs: 300_000 }
/** A receiver that answered 410 is tried once an hour. */
const goneMs = 3_600_000
/** Bytes of an answer's body that are received and discarded. */
const bodyLimit = 64_000

/** Identifies an address without storing it. */
export const fingerprint = (address: string): string => createHash('sha256').update(address).digest('hex').slice(0, 32)

/** Where messages go. */
type Receiver = {
  /** The setting of the address, for example `WEBHOOK_URL`. */
  readonly variable: string
  readonly address: string
  readonly proxies: ProxySettings
}

export type PostResult =
  | { readonly kind: 'accepted'; readonly status: number }
  /** `error`: why, in our words. `status`: of an answer; null: none came. */
  | { readonly kind: 'failed'; readonly status: number | null; readonly retryAfterMs: number; readonly error: string }

type Post = {
  /** One attempt. Rejects only with the signal's reason, when it is aborted. */
  send(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<PostResult>
  close(): Promise<void>
}

/** Milliseconds to the next attempt after consecutive failures: 1 s, 2 s, 4 s … up to 5 min, up to a half less; at least `Retry-After`. */
export function nextPostMs(
  { status, retryAfterMs }: Pick<PostResult & { kind: 'failed' }, 'status' | 'retryAfterMs'>,
  failures: number,
  random?: number,
): number {
  return Math.max(retryAfterMs, status === 410 ? goneMs : backoffMs(failures, backoff, random))
}

/** Prepares calls to a receiver. Opens no connection before the first message. */
export function createPost({ variable, address, proxies }: Receiver, limitMs = timeLimitMs): Post {
  const url = new URL(address)
  const proxy = proxyFor(url.origin, proxies)
  const route = openRoute(url.origin, proxy, { connections: 1, pipelining: 1, connect: { timeout: connectTimeoutMs } })
  const own = { 'content-type': 'application/json', 'user-agent': `boat-mirror/${packageVersion()}`, ...route.headers }
  const place = shownReceiver(address)
  const failed = (error: string): PostResult => ({ kind: 'failed', status: null, retryAfterMs: 0, error })

  return {
    send: async (body, headers, signal) => {
      const limit = AbortSignal.timeout(limitMs)
      try {
        const answer = await route.dispatcher.request({
          origin: route.origin,
          path: `${route.prefix}${url.pathname}${url.search}`,
          method: 'POST',
          headers: { ...own, ...headers },
          body,
          signal: AbortSignal.any([signal, limit]),
        })
        // The status and headers decide: a body that breaks off changes nothing.
        await answer.body.dump({ limit: bodyLimit }).catch(() => undefined)
        return judge(answer, variable)
      } catch (error) {
        signal.throwIfAborted()
        if (limit.aborted) return failed(`${place} did not answer within ${limitMs / 1_000} s.`)
        if (error instanceof ProxyFailure)
          return failed(`the proxy ${proxy?.origin} (${proxy?.variable}) refused the connection to ${place}.`)
        const code = codeIn(error)
        const problem = connectionProblem(code, httpPeer(variable, url.origin))
        return failed(
          `${problem?.what ?? 'the connection broke'} at ${place} (${code}). ${problem?.remedy ?? ''}`.trim(),
        )
      }
    },
    close: () => route.dispatcher.destroy(),
  }
}

const remedies: Readonly<Record<number, string>> = {
  401: ' Check that it knows the secret.',
  404: ' Check the address.',
  410: ' It accepts no more messages: remove the setting, or set its new address.',
}

function judge({ statusCode: status, headers }: Dispatcher.ResponseData, variable: string): PostResult {
  if (status >= 200 && status < 300) return { kind: 'accepted', status }
  const text = (name: string): string | undefined => {
    const value = headers[name]
    return typeof value === 'string' ? value : value?.[0]
  }
  const remedy =
    status < 400 ? `, a redirect, which is not followed. Set ${variable} to its target.` : `.${remedies[status] ?? ''}`
  return {
    kind: 'failed',
    status,
    retryAfterMs: parseRetryAfter(text('retry-after'), text('date'), new Date()) ?? 0,
    error: `the receiver answered ${status}${remedy}`,
  }
}
