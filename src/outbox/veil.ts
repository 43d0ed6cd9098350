// Personal values in the outbox. The API is read and written in clear, and a change's body stays clear until the
// change has ended, because it must be sent. Everything else stored of it (request, pre-image, conflict, result,
// answers) holds hashes of the exact values. `veil` makes them; `recall` finds the clear value of a hash among those
// at hand, so that merge and verdicts compare as usual.

import { isObject, type Json, type JsonObject, someText, stringifyJson, textOf } from '../api/wire/json.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { BodyField, WriteDef } from '../catalog/types.ts'
import { exactMember, hashPrefix, normalValue } from '../privacy/hash.ts'
import type { Privacy } from '../privacy/privacy.ts'
import { type Action, actionOf } from '../privacy/rules.ts'
import type { Evidence } from './change.ts'
import { readValue, writeShape } from './values.ts'

type Veiling = Privacy | undefined
type Fields = ReadonlyMap<string, Action>

const noFields: Fields = new Map()

/** The fields of a write whose values are not kept, and what becomes of them. */
export function personalFields(privacy: Veiling, write: WriteDef): Fields {
  if (privacy?.isActive !== true) return noFields
  const stream = streamNamed(write.stream)
  return new Map(
    write.body.flatMap((field): [string, Action][] => {
      const [first] = (field.readPath ?? field.name).split('.')
      const actions = stream.columns
        .filter(({ path }) => path?.split('.')[0] === first)
        .map((column) => actionOf(privacy.settings, stream, column))
      const action = actions.includes('drop') ? 'drop' : actions.includes('hash') ? 'hash' : 'keep'
      return action === 'keep' ? [] : [[field.name, action]]
    }),
  )
}

/** Whether a text that stands for a personal value is in it. */
export const isVeiled = (value: Json | undefined): boolean =>
  value !== undefined && someText(value, (text) => text.startsWith(hashPrefix))

/** Replaces a value of which not even a hash is stored, because there is no key. */
const unknown = hashPrefix

/** Whether it stands for a value that is not known at all. */
export const isUnknownValue = (value: Json | undefined): boolean => value === unknown

/** A value of a field as evidence holds it: the hash of its exact text, of an object that of each member. */
export function veil(privacy: Privacy, field: BodyField, value: Json): Json {
  if (isVeiled(value)) return privacy.settings.hasher === null ? unknown : value
  const shape = writeShape(field, value)
  if (shape === null) return null
  const hashed = (each: Json): string => privacy.settings.hasher?.of(textOf(each) ?? stringifyJson(each)) ?? unknown
  if (!isObject(shape)) return hashed(shape)
  return Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, hashed(member)]))
}

/** The value that a veiled one stands for, if it is among these; else the veiled one, which equals no other. */
export function recall(
  privacy: Privacy,
  field: BodyField,
  kept: Json | undefined,
  candidates: readonly (Json | undefined)[],
): Json | undefined {
  if (!isVeiled(kept)) return kept
  const sought = stringifyJson(writeShape(field, kept ?? null))
  const standsFor = (each: Json | undefined): boolean =>
    each !== undefined && each !== null && stringifyJson(veil(privacy, field, each)) === sought
  return candidates.find(standsFor) ?? kept
}

/** A hash as the mirror shows it stands for every value with its normal form: who gives it as base has seen no more. */
const shownHash = (privacy: Privacy, field: BodyField, value: Json | undefined): Json =>
  veil(privacy, field, typeof value === 'string' ? normalValue(field.name, value) : (value ?? null))

/** Fields as evidence holds them; those that are not personal as they are. */
export function veiledFields(privacy: Veiling, write: WriteDef, fields: Readonly<JsonObject>): JsonObject {
  const personal = personalFields(privacy, write)
  if (privacy === undefined || personal.size === 0) return { ...fields }
  const named = new Map(write.body.map((field) => [field.name, field]))
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const field = named.get(name)
      return [name, field === undefined || !personal.has(name) ? value : veil(privacy, field, value)]
    }),
  )
}

/** The evidence of an update as it is kept. */
export function veiledEvidence(privacy: Veiling, write: WriteDef, evidence: Evidence): Evidence {
  const { before, sent } = evidence
  return {
    ...evidence,
    ...(isObject(before) && { before: veiledFields(privacy, write, before) }),
    ...(isObject(sent) && { sent: veiledFields(privacy, write, sent) }),
  }
}

/** Fields that an earlier change left, with the exact hashes in place of the normal ones. */
export function exactFields(left: Readonly<JsonObject>): JsonObject {
  const { [exactMember]: exact, ...fields } = left
  return isObject(exact) ? { ...fields, ...exact } : fields
}

type Recalling = {
  /** Values that a hash of the field may stand for. */
  readonly among: (field: BodyField) => readonly (Json | undefined)[]
  /** Fields that a caller gave, as the mirror shows them. */
  readonly given?: readonly string[]
}

/** Veiled fields with the clear values that they stand for, where those are at hand. */
export function recalledFields(
  privacy: Veiling,
  write: WriteDef,
  kept: Readonly<JsonObject>,
  { among, given = [] }: Recalling,
): JsonObject {
  const recalled: JsonObject = { ...kept }
  if (privacy === undefined) return recalled
  for (const field of write.body) {
    if (!Object.hasOwn(kept, field.name) || !isVeiled(kept[field.name])) continue
    const value = kept[field.name] ?? null
    const shown = stringifyJson(writeShape(field, value))
    const seen = given.includes(field.name)
      ? among(field).find((each) => stringifyJson(shownHash(privacy, field, each)) === shown)
      : undefined
    recalled[field.name] = seen ?? recall(privacy, field, value, among(field)) ?? null
  }
  return recalled
}

/**
 * The body to send, with the clear values of the change in place of their hashes. Other hashes, which were only sent
 * back as read, are removed: they were not meant to change.
 */
export function recalledSent(
  privacy: Veiling,
  write: WriteDef,
  kept: Readonly<JsonObject>,
  wishes: Readonly<JsonObject>,
): JsonObject {
  if (privacy === undefined) return { ...kept }
  const recalled: JsonObject = { ...kept }
  for (const field of write.body) {
    const value = kept[field.name]
    if (!isVeiled(value)) continue
    const wish = wishes[field.name]
    const found = value === unknown ? wish : recall(privacy, field, value, [wish])
    if (found === undefined || isVeiled(found)) delete recalled[field.name]
    else recalled[field.name] = found
  }
  return recalled
}

/** The sent body with the pre-image in clear, as far as the record shows it now or it was sent. */
export function withBefore<S extends { readonly body: JsonObject; readonly evidence: Evidence }>(
  privacy: Veiling,
  write: WriteDef,
  sent: S,
  now: Json | undefined,
): S {
  const { before } = sent.evidence
  if (!isObject(before)) return sent
  const among = (field: BodyField): readonly (Json | undefined)[] => [readValue(field, now), sent.body[field.name]]
  const recalled = recalledFields(privacy, write, before, { among })
  return { ...sent, evidence: { ...sent.evidence, before: recalled } }
}
