// Asks the API where the mirror does not know, or the caller wants to: an ordinary read within rate limit and quota, so many a
// minute for each token, and one at a time for the same thing.

import type { Json } from '../../api/wire/json.ts'
import type { ReadEndpoint, StreamDef } from '../../catalog/types.ts'
import { ApiError, BoatMirrorError } from '../../errors.ts'
import type { SyncContext } from '../../sync/context.ts'
import { personRedaction } from '../../sync/details/embeds.ts'
import { readItems } from '../../sync/details/readers/children.ts'
import { type Outcome, readOutcome } from '../../sync/details/single.ts'
import { type AskedRecord, readAlone } from '../../sync/read-alone.ts'
import { notKnown, problem, Refusal } from '../problem.ts'
import type { Caller } from '../types.ts'
import { notFound } from './states.ts'

export type Asked = {
  readonly stream: StreamDef
  readonly endpoint: ReadEndpoint
  readonly params: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
}

/** The API's answer. `gone`: 404 or 410, or nothing. */
export type Said =
  | { readonly kind: 'there'; readonly body: Json; readonly at: Date; readonly stored: boolean }
  | { readonly kind: 'gone'; readonly at: Date }
  /** It could not be asked. */
  | { readonly kind: 'failed'; readonly retryAfterS: number }

/** The API's answer. @throws Refusal 404 or 503 where there is none */
export function answered(said: Said, what: string): Said & { readonly kind: 'there' } {
  if (said.kind === 'there') return said
  if (said.kind === 'gone') throw notFound(what, said.at)
  throw notKnown(`The mirror does not hold ${what}, and the API could not be asked.`, said.retryAfterS)
}

export type Through = {
  /** Reads one record separately, and stores it. @throws Refusal 429 when the token has sent too many requests */
  record(caller: Caller, asked: AskedRecord): Promise<Said>
  /** Reads anything else; `list`: an array of records, whatever envelope it comes in. */
  other(caller: Caller, asked: Asked, list: boolean): Promise<Said>
  /** Whether to request an unknown id: once a minute. */
  mayAskUnknown(id: string): boolean
}

const minuteMs = 60_000
/** The most unknown ids that are remembered: a client that requests more of them causes no requests. */
const mostUnknown = 10_000
const retryAfterS = 10
/** A caller waits no longer than this for the API and its retries, in milliseconds. */
const longestMs = 5_000

/**
 * So many a minute for each token, by a sliding minute. A fixed window, or a bucket that is full, would let twice as many reach the
 * API within a minute.
 */
function minuteLimit(limit: number, now: () => number): (token: string) => number | null {
  const taken = new Map<string, number[]>()
  return (token) => {
    const at = now()
    const recent = (taken.get(token) ?? []).filter((time) => time > at - minuteMs)
    const isFree = recent.length < limit
    if (isFree) recent.push(at)
    taken.set(token, recent)
    return isFree ? null : Math.max(1, Math.ceil(((recent[0] ?? at) + minuteMs - at) / 1_000))
  }
}

/** How long to wait after an error of the API, or null where it is not a failed read. */
const waitAfter = (error: unknown): number | null => {
  if (error instanceof DOMException && error.name === 'TimeoutError') return retryAfterS
  if (error instanceof ApiError)
    return error.retryAfterMs === undefined ? retryAfterS : Math.ceil(error.retryAfterMs / 1_000)
  return error instanceof BoatMirrorError && error.kind !== 'fatal' ? retryAfterS : null
}

/**
 * @param limit SERVE_FRESH_LIMIT
 * @param now milliseconds that only grow
 */
export function createThrough(
  context: SyncContext,
  limit: number,
  now: () => number = performance.now.bind(performance),
): Through {
  const take = minuteLimit(limit, now)
  const tooMany = `The API itself is asked at most ${limit} times a minute (SERVE_FRESH_LIMIT).`
  const underWay = new Map<string, Promise<Said>>()
  const unknown = new Map<string, number>()
  const shared = async (
    { token }: Caller,
    asked: Pick<Asked, 'endpoint' | 'params' | 'query'>,
    read: (signal: AbortSignal) => Promise<Said>,
  ): Promise<Said> => {
    const id = JSON.stringify([asked.endpoint, asked.params, asked.query ?? {}])
    const others = underWay.get(id)
    if (others !== undefined) return await others
    const wait = take(token?.id ?? '')
    if (wait !== null) throw new Refusal(problem(429, tooMany, {}, { 'retry-after': String(wait) }))
    // What several wait for does not end with the request of one of them.
    const own = read(AbortSignal.timeout(longestMs)).catch((error: unknown): Said => {
      const seconds = waitAfter(error)
      if (seconds === null) throw error
      context.log.warn(
        { event: 'read_through_failed', endpoint: asked.endpoint, err: error },
        'the API could not be asked',
      )
      return { kind: 'failed', retryAfterS: seconds }
    })
    underWay.set(id, own)
    try {
      return await own
    } finally {
      underWay.delete(id)
    }
  }

  const saidBy = <Value extends { readonly startedAt: Date }>(
    outcome: Outcome<Value>,
    bodyOf: (value: Value) => Json,
    stored = false,
  ): Said => {
    if (outcome.kind === 'failed') return { kind: 'failed', retryAfterS }
    if (outcome.kind === 'gone') return { kind: 'gone', at: context.clock.now() }
    return { kind: 'there', body: bodyOf(outcome.value), at: outcome.value.startedAt, stored }
  }

  return {
    record: (caller, asked) =>
      shared(caller, asked, async (signal) => {
        const said = await readAlone(context, asked, signal)
        if (said.kind !== 'there' || said.stored) return saidBy(said, ({ body }) => body, said.stored)
        // As in what is stored, nothing of a person who is gone.
        const { body: record } = said.value
        const redact = await personRedaction(context.database.pool, asked.stream, [{ record }])
        return saidBy(said, () => redact(record))
      }),
    other: (caller, { stream, endpoint, params, query = {} }, list) =>
      shared(caller, { endpoint, params, query }, async (signal) => {
        const reading = { context, stream, reads: stream.reads, signal }
        const call = { endpoint, params: { ...params }, query: { ...query } }
        if (list) return saidBy((await readItems(reading, call)).outcome, ({ items }) => [...items])
        return saidBy((await readOutcome(reading, call)).outcome, ({ body }) => body)
      }),
    mayAskUnknown: (id) => {
      const time = now()
      const before = unknown.get(id)
      if (before !== undefined && time - before < minuteMs) return false
      for (const [old, asked] of unknown) {
        if (time - asked < minuteMs) break
        unknown.delete(old)
      }
      if (unknown.size >= mostUnknown) return false
      unknown.delete(id)
      unknown.set(id, time)
      return true
    },
  }
}
