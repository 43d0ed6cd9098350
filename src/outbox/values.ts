// Field values: the shape in which they are written, when two values are equal, and characters that the mirror cannot show. The API reads
// and writes some fields differently: countries by code, methods by id (docs/sources.md, differences, silence). Pure.

import {
  fieldAt,
  isObject,
  isStorable,
  type Json,
  type JsonObject,
  LosslessNumber,
  lostCharacter,
  someText,
  stringifyJson,
  textOf,
} from '../api/wire/json.ts'
import type { BodyField } from '../catalog/types.ts'
import { canonicalDecimal } from '../decimal.ts'

/** Members by which the API names a currency-like value that comes as an object. */
const codeMembers = ['code', 'iso', 'id'] as const

/** The value of a field in a record; undefined: none. */
export function shownValue(field: BodyField, record: Json | undefined): Json | undefined {
  if (field.readPath === null) return undefined
  return fieldAt(record, (field.readPath ?? field.name).split('.'))
}

/** The value of a field in a record as read; null if it is absent or not shown. */
export const readValue = (field: BodyField, record: Json | undefined): Json => shownValue(field, record) ?? null

/** A value as read, in the shape in which it is written; null stays null. */
export function writeShape(field: BodyField, value: Json): Json {
  if (field.type === 'object') return objectShape(field, value)
  if (!isObject(value)) return field.type === 'date' && typeof value === 'string' ? value.slice(0, 10) : value
  const code = codeMembers.map((name) => value[name]).find((member) => textOf(member) !== undefined)
  return code ?? value
}

/** A value to write back unchanged, except if it is read as text and written as an object, or the reverse. */
export const asReceived = (field: BodyField, value: Json): Json =>
  value === null || isObject(value) === (field.type === 'object') ? value : writeShape(field, value)

/** A value in the type in which the API takes the field. */
export function sentAs(field: BodyField, value: Json): Json {
  const digits = textOf(value)
  if (digits === undefined || field.sendAs === undefined) return value
  return field.sendAs === 'string' ? digits : new LosslessNumber(digits)
}

function objectShape(field: BodyField, value: Json): Json {
  const members = field.members ?? []
  if (isObject(value)) {
    const kept = members.flatMap((member): [string, Json][] => {
      const inner = value[member.name]
      return inner === undefined || inner === null ? [] : [[member.name, inner]]
    })
    return kept.length === 0 ? null : Object.fromEntries(kept)
  }
  const [only] = members.filter((member) => member.required)
  return only === undefined || textOf(value) === undefined ? value : { [only.name]: value }
}

const numberLike = (value: Json): string | undefined => canonicalDecimal(textOf(value) ?? '')

/**
 * Whether two values of a field mean the same: null and absent are one, numbers compare as decimals whether they come
 * as text or not, objects by the members that name them (a country by its code), addresses without regard to case.
 */
export function sameValue(field: BodyField, left: Json | undefined, right: Json | undefined): boolean {
  const a = writeShape(field, left ?? null)
  const b = writeShape(field, right ?? null)
  if (isObject(a) && isObject(b)) return sameMembers(field, a, b)
  if (field.type === 'number' || field.type === 'integer') {
    const x = numberLike(a)
    if (x !== undefined) return x === numberLike(b)
  }
  const [x, y] = [textOf(a)?.trim(), textOf(b)?.trim()]
  if (x === undefined || y === undefined) return stringifyJson(a) === stringifyJson(b)
  return field.type === 'email' ? x.toLowerCase() === y.toLowerCase() : x === y
}

function sameMembers(field: BodyField, a: JsonObject, b: JsonObject): boolean {
  const naming = (field.members ?? []).filter((member) => member.required)
  if (naming.length === 0) return stringifyJson(a) === stringifyJson(b)
  return naming.every((member) => sameValue(member, a[member.name], b[member.name]))
}

export const namesOf = (fields: readonly BodyField[]): readonly string[] => fields.map((field) => field.name)

/**
 * Characters that the mirror shows as U+FFFD because Postgres can't store them (NUL, halves of surrogate pairs) or because
 * the bytes were none of the answer's character set: none of them may be written back as U+FFFD.
 */
type Unseen = {
  /** Fields of the change that only repeat what the mirror shows: they were not meant to change. */
  readonly echoed: readonly string[]
  /** Fields of the change that hold U+FFFD, among other text, in the place of what the mirror can't show. */
  readonly garbled: readonly string[]
  /** Fields of the change that replace what the mirror can't show by something else. */
  readonly replaced: readonly string[]
}

/** Finds fields of a change whose present characters its author could not see. */
export function unseenFields(
  fields: readonly BodyField[],
  wishes: Readonly<JsonObject>,
  { record, exact }: { readonly record: Json; readonly exact: Json },
): Unseen {
  const wish = (field: BodyField): Json | undefined => wishes[field.name]
  const unseen = fields.filter(
    (field) => wish(field) !== undefined && someText(readValue(field, exact), (text) => !isStorable(text)),
  )
  const echoed = unseen.filter((field) => sameValue(field, wish(field), readValue(field, record)))
  const others = unseen.filter((field) => !echoed.includes(field))
  const garbled = others.filter((field) => someText(wish(field) ?? null, (text) => text.includes('\ufffd')))
  const replaced = others.filter((field) => !garbled.includes(field))
  return { echoed: namesOf(echoed), garbled: namesOf(garbled), replaced: namesOf(replaced) }
}

/** Fields of a body with bytes outside of the character set, which no JSON can restore. */
export const lostFields = (body: Readonly<JsonObject>): readonly string[] =>
  Object.entries(body).flatMap(([name, value]) =>
    someText(value, (text) => text.includes(lostCharacter)) ? [name] : [],
  )

/** Why a change with lost fields is not sent. */
export const lostMessage = (changeId: string, names: readonly string[]): string =>
  `Nothing was sent: ${names.join(', ')} had bytes that are not in the character set of the answer, and an update replaces ` +
  `the whole record. Name the field in a change, with its full text, or have it corrected in the API and run: boat-mirror changes retry ${changeId}.`

/** Why a change with U+FFFD is not sent. */
export const garbledMessage = (names: readonly string[]): string =>
  `Nothing was sent: ${names.join(', ')} has U+FFFD, which replaces a character that the mirror cannot store. ` +
  'Cancel this change and queue one with the full text.'

/** A warning about fields, or none. */
export const about = (what: string, names: readonly string[]): readonly string[] =>
  names.length === 0 ? [] : [`${what}: ${names.join(', ')}.`]

/** Warnings about a change that is sent anyway. `applied`: its fields that are sent. */
export const unseenWarnings = ({ echoed, replaced }: Unseen, applied: Readonly<JsonObject>): readonly string[] => [
  ...about('Left as received, because the mirror cannot show all of it', echoed),
  ...about(
    'Replaced, although the mirror could not show all of it',
    replaced.filter((name) => Object.hasOwn(applied, name)),
  ),
]
