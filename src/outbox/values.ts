// Field values in the shape in which they are written, and when two of them mean the same. Pure.
// The API reads and writes some fields differently: countries by code, methods by id (upstream-api sections 11 and 12).

import { get, isObject, type Json, type JsonObject, textOf } from '../api/json.ts'
import type { BodyField } from '../catalog/types.ts'

/** Members by which the API names a currency-like value that comes as an object [upstream-api section 12, row 23]. */
const codeMembers = ['code', 'iso', 'id'] as const

/** The value of a field in a record as read; null where it is absent or not shown. */
export function readValue(field: BodyField, record: Json | undefined): Json {
  if (field.readPath === null) return null
  return get(record, field.readPath ?? field.name) ?? null
}

/** A value as read, in the shape in which it is written; null stays null. */
export function writeShape(field: BodyField, value: Json): Json {
  if (field.type === 'object') return objectShape(field, value)
  if (!isObject(value)) return field.type === 'date' && typeof value === 'string' ? value.slice(0, 10) : value
  const code = codeMembers.map((name) => value[name]).find((member) => textOf(member) !== undefined)
  return code ?? value
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

/** A decimal in one form: no sign on zero, no trailing zeros; undefined when the text is no plain decimal. */
export function canonicalDecimal(text: string): string | undefined {
  const match = /^([+-]?)0*(\d*)(?:\.(\d*?)0*)?$/.exec(text.trim())
  if (match === null || !/\d/.test(text)) return undefined
  const [, sign = '', whole = '', fraction = ''] = match
  const digits = `${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`
  return sign === '-' && digits !== '0' ? `-${digits}` : digits
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
  if (x === undefined || y === undefined) return JSON.stringify(a) === JSON.stringify(b)
  return field.type === 'email' ? x.toLowerCase() === y.toLowerCase() : x === y
}

function sameMembers(field: BodyField, a: JsonObject, b: JsonObject): boolean {
  const naming = (field.members ?? []).filter((member) => member.required)
  if (naming.length === 0) return JSON.stringify(a) === JSON.stringify(b)
  return naming.every((member) => sameValue(member, a[member.name], b[member.name]))
}
