// After a write is known to have taken effect: read back, compare, and say what the mirror and the change shall hold.

import { get, isObject, type Json, type JsonObject, textOf } from '../api/wire/json.ts'
import type { BodyField } from '../catalog/types.ts'
import { ApiError } from '../errors.ts'
import type { MirrorWrites } from '../mirror/rows.ts'
import type { Change } from './change.ts'
import type { PushContext } from './context.ts'
import { holderOf, mirrorKey, proofKind } from './operations.ts'
import { type Done, leftBehind, type Outcome, type Response, resultOf } from './outcome.ts'
import { idOf } from './proof.ts'
import { type Params, readHolder, readRecord, type Seen } from './reads.ts'
import { answered, filledWrites, recordWrites, removalWrites } from './rows.ts'
import { readValue, sameValue } from './values.ts'

/** A write that took effect. */
export type Effect = {
  readonly params: Params
  /** What was sent; undefined for deletes. */
  readonly sent: JsonObject | undefined
  /** Fields of the change that were applied, for updates. */
  readonly applied: JsonObject | null
  /** The answer to the write, where one came. */
  readonly response: Response | null
  /** The record as a read just showed it, where a proof has read it. */
  readonly seen: Seen | null
  readonly warnings: readonly string[]
}

const base = (change: Change, effect: Effect): Omit<Done, 'mirror' | 'recordKey'> => ({
  kind: 'done',
  result: null,
  response: effect.response,
  warnings: effect.warnings,
  leftBehind: null,
  holderId: effect.params[holderOf(change.write).param] ?? null,
  rentalStatus: null,
})

/** An update of which nothing is left to send, because the remote value was taken for each of its fields. */
export function nothingToSend(
  context: PushContext,
  change: Change,
  params: Params,
  seen: Seen,
  warnings: readonly string[],
): Done {
  const effect: Effect = { params, sent: undefined, applied: {}, response: null, seen, warnings }
  const mirrored = recordWrites(context, change.write.stream, seen, params)
  return { ...base(change, effect), mirror: mirrored.writes, recordKey: mirrorKey(change.write, params, null) }
}

/** Fields whose value after an update is not what it should be: those the API ignored, and those others moved meanwhile. */
function differences(change: Change, effect: Effect, record: Json): readonly string[] {
  const { write, proof } = change
  const applied = effect.applied ?? {}
  const shown = write.body.filter((field) => field.readPath !== null)
  const ignored = shown.filter((field) => {
    const wished = applied[field.name]
    return wished !== undefined && !sameValue(field, wished, readValue(field, record))
  })
  const before = isObject(proof.before) ? proof.before : {}
  const moved = shown.filter(
    (field) =>
      applied[field.name] === undefined &&
      Object.hasOwn(before, field.name) &&
      !sameValue(field, before[field.name], readValue(field, record)),
  )
  const leftOut = moved.filter((field) => change.leftOut.includes(field.name))
  const byOthers = moved.filter((field) => !leftOut.includes(field))
  const warning = (what: string, fields: readonly BodyField[]): readonly string[] =>
    fields.length === 0 ? [] : [`${what}: ${fields.map((field) => field.name).join(', ')}.`]
  return [
    ...warning('Not taken by the API', ignored),
    ...warning('Changed meanwhile by others', byOthers),
    ...warning('Reset by the API, which refused the value it had shown', leftOut),
  ]
}

/** Reads back; when that fails, the answer to the write has to do. */
async function readBack(read: () => Promise<Seen>, fallback: Seen | null, signal: AbortSignal): Promise<Seen | null> {
  try {
    const seen = await read()
    return seen.record === null ? fallback : seen
  } catch (error) {
    // The write has taken effect: an unread record only means that the next sync shows the rest.
    if (error instanceof ApiError || signal.aborted) return fallback
    throw error
  }
}

/** Warning of a change whose effect could not be looked at. */
export const unverified = 'Not read back: the API did not answer.'

async function finishUpdate(context: PushContext, change: Change, effect: Effect, signal: AbortSignal): Promise<Done> {
  const { write } = change
  const fromAnswer = isObject(effect.response?.body)
    ? answered(effect.response.body, context.clock.now(), write.endpoint)
    : null
  const seen =
    effect.seen ?? (await readBack(() => readRecord(context, write, effect.params, signal), fromAnswer, signal))
  const verified = seen !== null && seen !== fromAnswer
  const warnings = verified ? differences(change, effect, seen.exact) : [unverified]
  const mirrored = seen === null ? null : recordWrites(context, write.stream, seen, effect.params)
  return {
    ...base(change, effect),
    mirror: mirrored?.writes ?? {},
    warnings: [...effect.warnings, ...warnings, ...(mirrored?.warnings ?? [])],
    recordKey: mirrorKey(write, effect.params, null),
    leftBehind: leftBehind(write, effect.applied, seen?.record ?? null),
    rentalStatus: write.stream === 'rentals' ? (textOf(get(seen?.record, 'status')) ?? null) : null,
  }
}

async function finishAssignment(
  context: PushContext,
  change: Change,
  effect: Effect,
  signal: AbortSignal,
): Promise<Done> {
  const { write } = change
  const seen = effect.seen ?? (await readBack(() => readHolder(context, write, effect.params, signal), null, signal))
  const mirrored = seen === null ? null : recordWrites(context, 'rentals', seen, effect.params)
  const taken = write.body.every((field) => sameValue(field, effect.sent?.[field.name], readValue(field, seen?.record)))
  const warning = seen === null ? [unverified] : taken ? [] : ['Not taken by the API: userId.']
  return {
    ...base(change, effect),
    mirror: mirrored?.writes ?? {},
    warnings: [...effect.warnings, ...warning, ...(mirrored?.warnings ?? [])],
    recordKey: mirrorKey(write, effect.params, null),
    rentalStatus: textOf(get(seen?.record, 'status')) ?? null,
  }
}

/** The record among the answers to an add: whether the API answers a list is not documented. */
const answeredRecord = (body: Json | undefined): Json => (Array.isArray(body) ? (body[0] ?? null) : (body ?? null))

async function finishCreation(context: PushContext, change: Change, effect: Effect): Promise<Outcome> {
  const { write } = change
  const seen = effect.seen ?? answered(answeredRecord(effect.response?.body), context.clock.now(), write.endpoint)
  const { record } = seen
  const isDocument = proofKind(write) === 'document'
  const id = isDocument ? null : (idOf(record) ?? null)
  if (!isDocument && id === null) return { kind: 'look', delayMs: 0, error: 'The answer names no id.', answered: true }
  const { param } = holderOf(write)
  const params = write.kind === 'create' ? { [param]: String(id) } : effect.params
  const mirrored = recordWrites(context, write.stream, seen, params)
  const mirror: MirrorWrites =
    write.operation === 'rental.create' && isObject(record)
      ? {
          ...mirrored.writes,
          filled: await filledWrites(context, String(id), String(textOf(effect.sent?.resourceId)), seen.readAt),
        }
      : mirrored.writes
  return {
    ...base(change, { ...effect, params }),
    result: isDocument ? null : resultOf(record),
    mirror,
    warnings: [...effect.warnings, ...mirrored.warnings],
    recordKey: mirrorKey(write, params, id),
    leftBehind: leftBehind(write, null, record),
    rentalStatus: write.stream === 'rentals' ? (textOf(get(record, 'status')) ?? null) : null,
  }
}

/**
 * The outcome of a write that took effect. A record that answers a create without an id leads to a look.
 * @throws anything but an ApiError: reading back may fail.
 */
export async function finishChange(
  context: PushContext,
  change: Change,
  effect: Effect,
  signal: AbortSignal,
): Promise<Outcome> {
  const { write } = change
  const kind = proofKind(write)
  if (kind === 'update') return await finishUpdate(context, change, effect, signal)
  if (kind === 'assignment') return await finishAssignment(context, change, effect, signal)
  if (kind !== 'removal') return await finishCreation(context, change, effect)
  const key = mirrorKey(write, effect.params, null) ?? []
  const readAt = context.clock.now()
  return { ...base(change, effect), mirror: removalWrites(write, key, readAt), recordKey: key }
}
