// HTTP to one origin: a pool of kept-alive connections, one time limit for the whole request, no redirects, capped
// bodies. Turns everything that fails into an ApiError; knows neither retries nor rates.

import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { BoatMirrorError } from '../../errors.ts'
import { parseRetryAfter } from '../retry.ts'
import { readBody } from './body.ts'
import { decodeText, utf8Of } from './charset.ts'
import { type Elements, readPage } from './elements.ts'
import { abortedCall, failureOfAnswer, failureOfRequest } from './failures.ts'
import { type Json, lostCharacter, parseExact, parseJson } from './json.ts'
import { type ApiProxy, openRoute, ProxyFailure } from './proxy.ts'
import type { BuiltRequest, Target } from './request.ts'

const connectTimeoutMs = 5_000
const answerLimit = { maxBytes: 20_000_000, beyond: 'refuse' } as const
const errorLimit = { maxBytes: 1_000_000, beyond: 'cut' } as const

type TransportRequest = BuiltRequest & {
  readonly endpoint: string
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly exact?: boolean | undefined
  readonly page?: boolean | undefined
  /** Milliseconds from here to the last byte of the answer. */
  readonly timeoutMs: number
  /** Called in the moment in which a write is handed to its connection; when it throws, nothing leaves. */
  readonly beforeLeaving?: (() => void) | undefined
}

type TransportAnswer = {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Json | undefined
  readonly elements?: Elements
  readonly bytes: number
  readonly sanitized: number
}

export type Transport = {
  /** One attempt. @throws ApiError for everything but a 2xx whose body is JSON or empty */
  send(request: TransportRequest, now: () => Date): Promise<TransportAnswer>
  close(): Promise<void>
}

/** Opens no connection before the first request. `proxy`: the one that leads to the target, if any does. */
export function createTransport(target: Target, connections: number, proxy: ApiProxy | null): Transport {
  const route = openRoute(target.origin, proxy, {
    connections,
    pipelining: 1,
    connect: { timeout: connectTimeoutMs },
    // Our own timer covers connecting, headers and body together.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const baseHeaders = { ...target.headers, ...route.headers }

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
      const response = await watched(route.dispatcher, request, progress).request({
        origin: route.origin,
        method: request.method as Dispatcher.HttpMethod,
        path: `${route.prefix}${request.path}`,
        headers: request.body === undefined ? baseHeaders : { ...baseHeaders, 'content-type': 'application/json' },
        body: request.body ?? null,
        signal: stop.signal,
      })
      progress.status = response.statusCode
      const headers = flatten(response.headers)
      if (response.statusCode >= 200 && response.statusCode < 300)
        return await readAnswer(response.body, response.statusCode, headers, request)
      if (response.statusCode === 407) {
        await response.body.dump()
        progress.sent = false
        throw new ProxyFailure(407)
      }
      throw failureOfAnswer({
        endpoint,
        status: response.statusCode,
        retryAfterMs: parseRetryAfter(headers['retry-after'], headers.date, now()),
        text: await readErrorText(response.body, headers, stop.signal),
        target,
        asksFor: headers['www-authenticate'],
      })
    } catch (error) {
      throw failureOfRequest(error, {
        endpoint,
        origin: target.origin,
        proxy,
        timedOutAfterMs: timedOut ? timeoutMs : null,
        abortedBy: signal?.aborted && !timedOut ? signal : null,
        ...progress,
      })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  return { send, close: () => route.dispatcher.destroy() }
}

type Progress = {
  /** Whether a byte of the request may have left. */
  sent: boolean
  status: number | undefined
}

/** The dispatcher, noting for a write when it is handed to a connected socket: before that it certainly never left. */
function watched(
  dispatcher: Dispatcher,
  { method, beforeLeaving }: TransportRequest,
  progress: Progress,
): Pick<Dispatcher, 'request'> {
  if (method === 'GET') return dispatcher
  return dispatcher.compose((dispatch) => (options, handler) => {
    const start = handler.onRequestStart
    handler.onRequestStart = (controller, context) => {
      beforeLeaving?.()
      progress.sent = true
      start?.call(handler, controller, context)
    }
    return dispatch(options, handler)
  })
}

async function readAnswer(
  body: Readable,
  status: number,
  headers: Record<string, string>,
  { exact, page }: Pick<TransportRequest, 'exact' | 'page'>,
): Promise<TransportAnswer> {
  const bytes = await readBody(body, headers['content-encoding'], answerLimit)
  const plain = { status, headers, bytes: bytes.length, sanitized: 0 }
  if (page === true) {
    const utf8 = utf8Of(bytes, headers['content-type'])
    const received = readPage(utf8.bytes)
    if (received !== null) return { ...plain, ...received, sanitized: received.sanitized + (utf8.damaged ? 1 : 0) }
  }
  const { text, damaged } = decodeText(bytes, headers['content-type'])
  if (text.trim() === '') return { ...plain, body: undefined }
  try {
    if (exact) return { ...plain, body: parseExact(damaged ? text.replaceAll('\ufffd', lostCharacter) : text) }
    const { value, sanitized } = parseJson(text)
    // How often U+FFFD stands for bytes that mean nothing is not asked.
    return { ...plain, body: value, sanitized: sanitized + (damaged ? 1 : 0) }
  } catch (error) {
    if (!(error instanceof BoatMirrorError) || error.code !== 'API_NOT_JSON') throw error
    const type = headers['content-type'] ?? 'none'
    throw new BoatMirrorError('API_NOT_JSON', `${error.message} (content type ${type.slice(0, 60)})`)
  }
}

/** The body of an error answer. Where it cannot be read the status still says what happened. */
async function readErrorText(body: Readable, headers: Record<string, string>, signal: AbortSignal): Promise<string> {
  try {
    const bytes = await readBody(body, headers['content-encoding'], errorLimit)
    return decodeText(bytes, headers['content-type']).text
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
