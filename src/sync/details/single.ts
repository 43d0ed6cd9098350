// The single read of one record, as an outcome: there, gone, or not to be had.

import { type Json, stringifyJson } from '../../api/wire/json.ts'
import { streamNamed } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { ApiError, messageOf } from '../../errors.ts'
import { keyParts, keyText } from '../../state/records.ts'
import type { SyncContext } from '../context.ts'
import { belowRecord, withoutErasedUsers } from '../lists/list-records.ts'
import { hashOf } from '../project.ts'
import { countAnswer, emptyWork, projectInto, type Work } from '../work.ts'

export type Outcome<T> =
  | { readonly kind: 'there'; readonly value: T }
  /** 404 or 410. */
  | { readonly kind: 'gone' }
  /** 204, an empty body or null. */
  | { readonly kind: 'absent' }
  /** Refused or failed after all retries; the reason is for a person. */
  | { readonly kind: 'failed'; readonly reason: string; readonly retry: boolean }

export type ReadValue = { readonly body: Json; readonly startedAt: Date }

/** Reads one endpoint. Errors that concern only this record are outcomes; those that concern everything (401, a stop) are thrown. */
export async function readOutcome(
  context: SyncContext,
  work: Work,
  call: {
    readonly endpoint: string
    readonly params?: Record<string, string>
    readonly query?: Record<string, string>
    readonly signal: AbortSignal
  },
): Promise<Outcome<ReadValue>> {
  try {
    const answer = await context.api.read(call)
    countAnswer(work, answer)
    if (answer.body === undefined || answer.body === null) return { kind: 'absent' }
    return { kind: 'there', value: { body: answer.body, startedAt: answer.startedAt } }
  } catch (error) {
    return failedOutcome(work, error)
  }
}

/** What a failed read means for the record. @throws the error itself when it concerns everything. */
export function failedOutcome(work: Work, error: unknown): Exclude<Outcome<never>, { kind: 'there' }> {
  if (!(error instanceof ApiError) || error.kind === 'fatal' || error.kind === 'abort') throw error
  work.counts.requests += 1
  if (error.code === 'API_NOT_FOUND') return { kind: 'gone' }
  return { kind: 'failed', reason: messageOf(error), retry: error.kind === 'retry' }
}

/** Path parameters that address one record of a list stream. */
export function singleParams(stream: StreamDef, key: string): Record<string, string> {
  if (stream.reads.kind !== 'list') throw new Error(`${stream.name} has no single read.`)
  return { [stream.reads.single.param]: keyParts(stream, key)[0] ?? key }
}

/**
 * Reads the single of a record of a list stream and turns it into work: row, stubs, rows inside, hash.
 * @param mirroredHash hash of what the row holds, where that is known: an answer that equals it leads to nothing more.
 */
export async function readSingleRecord(
  context: SyncContext,
  stream: StreamDef,
  key: string,
  signal: AbortSignal,
  mirroredHash?: string,
): Promise<{ readonly outcome: Outcome<ReadValue>; readonly work: Work }> {
  const work = emptyWork()
  if (stream.reads.kind !== 'list') throw new Error(`${stream.name} has no single read.`)
  const { endpoint } = stream.reads.single
  const outcome = await readOutcome(context, work, { endpoint, params: singleParams(stream, key), signal })
  if (outcome.kind !== 'there') return { outcome, work }
  work.counts.read += 1
  const { startedAt } = outcome.value
  const { body } = outcome.value
  const text = stringifyJson(body)
  const detailHash = hashOf(text)
  if (detailHash === mirroredHash) {
    work.counts.unchanged += 1
    work.records.push({ stream: stream.name, key, detailHash, detailReadAt: startedAt })
    return { outcome, work }
  }
  const [record = body] = await withoutErasedUsers(context, stream, [body])
  const payload = record === body ? text : undefined
  const projected = projectInto(work, stream, record, {}, endpoint, context.settings.timeZone, payload)
  if (!projected.ok) return { outcome, work }
  const own = keyText(projected.row.key)
  if (own !== key) {
    const reason = `Asked for ${key}, and the record answered is ${own}.`
    work.bad.push({ stream: stream.name, key, endpoint, payload: projected.row.payload, reason, request: {} })
    return { outcome, work }
  }
  work.tables.push({ stream, mode: 'record', source: endpoint, readAt: startedAt, rows: [projected.row] })
  work.records.push({ stream: stream.name, key, detailHash, detailReadAt: startedAt })
  belowRecord(work, stream, record, key, { endpoint, readAt: startedAt, timeZone: context.settings.timeZone })
  return { outcome, work }
}

/** The topmost record a key hangs below that has a single read of its own: whom to ask when a read below answers 404. */
export function askableParent(
  stream: StreamDef,
  holderKey: string,
): { readonly stream: StreamDef; readonly key: string } | null {
  if (stream.parent === undefined) return null
  const parent = streamNamed(stream.parent)
  if (parent.reads.kind === 'list') return { stream: parent, key: holderKey }
  const upper = keyParts(parent, holderKey)[0]
  return upper === undefined || parent.parent === undefined ? null : { stream: streamNamed(parent.parent), key: upper }
}
