// Steps that several kinds of write share: preparing, finding among records, reading back, mirroring.

import { get, type Json, type JsonObject, textOf } from '../../api/wire/json.ts'
import { streamNamed } from '../../catalog/catalog.ts'
import { rentals } from '../../catalog/rentals.ts'
import type { BodyField, WriteDef } from '../../catalog/types.ts'
import { ApiError } from '../../errors.ts'
import type { MirrorWrites } from '../../mirror/rows.ts'
import { projectRecord } from '../../sync/records/project.ts'
import { type Change, type Evidence, resolveFields, resolveTarget } from '../change.ts'
import type { PushContext } from '../context.ts'
import { isStoredAs } from '../likeness.ts'
import { type Done, gone, leftBehind, type Outcome, resultOf, type Unseen } from '../outcome.ts'
import { mirrorKey, type Params, rootOf, type Seen } from '../reads.ts'
import { checkAgain } from '../show-delay.ts'
import { readValue, sameValue, sentAs, writeShape } from '../values.ts'
import type { Delivery, Effect, Found, Given, Kind, Prepared, Sent, Verdict } from './kind.ts'

/** Warning of a change whose effect could not be read back. */
export const unverified = 'Not read back: the API did not answer.'

export const notTaken: Verdict = { kind: 'not' }
export const took = (seen: Seen | null): Verdict => ({ kind: 'took', seen })
/** An operator decides. `mayClear`: the API may still show what it made. */
export const unclear = (why: string, among: readonly Seen[], mayClear = false): Verdict => ({
  ...{ kind: 'unclear', why, candidates: among.map(({ record }) => record) },
  ...(mayClear && { mayClear }),
})
export const one = (seen: Seen | null): Found => (seen === null ? [] : [seen])

/** Prepares a change with the results of those that it refers to; the outcome where one has none. */
export async function withResults<T>(
  { write, target, body, results }: Change,
  prepare: (given: Given) => Promise<T>,
): Promise<T | Outcome> {
  const params = resolveTarget(target, results)
  const fields = resolveFields(body, write.body, results)
  if (params !== null && fields !== null) return await prepare({ params, fields })
  return { kind: 'failed', error: 'A change that this one refers to has no result to use here.', response: null }
}

/** The body of a create, an add or an assignment. It omits null, because there is no value yet to clear. */
export function creationBody(write: WriteDef, fields: Readonly<JsonObject>): JsonObject {
  return Object.fromEntries(
    write.body.flatMap((field): [string, Json][] => {
      const value = fields[field.name]
      return value === undefined || value === null ? [] : [[field.name, sentAs(field, value)]]
    }),
  )
}

/** The request of a creation, with the state before it. */
export function preparedCreation(write: WriteDef, { params, fields }: Given, evidence: Evidence): Prepared {
  const body = creationBody(write, fields)
  return { kind: 'prepared', params, body, applied: body, evidence, warnings: [] }
}

/** The fields of a body that a record shows. */
export const observable = (write: WriteDef, body: Readonly<JsonObject>): readonly BodyField[] =>
  write.body.filter((field) => field.readPath !== null && body[field.name] !== undefined)

/** The verdict about a record of which there is at most one: it is as sent, or different. */
export function asSent(write: WriteDef, body: Readonly<JsonObject>, seen: Seen, timeZone: string): Verdict {
  const differing = observable(write, body).flatMap((field) => {
    const [local, remote] = [body[field.name] ?? null, readValue(field, seen.record)]
    if (sameValue(field, local, remote) || isStoredAs(field, local, remote, timeZone)) return []
    return [[field.name, { base: null, local, remote: writeShape(field, remote) }] as const]
  })
  return differing.length === 0 ? took(seen) : { kind: 'conflict', conflict: Object.fromEntries(differing) }
}

const idOf = (record: Json): string | undefined => textOf(get(record, 'id'))

type Projection = { readonly writes: MirrorWrites; readonly warnings: readonly string[] }

/** A record as a row of the stream. A record that cannot be mirrored is a warning, not an error. */
export function mirrored(context: PushContext, name: string, seen: Seen | null, params: Params): Projection {
  const stream = streamNamed(name)
  const hidden = stream.document === true && !context.settings.mirrorDocuments
  if (seen === null || hidden) return { writes: {}, warnings: [] }
  const request = Object.fromEntries(
    (stream.parentKey ?? []).map((column, index) => [column, params[stream.parentParams?.[index] ?? ''] ?? '']),
  )
  const record = context.privacy?.protect(stream, seen.record, params) ?? seen.record
  const projected = projectRecord(stream, record, request, context.settings.timeZone)
  if (!projected.ok) return { writes: {}, warnings: [`The answer could not be mirrored: ${projected.reason}`] }
  const { source, readAt } = seen
  return { writes: { tables: [{ stream, source, readAt, rows: [projected.row], mode: 'record' }] }, warnings: [] }
}

/** The status of a rental that was written; null for other records. */
const rentalStatus = (write: WriteDef, record: Json | undefined): string | null =>
  streamNamed(write.stream) === rentals ? (textOf(get(record, 'status')) ?? null) : null

/** The outcome of a change that took effect, without its details. `id`: that of the created record. */
export function done(change: Change, params: Params, id: string | null = null): Done {
  const { write } = change
  return {
    kind: 'done',
    result: null,
    response: null,
    warnings: [],
    mirror: {},
    recordKey: mirrorKey(write, params, id),
    madeRoot: Object.keys(write.target).length === 0 && id !== null,
    leftBehind: null,
    rootId: params[rootOf(write).param] ?? null,
    rentalStatus: null,
  }
}

/** The same with the record that the API shows: its row for the mirror, and what it leaves for later changes. */
export function doneWith(
  { context, change }: Delivery,
  { params, warnings }: Pick<Sent, 'params' | 'warnings'>,
  { seen, response }: Effect,
  id: string | null = null,
): Done {
  const { write } = change
  const row = mirrored(context, write.stream, seen, params)
  return {
    ...done(change, params, id),
    response,
    mirror: row.writes,
    warnings: [...warnings, ...row.warnings],
    leftBehind: leftBehind(write, null, seen?.record ?? null),
    rentalStatus: rentalStatus(write, seen?.record),
  }
}

/**
 * The record after a write that leaves one record at most: as it was seen, or read back.
 * @returns null: there is none; undefined: the API did not answer, and the next sync reads it. An outcome: after a successful answer,
 * it does not show the write yet and is read again.
 */
export async function readAfter(
  { decide, readBack }: Kind,
  delivery: Delivery,
  sent: Sent,
  { seen, response }: Effect,
): Promise<Seen | null | undefined | (Outcome & { readonly kind: 'verify' })> {
  const { context, change, signal, knownMs } = delivery
  const shown =
    seen ??
    (await readBack?.(delivery, sent.params).catch((error: unknown) => {
      if (error instanceof ApiError || signal.aborted) return undefined
      throw error
    }))
  const { answered } = change.evidence
  if (shown === undefined || (response === null && !answered)) return shown
  const verdict = decide(change.write, sent, one(shown), context.settings.timeZone)
  if (verdict.kind !== 'not' && verdict.kind !== 'gone') return shown
  const again = checkAgain({ sinceMs: answered ? knownMs : 0, patienceMs: context.showDelay.ms() })
  return again === null ? shown : { kind: 'verify', answered: true, ...again }
}

/** The record in an answer to a write. Whether the API answers an add with a list is not documented. */
export function answered({ context, change }: Delivery, { response }: Effect): Seen | null {
  const body = response?.body ?? null
  const record = Array.isArray(body) ? (body[0] ?? null) : body
  return record === null ? null : { record, exact: record, readAt: context.clock.now(), source: change.write.endpoint }
}

/** The outcome of a creation, from its answer or the found record. A record without an id must be searched. */
export function finishMaking(delivery: Delivery, sent: Sent, effect: Effect): Outcome {
  const { write } = delivery.change
  const seen = effect.seen ?? answered(delivery, effect)
  const id = idOf(seen?.record ?? null)
  if (seen === null || id === undefined)
    return { kind: 'verify', delayMs: 0, error: 'The answer names no id.', answered: true }
  const root = Object.keys(write.target).length === 0 ? { [rootOf(write).param]: id } : {}
  const params = { ...sent.params, ...root }
  const settled = doneWith(delivery, { ...sent, params }, { ...effect, seen }, id)
  return { ...settled, result: resultOf(seen.record) }
}

/** A recent write of ours to the record, or its creation, which is awaited longest; null: none. Future times are from a clock set back. */
async function writtenLately({ context, change, startedAt }: Delivery): Promise<Unseen | null> {
  const delay = context.showDelay
  const { rows } = await context.database.pool.query<{ written_ms: number | null; made_ms: number | null }>(
    `select min(w.ago_ms) as written_ms, min(w.ago_ms) filter (where w.made) as made_ms
     from (select o.kind = 'create' or d.depends_on is not null as made,
             greatest(0, extract(epoch from $4::timestamptz - c.settled_at) * 1000)::float8 as ago_ms
           from outbox.queue c join outbox.operations o using (operation)
             left join outbox.dependencies d on d.change_id = $1 and d.depends_on = c.id
           where c.status = 'done' and c.id <> $1 and c.settled_at > $4::timestamptz - $3 * interval '1 ms' and c.settled_at < $4::timestamptz + interval '2 s'
             and (c.aggregate = $2 or d.depends_on is not null)) w`,
    [change.id, change.aggregate, delay.longestMs, startedAt],
  )
  const { written_ms = null, made_ms = null } = rows[0] ?? {}
  if (made_ms !== null) return { sinceMs: made_ms, patienceMs: delay.longestMs }
  const sinceMs = delay.lastWrite(change.aggregate)?.sinceMs ?? written_ms
  return sinceMs === null ? null : { sinceMs, patienceMs: delay.ms() }
}

/** When to search again for a missing record that a change of ours just wrote. Null: it does not exist. */
export async function awaited(delivery: Delivery): Promise<ReturnType<typeof checkAgain>> {
  const written = await writtenLately(delivery)
  return written === null ? null : checkAgain(written)
}

/** The outcome if the record is missing before anything was sent: it is gone, or does not show yet. */
export async function goneOrAwaited(delivery: Delivery): Promise<Outcome> {
  const again = await awaited(delivery)
  return again === null ? gone(delivery.change) : { kind: 'retry', heldBack: true, ...again }
}
