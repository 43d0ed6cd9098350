// Field values in the shape in which they are written, and when two of them mean the same. Pure.
// The API reads and writes some fields differently: countries by code, methods by id (docs/sources.md, differences, silence).

import { get, isObject, type Json, type JsonObject, textOf } from '../api/wire/json.ts'
import type { BodyField } from '../catalog/types.ts'

/** Members by which the API names a currency-like value that comes as an object. */
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

/** A value that goes back as it came; only where what is shown as text is written as an object, or the reverse, in that shape. */
export const asReceived = (field: BodyField, value: Json): Json =>
  value === null || isObject(value) === (field.type === 'object') ? value : writeShape(field, value)

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

/**
 * A decimal in one form: no sign on zero, no trailing zeros, no exponent; undefined when the text is no decimal, or one
 * with an exponent of more than three digits.
 */
export function canonicalDecimal(text: string): string | undefined {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i.exec(text.trim())
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match ?? []
  if (whole === '' && fraction === '') return undefined
  const point = whole.length + Number(exponent)
  const digits = `${'0'.repeat(Math.max(0, -point))}${whole}${fraction}`.padEnd(point, '0')
  const integer = digits.slice(0, Math.max(0, point)).replace(/^0+/, '') || '0'
  const decimals = withoutTrailingZeros(digits.slice(Math.max(0, point)))
  const number = decimals === '' ? integer : `${integer}.${decimals}`
  return sign === '-' && number !== '0' ? `-${number}` : number
}

function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
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
