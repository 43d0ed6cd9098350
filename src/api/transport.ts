// HTTP to one origin: a pool of kept-alive connections, one time limit for the whole request, no redirects, capped
// bodies. Turns everything that fails into an ApiError; knows neither retries nor rates.

import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { type Dispatcher, Pool } from 'undici'
import { BoatMirrorError } from '../errors.ts'
import { readBody } from './body.ts'
import { abortedCall, failureOfAnswer, failureOfRequest } from './failures.ts'
import { type Json, parseJson } from './json.ts'
import type { BuiltRequest, Target } from './request.ts'
import { parseRetryAfter } from './retry.ts'

const connectTimeoutMs = 5_000
const answerLimit = { maxBytes: 20_000_000, beyond: 'refuse' } as const
const errorLimit = { maxBytes: 1_000_000, beyond: 'cut' } as const

export type TransportRequest = BuiltRequest & {
  readonly endpoint: string
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Milliseconds from here to the last byte of the answer. */
  readonly timeoutMs: number
  /** Called in the moment in which a write is handed to its connection; when it throws, nothing leaves. */
  readonly beforeLeaving?: (() => void) | undefined
}

export type TransportAnswer = {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Json | undefined
  readonly bytes: number
  readonly sanitized: number
}

export type Transport = {
  /** One attempt. @throws ApiError for everything but a 2xx whose body is JSON or empty */
  send(request: TransportRequest, now: () => Date): Promise<TransportAnswer>
  close(): Promise<void>
}

/** Opens no connection before the first request. */
export function createTransport(target: Target, connections: number): Transport {
  const pool = new Pool(target.origin, {
    connections,
    pipelining: 1,
    connect: { timeout: connectTimeoutMs },
    // Our own timer covers connecting, headers and body together.
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  const send: Transport['send'] = async (request, now) => {
    const { endpoint, signal, timeoutMs } = request
    if (signal?.aborted) throw abortedCall(signal, endpoint, false)
    const progress: Progress = { sent: false, status: undefined }
    // One controller for both ends; AbortSignal.any would pile up listeners on signals that live as long as a worker.
    const stop = new AbortController()
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      stop.abort()
    }, timeoutMs)
    const onAbort = (): void => stop.abort()
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      const response = await watched(pool, request, progress).request({
        method: request.method as Dispatcher.HttpMethod,
        path: request.path,
        headers:
          request.body === undefined ? target.headers : { ...target.headers, 'content-type': 'application/json' },
        body: request.body ?? null,
        signal: stop.signal,
      })
      progress.status = response.statusCode
      const headers = flatten(response.headers)
      if (response.statusCode >= 200 && response.statusCode < 300)
        return await readAnswer(response.body, response.statusCode, headers)
      throw failureOfAnswer({
        endpoint,
        status: response.statusCode,
        retryAfterMs: parseRetryAfter(headers['retry-after'], headers.date, now()),
        text: await readErrorText(response.body, headers, stop.signal),
        secrets: target.secrets,
      })
    } catch (error) {
      throw failureOfRequest(error, {
        endpoint,
        origin: target.origin,
        timedOutAfterMs: timedOut ? timeoutMs : null,
        abortedBy: signal?.aborted && !timedOut ? signal : null,
        ...progress,
      })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  return { send, close: () => pool.destroy() }
}

type Progress = {
  /** Whether a byte of the request may have left. */
  sent: boolean
  status: number | undefined
}

/** The pool, noting for a write when it is handed to a connected socket: before that it certainly never left. */
function watched(
  pool: Pool,
  { method, beforeLeaving }: TransportRequest,
  progress: Progress,
): Pick<Dispatcher, 'request'> {
  if (method === 'GET') return pool
  return pool.compose((dispatch) => (options, handler) => {
    const start = handler.onRequestStart
    handler.onRequestStart = (controller, context) => {
      beforeLeaving?.()
      progress.sent = true
      start?.call(handler, controller, context)
    }
    return dispatch(options, handler)
  })
}

async function readAnswer(body: Readable, status: number, headers: Record<string, string>): Promise<TransportAnswer> {
  const bytes = await readBody(body, headers['content-encoding'], answerLimit)
  const text = bytes.toString('utf8')
  if (text.trim() === '') return { status, headers, body: undefined, bytes: bytes.length, sanitized: 0 }
  try {
    const { value, sanitized } = parseJson(text)
    // Where bytes are not UTF-8, decoding has put U+FFFD; how often is not asked.
    const undecoded = isUtf8(bytes) ? 0 : 1
    return { status, headers, body: value, bytes: bytes.length, sanitized: sanitized + undecoded }
  } catch (error) {
    if (!(error instanceof BoatMirrorError) || error.code !== 'API_NOT_JSON') throw error
    const type = headers['content-type'] ?? 'none'
    throw new BoatMirrorError('API_NOT_JSON', `${error.message} (content type ${type.slice(0, 60)})`)
  }
}

/** The body of an error answer. Where it cannot be read the status still says what happened. */
async function readErrorText(body: Readable, headers: Record<string, string>, signal: AbortSignal): Promise<string> {
  try {
    return (await readBody(body, headers['content-encoding'], errorLimit)).toString('utf8')
  } catch (error) {
    if (signal.aborted) throw error
    return ''
  }
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  return flat
}
