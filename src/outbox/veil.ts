// Personal values in the outbox. The API is read and written in clear. Body and evidence of a change stay in clear until it
// ends, because it is sent and verified by them. What outbox.changes shows beside the body (request, conflict, answers) and what
// a change leaves as base for later ones holds hashes of the exact values. `veil` makes them; `recall` finds the clear
// value of a hash among those at hand, so that the merge compares as usual.

import { isObject, type Json, type JsonObject, someText, stringifyJson, textOf } from '../api/wire/json.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { BodyField, WriteDef } from '../catalog/types.ts'
import { exactMember, hashPrefix, normalValue } from '../privacy/hash.ts'
import type { Privacy } from '../privacy/privacy.ts'
import { type Action, actionOf } from '../privacy/rules.ts'
import { writeShape } from './values.ts'

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

/** The hash of the exact text of a value; of an object that of each member. */
function veil(privacy: Privacy, field: BodyField, value: Json): Json {
  if (isVeiled(value)) return privacy.settings.hasher === null ? unknown : value
  const shape = writeShape(field, value)
  if (shape === null) return null
  const hashed = (each: Json): string => privacy.settings.hasher?.of(textOf(each) ?? stringifyJson(each)) ?? unknown
  if (!isObject(shape)) return hashed(shape)
  return Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, hashed(member)]))
}

/** The value that a veiled one stands for, if it is among these; else the veiled one, which equals no other. */
function recall(
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

/** Fields with hashes in place of personal values. */
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
