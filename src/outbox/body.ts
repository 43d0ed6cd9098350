// What is sent: the body of each write operation, from the change, its resolved references and, for updates, the record
// as it stands (a PUT replaces, and resets a price that is left out: docs/sources.md, 2.5). Pure.

import { get, isObject, type Json, type JsonObject, LosslessNumber, textOf } from '../api/wire/json.ts'
import type { BodyField, WriteDef } from '../catalog/types.ts'
import { asReceived } from './values.ts'

/** Results of earlier changes by their id: the `id` each of them made. */
export type Results = ReadonlyMap<string, Json>

/** The number of the change a value refers to (`{"change": 17}`), or null for an ordinary value. */
export function referredChange(value: Json | undefined): string | null {
  return isObject(value) ? (textOf(value.change) ?? null) : null
}

/** Replaces references by results; a text field gets the id as text. @returns null when a result is lacking. */
export function resolveFields(
  value: Readonly<JsonObject>,
  fields: readonly BodyField[],
  results: Results,
): JsonObject | null {
  const resolved: JsonObject = {}
  for (const [name, given] of Object.entries(value)) {
    const change = referredChange(given)
    if (change === null) {
      resolved[name] = given
      continue
    }
    const result = results.get(change)
    if (result === undefined || result === null) return null
    const asText = fields.find((field) => field.name === name)?.type === 'string'
    resolved[name] = asText ? String(textOf(result)) : result
  }
  return resolved
}

/** The path parameters of a change as text, references resolved. @returns null when a result is lacking. */
export function resolveTarget(target: Readonly<JsonObject>, results: Results): Readonly<Record<string, string>> | null {
  const resolved = resolveFields(target, [], results)
  if (resolved === null) return null
  return Object.fromEntries(Object.entries(resolved).map(([name, value]) => [name, String(textOf(value))]))
}

function sentAs(field: BodyField, value: Json): Json {
  const digits = textOf(value)
  if (digits === undefined || field.sendAs === undefined) return value
  return field.sendAs === 'string' ? digits : new LosslessNumber(digits)
}

/** The body of a create, an add or an assignment; nothing is there yet that null could clear, so it is left out. */
export function creationBody(write: WriteDef, body: Readonly<JsonObject>): JsonObject {
  return Object.fromEntries(
    write.body.flatMap((field): [string, Json][] => {
      const value = body[field.name]
      return value === undefined || value === null ? [] : [[field.name, sentAs(field, value)]]
    }),
  )
}

/**
 * The body of a PUT: every writable field exactly as received, the change laid over it. What the record does not show is
 * left out, as are a status outside the allowed ones (PENDING), which stays, and what the API refused before (`leftOut`).
 */
export function updateBody(
  write: WriteDef,
  apply: Readonly<JsonObject>,
  record: Json,
  leftOut: readonly string[] = [],
): JsonObject {
  return Object.fromEntries(
    write.body.flatMap((field): [string, Json][] => {
      const wished = apply[field.name]
      if (wished !== undefined) return [[field.name, sentAs(field, wished)]]
      if (leftOut.includes(field.name)) return []
      const present = field.readPath === null ? undefined : get(record, field.readPath ?? field.name)
      if (present === undefined) return []
      if (field.whenLeftOut === 'kept' && !field.values?.includes(String(textOf(present)))) return []
      return [[field.name, sentAs(field, asReceived(field, present))]]
    }),
  )
}

/** What makes references of this installation unique: see outbox.installation. */
export type Installation = { readonly id: string; readonly number: number }

/**
 * The reference a rental is created with, when the partner gave none: the list of rentals can't be searched by it, but a
 * creation whose answer was lost is found again by it. Numeric where the API takes numbers only (docs/sources.md, differences).
 */
export function ownReference(installation: Installation, changeId: string, numeric: boolean): string {
  if (!numeric) return `bm-${installation.id}-${changeId}`
  return String(BigInt(installation.number) * 1_000_000_000n + (BigInt(changeId) % 1_000_000_000n))
}

/** Turns a reference of digits into a number, for an API that takes `referenceId` as an integer on creation. */
export function numericReference(body: JsonObject): JsonObject {
  const digits = textOf(body.referenceId)
  return digits !== undefined && /^\d{1,18}$/.test(digits) ? { ...body, referenceId: new LosslessNumber(digits) } : body
}
