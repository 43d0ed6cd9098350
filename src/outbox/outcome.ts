// The outcome of working on a change, which settle.ts stores; and pure helpers to make outcomes.

import { get, isObject, type Json, type JsonObject, parseJson, stringifyJson, textOf } from '../api/wire/json.ts'
import { embeddedPerson, streamNamed } from '../catalog/catalog.ts'
import type { WriteDef } from '../catalog/types.ts'
import { writes } from '../catalog/writes.ts'
import { ApiError, BoatMirrorError, messageOf } from '../errors.ts'
import { counted } from '../format.ts'
import type { MirrorWrites } from '../mirror/rows.ts'
import { oneLine } from '../text.ts'
import { nextDelayMs } from './attempts.ts'
import type { Conflict } from './merge.ts'
import { readValue } from './values.ts'

export type Response = { readonly status: number | null; readonly body: Json }

export type Done = {
  readonly kind: 'done'
  /** `{"id": …}` of the created record; null for other operations. */
  readonly result: JsonObject | null
  readonly response: Response | null
  readonly warnings: readonly string[]
  /** Rows and tombstones for the mirror. */
  readonly mirror: MirrorWrites
  /** Key of the written record in its table. */
  readonly recordKey: readonly string[] | null
  /** Writable fields as the API shows them now. */
  readonly leftBehind: JsonObject | null
  /** It created a rental or a user, to whose aggregate the change then belongs. */
  readonly madeRoot: boolean
  /** The rental or user of the aggregate, to be read again. */
  readonly rootId: string | null
  /** Status of the rental, if it was read. */
  readonly rentalStatus: string | null
}

/** The age of a write that does not show yet, and how long to wait for it. */
export type Unseen = { readonly sinceMs: number; readonly patienceMs: number }

export type Outcome =
  | Done
  | {
      readonly kind: 'failed' | 'expired' | 'unknown'
      readonly error: string
      readonly response: Response | null
      /** We stopped it before it was sent: no attempt. */
      readonly unsent?: true
    }
  | { readonly kind: 'conflict'; readonly conflict: Conflict }
  /** It certainly had no effect, and is sent again. */
  | {
      readonly kind: 'retry'
      readonly delayMs: number
      readonly error: string
      readonly leaveOut?: readonly string[]
      /** We held it back: no attempt. */
      readonly heldBack?: boolean
      /** It waits until the API shows an earlier write. */
      readonly unseen?: Unseen
    }
  /** Its effect must be verified. */
  | {
      readonly kind: 'verify'
      readonly delayMs: number
      readonly error: string
      /** The API answered with success: it is never sent again. */
      readonly answered?: true
      /** The API answered with an error: it has finished with this attempt. */
      readonly finished?: true
      /** The API refused a repeat. If no effect shows in the end, the change has failed. */
      readonly refused?: true
      /** The API does not show the write yet. */
      readonly unseen?: Unseen
      readonly response?: Response
    }

/** Whether nothing happens to the change after this outcome without a decision. */
export const isFinal = (outcome: Outcome): boolean => outcome.kind !== 'retry' && outcome.kind !== 'verify'

/** A record without unneeded data: only the id of an embedded user, no message to the company. */
export function storable(write: WriteDef, body: Json | undefined): Json {
  if (body === undefined) return null
  if (!isObject(body)) return body
  const person = embeddedPerson(streamNamed(write.stream))
  if (person === undefined) return body
  const { [person.path]: embedded, ...rest } = body
  if (write.kind === 'assign' && !isObject(embedded)) return { id: body.id ?? null }
  for (const { field } of person.texts) delete rest[field]
  return embedded === undefined
    ? rest
    : { ...rest, [person.path]: isObject(embedded) ? { id: embedded.id ?? null } : null }
}

/** The response of a change whose record the API does not show. */
const absence: Response = { status: 404, body: null }

/** The record is gone: for a step of a pending rental, it expired. */
export const gone = ({
  deadline,
  operation,
}: {
  readonly deadline: Date | null
  readonly operation: string
}): Outcome =>
  deadline !== null
    ? {
        kind: 'expired',
        error: 'The pending rental expired in the API before this change could reach it.',
        response: absence,
      }
    : { kind: 'failed', error: `The record of ${operation} is gone from the API.`, response: absence }

/** Status and beginning of the body of an error. */
export function responseOf(error: unknown): Response | null {
  if (!(error instanceof ApiError)) return null
  return { status: error.status ?? null, body: error.body ?? null }
}

/** Names of fields in the body of an error, if they are in `errors: [{field}]`. */
export function refusedFields(body: string | undefined): readonly string[] {
  let parsed: Json
  try {
    parsed = parseJson(body ?? '').value
  } catch {
    return [] // no JSON
  }
  const errors = isObject(parsed) && Array.isArray(parsed.errors) ? parsed.errors : []
  return errors.flatMap((error) => (isObject(error) ? (textOf(error.field) ?? []) : []))
}

/** An error in one line for the change's `error` column; ids and values stay out of it. */
export const errorText = (error: unknown): string =>
  error instanceof ApiError ? `${error.code}: ${error.message}` : messageOf(error)

/** The most attempts or verifications that may end with an unexpected error. */
const faultsAllowed = 10

type Faulty = {
  readonly changeId: string
  /** Its request may have reached the API. */
  readonly dispatched: boolean
  /** Attempts, or, once it was dispatched, verifications; this one counts. */
  readonly tries: number
}

/** The outcome of an unexpected error: backs off, and finally ends the change, as `failed`, or as `unknown` if it was dispatched. */
export function outcomeOfFault(
  error: unknown,
  { changeId, dispatched, tries }: Faulty,
): Exclude<Outcome, Done | { readonly kind: 'conflict' }> {
  const code = error instanceof BoatMirrorError ? error.code : 'INTERNAL'
  const text = `${code}: ${oneLine(messageOf(error), 300)}`
  if (tries < faultsAllowed) {
    const delayMs = nextDelayMs({ attempts: Math.max(1, tries), random: Math.random() })
    return { kind: dispatched ? 'verify' : 'retry', delayMs, error: text }
  }
  const ended = `${text} (${counted(tries, 'time')}; the log has the details)`
  return dispatched
    ? { kind: 'unknown', error: `${ended}. It is unknown whether it took effect.`, response: null }
    : {
        kind: 'failed',
        error: `${ended}. Nothing was sent. Try again with: changes retry ${changeId}.`,
        response: null,
      }
}

/** The code at the beginning of {@link errorText}; undefined if there is none. */
export const codeIn = (error: string): string | undefined => /^([A-Z_]{4,}): /.exec(error)?.[1]

/** The fields an update of the same record could write. */
const updatable = (write: WriteDef): WriteDef['body'] =>
  writes.find((other) => other.kind === 'update' && other.stream === write.stream)?.body ?? []

/** The base that a change leaves for later ones: the applied fields, or all writable fields of a new record. */
export function leftBehind(write: WriteDef, applied: Readonly<JsonObject> | null, record: Json): JsonObject | null {
  if (!isObject(record) || write.kind === 'assign') return null
  const fields = updatable(write).filter((field) => applied === null || Object.hasOwn(applied, field.name))
  return Object.fromEntries(fields.map((field) => [field.name, readValue(field, record)]))
}

export function resultOf(record: Json): JsonObject | null {
  const id = get(record, 'id')
  return id === undefined || id === null ? null : { id }
}

/** JSON text for a jsonb parameter; null stays SQL null. */
export const jsonParameter = (value: Json | undefined | object): string | null =>
  value === null || value === undefined ? null : stringifyJson(value as Json)
