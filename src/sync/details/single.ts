// The single read of one record, as an outcome: there, gone, or not to be had.

import { errorIn } from '../../api/paging/answer-signs.ts'
import { type Elements, elementsAt } from '../../api/wire/elements.ts'
import { type Json, saysNothing } from '../../api/wire/json.ts'
import { streamNamed } from '../../catalog/catalog.ts'
import { keyParts, keyText } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { ApiError, messageOf } from '../../errors.ts'
import { answerFound, changeSet, type Found, projected } from '../change-set.ts'
import type { Reading } from '../context.ts'
import { type Economy, noEconomy } from '../economy.ts'
import { hasOwnField } from '../records/project.ts'
import type { Listed } from '../remembered/detail-states.ts'
import { comparedRead, isAsListed, otherParentIn } from './comparison.ts'
import { foundInside, personRedaction } from './embeds.ts'
import type { Tagged, TaggedAnswers } from './tagged-answers.ts'

export type Outcome<T> =
  | { readonly kind: 'there'; readonly value: T }
  /** 404 or 410. */
  | { readonly kind: 'gone' }
  /**
   * Refused or failed after all retries; the reason is text for operators. `isOdd`: an answer came, and cannot be
   * about the requested record.
   */
  | { readonly kind: 'failed'; readonly reason: string; readonly retry: boolean; readonly isOdd?: true }

/** What came of a read, and what it found on the way. */
export type Answered<T> = { readonly outcome: Outcome<T>; readonly found: Found }

export type ReadValue = Tagged & {
  /** Decoded on demand if the answer was left undecoded. Null where nothing may be answered, and was: 204, an empty body, null. */
  readonly body: Json
  readonly startedAt: Date
  readonly undecoded?: Elements | undefined
  /** Unchanged since the tag sent with the request: `body` is null. */
  readonly isSame?: boolean
  /** The API answered that there is no record, or nothing at all. */
  readonly isNone?: boolean
}

/**
 * Reads one endpoint. Errors that concern only this record are outcomes, and so is an answer that belongs to another record;
 * those that concern everything (401, a stop) are thrown.
 */
export async function readOutcome(
  { context, stream, signal }: Pick<Reading, 'context' | 'stream' | 'signal'>,
  call: {
    readonly endpoint: string
    readonly params?: Record<string, string>
    readonly query?: Record<string, string>
    readonly undecoded?: 'record'
    readonly tagOf?: TaggedAnswers['tagOf']
    readonly mayBeRefused?: boolean
    /** There may be no such record: an answer without one is no failure. */
    readonly mayBeNone?: boolean
  },
): Promise<Answered<ReadValue>> {
  try {
    const answer = await context.api.read({ ...call, priority: 'detail', signal })
    const { body = null, startedAt, elements: undecoded } = answer
    const found = answerFound(answer)
    if (undecoded !== undefined) {
      const value = {
        get body() {
          return undecoded.value(0)
        },
        ...{ startedAt, undecoded },
      }
      return { outcome: { kind: 'there', value }, found }
    }
    const isSame = answer.status === 304
    if (body === null && !isSame && !call.mayBeNone) return { outcome: notTaken(call.endpoint, 'nothing'), found }
    const problem = errorOf(stream, body) ?? otherParentIn(stream, [body], call.params ?? {})
    if (problem !== undefined) return { outcome: notTaken(call.endpoint, problem), found }
    const isNone = answer.saidNothing ?? saysNothing(body)
    const value = { body, startedAt, isSame, isNone, name: answer.name, tag: answer.headers.etag }
    return { outcome: { kind: 'there', value }, found }
  } catch (error) {
    return failedRead(error)
  }
}

/** Why a body is an error and no record. A record may have a field that is called like one of an error. */
function errorOf(stream: StreamDef, body: Json): string | undefined {
  const error = errorIn(body)
  return error === undefined || hasOwnField(stream, body) ? undefined : error
}

/** The outcome of a 2xx answer that cannot be the requested record. */
export const notTaken = (endpoint: string, problem: string): Extract<Outcome<never>, { readonly kind: 'failed' }> => ({
  ...{ kind: 'failed', retry: false, isOdd: true },
  reason: `${endpoint} returned something other than requested: ${problem}.`,
})

/** What a failed read means for the record. @throws the error itself when it concerns all reads. */
export function failedRead(
  error: unknown,
): Answered<never> & { readonly outcome: { readonly kind: 'gone' | 'failed' } } {
  if (!(error instanceof ApiError) || error.kind === 'fatal' || error.kind === 'abort') throw error
  const found = { counts: { requests: 1 } }
  if (error.code === 'API_NOT_FOUND') return { outcome: { kind: 'gone' }, found }
  return { outcome: { kind: 'failed', reason: messageOf(error), retry: error.kind === 'retry' }, found }
}

/** Path parameters that address one record of a list stream. */
export const singleParams = ({ stream, reads }: Reading<'list'>, key: string): Record<string, string> => ({
  [reads.single.param]: keyParts(stream, key)[0] ?? key,
})

/** What the list showed of a record whose single is read, and whether the two are compared. */
export type Known = { readonly listed?: Listed | undefined; readonly economy: Economy }

/**
 * Reads the single of a record of a list stream, and finds what it leads to: row, stubs, rows inside, hash.
 * @param known an answer that equals what the list said leads to nothing more, where the row still holds that.
 */
export async function readSingleRecord(
  reading: Reading<'list'>,
  key: string,
  known: Known = { economy: noEconomy },
): Promise<Answered<ReadValue>> {
  const { outcome, found } = await readOutcome(reading, {
    endpoint: reading.reads.single.endpoint,
    params: singleParams(reading, key),
    undecoded: 'record',
  })
  if (outcome.kind !== 'there') return { outcome, found }
  const own = await recordFound(reading, key, outcome.value, known)
  if ('kind' in own) return { outcome: own, found }
  return { outcome, found: changeSet([found, { counts: { read: 1 } }, ...own]) }
}

async function recordFound(
  reading: Reading<'list'>,
  key: string,
  value: ReadValue,
  { listed, economy }: Known,
): Promise<readonly Found[] | ReturnType<typeof notTaken>> {
  const { context, stream, reads } = reading
  const { startedAt } = value
  const answer = value.undecoded ?? elementsAt([value.body], undefined)
  const detailHash = answer.hash(0)
  const state = { stream: stream.name, key, detailHash, detailReadAt: startedAt }
  const { endpoint } = reads.single
  const compares = economy.compares(endpoint) && listed !== undefined
  const sameBytes = detailHash === listed?.hash
  const compared = compares && sameBytes ? comparedRead(endpoint, true) : {}
  if (sameBytes && listed.mirrored) return [{ counts: { unchanged: 1 }, records: [state] }, compared]
  const { value: body, text } = answer.decoded(0)
  const error = errorOf(stream, body)
  if (error !== undefined) return notTaken(endpoint, error)
  const redact = await personRedaction(context.database.pool, stream, [{ record: body }])
  const record = redact(body)
  const { timeZone } = context.settings
  const received = { stream, record, endpoint, timeZone }
  const { row, found } = projected({ ...received, ...(record === body && { payload: text }) })
  // As in a list: a quarantined record is identified by the JSON we write for it.
  if (row === undefined) return [projected(received).found]
  const answered = keyText(row.key)
  if (answered !== key) {
    const reason = `Requested ${key}, but the API returned ${answered}.`
    return [found, { bad: [{ stream: stream.name, key, endpoint, payload: row.payload, reason, request: {} }] }]
  }
  const table = { stream, mode: 'record', source: endpoint, readAt: startedAt, rows: [row] } as const
  const differing = compares && !sameBytes ? comparedRead(endpoint, await isAsListed(reading, key, record)) : {}
  return [found, { tables: [table], records: [state] }, compared, differing, ...foundInside(received, key, startedAt)]
}

/** The topmost parent of a key with its own single read: the one to request when the read of a child answers 404. */
export function askableParent(
  stream: StreamDef,
  parentKey: string,
): { readonly stream: StreamDef; readonly key: string } | null {
  if (stream.parent === undefined) return null
  const parent = streamNamed(stream.parent)
  if (parent.reads.kind === 'list') return { stream: parent, key: parentKey }
  const upper = keyParts(parent, parentKey)[0]
  return upper === undefined || parent.parent === undefined ? null : { stream: streamNamed(parent.parent), key: upper }
}
