// HTTP to one origin: a pool of kept-alive connections, one time limit for the whole request, no redirects, capped
// bodies. Turns everything that fails into an ApiError; knows neither retries nor rates.

import { setImmediate } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { BoatMirrorError } from '../../errors.ts'
import { askedWaitMs } from '../retry.ts'
import { abortedCall, onAbort } from './abort.ts'
import { decodeText, readBody, utf8Of } from './body.ts'
import { type Elements, readPage, readRecord } from './elements.ts'
import { Exchange, type Progress, type Received } from './exchange.ts'
import { failureOfAnswer, failureOfRequest } from './failures.ts'
import { endOfText, type Json, lostCharacter, parseExact, parseJson } from './json.ts'
import { type ApiProxy, openRoute, ProxyFailure } from './proxy.ts'
import type { BuiltRequest, Target } from './request.ts'
import { scanPage } from './scan.ts'

const connectTimeoutMs = 5_000
const answerLimit = { maxBytes: 20_000_000, beyond: 'refuse' } as const
const errorLimit = { maxBytes: 1_000_000, beyond: 'cut' } as const

type TransportRequest = BuiltRequest & {
  readonly endpoint: string
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly exact?: boolean | undefined
  readonly undecoded?: 'page' | 'record' | undefined
  /** Asked whether the answer still has this entity tag. */
  readonly tag?: string | undefined
  /** No store on the way may answer it. */
  readonly fresh?: boolean | undefined
  readonly idempotencyKey?: string | undefined
  /** Milliseconds from here to the last byte of the answer. */
  readonly timeoutMs: number
  /** Called in the moment in which a write is handed to its connection; when it throws, nothing leaves. */
  readonly beforeLeaving?: (() => void) | undefined
  /** Called when the last byte of a plain answer of 2xx is here, before it is decoded. */
  readonly answered?: (() => void) | undefined
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
  /**
   * Sends one attempt. @throws ApiError for everything except a 2xx whose body is JSON or empty, and a requested 304
   */
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
    let exchange: Exchange | undefined
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      exchange?.stop(new Error('The time limit was reached.'))
    }, timeoutMs)
    const forget = onAbort(signal, () => exchange?.stop(new Error('The call was aborted.')))
    try {
      exchange = new Exchange(
        route.dispatcher,
        {
          origin: route.origin,
          method: request.method as Dispatcher.HttpMethod,
          path: `${route.prefix}${request.path}`,
          headers: headersOf(request, baseHeaders),
          body: request.body ?? null,
        },
        { progress, maxBytes: answerLimit.maxBytes, beforeLeaving: request.beforeLeaving },
      )
      const { status, headers, body } = await exchange.received
      if (Buffer.isBuffer(body)) {
        request.answered?.()
        // The next request leaves before this answer is decoded: undici takes two turns of the loop until it uses the
        // connection again, one to give it back and one to see that it still stands.
        await setImmediate()
        await setImmediate()
      }
      if (status === 304 && request.tag !== undefined)
        return { status, headers, body: undefined, bytes: 0, sanitized: 0 }
      if (status >= 200 && status < 300) return await readAnswer({ status, headers, body }, request)
      const text = await readErrorText(body, headers, () => timedOut || signal?.aborted === true)
      if (status === 407) {
        progress.sent = false
        throw new ProxyFailure(407)
      }
      throw failureOfAnswer({
        endpoint,
        status,
        retryAfterMs: askedWaitMs({ status, headers, now: now() }),
        text,
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
      forget()
    }
  }

  return { send, close: () => route.dispatcher.destroy() }
}

const headersOf = (
  { body, tag, fresh, idempotencyKey }: TransportRequest,
  base: Record<string, string>,
): Record<string, string> => ({
  ...base,
  ...(body === undefined ? tag !== undefined && { 'if-none-match': tag } : { 'content-type': 'application/json' }),
  ...(fresh === true && { 'cache-control': 'no-cache, stale-if-error=0' }),
  ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
})

async function readAnswer(
  { status, headers, body }: Received,
  { exact, undecoded }: Pick<TransportRequest, 'exact' | 'undecoded'>,
): Promise<TransportAnswer> {
  const bytes = Buffer.isBuffer(body) ? body : await readBody(body, headers['content-encoding'], answerLimit)
  const plain = { status, headers, bytes: bytes.length, sanitized: 0 }
  if (undecoded !== undefined) {
    const utf8 = utf8Of(bytes, headers['content-type'])
    const received = undecoded === 'page' ? readPage(utf8.bytes) : readRecord(utf8.bytes)
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
    const type = `(content type ${(headers['content-type'] ?? 'none').slice(0, 60)})`
    throw /^\s*[[{]/.test(text)
      ? new BoatMirrorError(
          'API_NOT_JSON',
          `The answer (${text.length} characters) is not JSON: ${faultIn(text)}. ${type}`,
          {
            remedy: 'Report it to the operator of the API: an answer is not valid JSON, or was cut off in transit.',
          },
        )
      : new BoatMirrorError('API_NOT_JSON', `${error.message} ${type}`, {
          remedy: 'Check API_BASE_URL: it must be the root of the API, without /v3. The answer may be a web page.',
        })
  }
}

/** The body of an error answer. Where it cannot be read the status still says what happened, unless the call `isOver`. */
async function readErrorText(
  body: Received['body'],
  headers: Record<string, string>,
  isOver: () => boolean,
): Promise<string> {
  try {
    const bytes = Buffer.isBuffer(body) ? body : await readBody(body, headers['content-encoding'], errorLimit)
    return decodeText(bytes, headers['content-type']).text
  } catch (error) {
    if (isOver()) throw error
    return ''
  }
}

/** What programs write for values that do not exist in JSON. */
const foreignWord = /^(NaN|-?Infinity|undefined|None|True|False|nil)\b/

/** Names the first thing that is wrong with a text, and its place: `NaN at $[17].price, character 812`. */
function faultIn(text: string): string {
  const bytes = Buffer.from(text)
  const scan = scanPage(bytes, 0, true)
  const at = typeof scan === 'number' ? bytes.toString('utf8', 0, scan).length : 0
  const place = `${pathTo(text, at)}, character ${at + 1}`
  return at >= text.length ? `it ends too early, at ${place}` : `${wrongThing(text.slice(at, at + 20))} at ${place}`
}

function wrongThing(text: string): string {
  const word = foreignWord.exec(text)?.[1]
  if (word !== undefined) return word
  const character = text.charAt(0)
  return /[\p{P}\p{S}]/u.test(character) ? `an unexpected ${character}` : 'unexpected text'
}

/** The path of a place in a text that is JSON up to there, from `$`. */
function pathTo(text: string, end: number): string {
  const steps: (string | number)[] = []
  for (let i = 0; i < end; i++) {
    const character = text[i]
    if (character === '"') {
      const begin = i
      i = endOfText(text, i)
      if (i < 0) break
      if (i < end && steps.at(-1) === '') steps[steps.length - 1] = text.slice(begin + 1, i)
    } else if (character === '{') steps.push('')
    else if (character === '[') steps.push(0)
    else if (character === '}' || character === ']') steps.pop()
    else if (character === ',') {
      const step = steps.pop()
      steps.push(typeof step === 'number' ? step + 1 : '')
    }
  }
  return `$${steps.map((step) => (typeof step === 'number' ? `[${step}]` : step === '' ? '' : `.${step}`)).join('')}`
}
