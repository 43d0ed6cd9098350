// From a JSON value to the text form of a Postgres value, exactly, or a reason why not. Pure.

import { isLosslessNumber } from 'lossless-json'
import { type Json, stringifyJson } from '../api/json.ts'
import type { ColumnType } from '../catalog/types.ts'

export type Converted =
  | { readonly ok: true; readonly text: string | null }
  | { readonly ok: false; readonly expected: string }

const good = (text: string | null): Converted => ({ ok: true, text })
const bad = (expected: string): Converted => ({ ok: false, expected })

/** The digits of a JSON number, verbatim; undefined when the value is no number. */
export function numberText(value: Json): string | undefined {
  if (typeof value === 'number') return String(value)
  return isLosslessNumber(value) ? value.value : undefined
}

const maxBigint = 9_223_372_036_854_775_807n
const integerPattern = /^-?\d{1,19}$/
const decimalPattern = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$/

function toBigint(value: Json): Converted {
  if (Number.isSafeInteger(value)) return good(String(value))
  const text = typeof value === 'string' ? value.trim() : (numberText(value) ?? '')
  const whole = text.replace(/\.0+$/, '')
  if (!integerPattern.test(whole)) return bad('a whole number of at most 64 bits')
  const number = BigInt(whole)
  return number > maxBigint || number < -maxBigint ? bad('a whole number of at most 64 bits') : good(number.toString())
}

function toNumeric(value: Json): Converted {
  const text = typeof value === 'string' ? value.trim() : (numberText(value) ?? '')
  return text.length <= 1_000 && decimalPattern.test(text) ? good(text) : bad('a decimal number')
}

function toBoolean(value: Json): Converted {
  if (value === true || value === 'true') return good('true')
  if (value === false || value === 'false') return good('false')
  return bad('true or false')
}

function toText(value: Json): Converted {
  if (typeof value === 'string') return good(value)
  if (typeof value === 'boolean') return good(String(value))
  const number = numberText(value)
  return number === undefined ? bad('text') : good(number)
}

const datePattern = /^(\d{4})-(\d{2})-(\d{2})/
const timestampPattern =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?\s?(Z|z|[+-]\d{2}(?::?\d{2})?)?$/

const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** True for a day that exists in the calendar; the year 0000 is no year for Postgres. */
function isCalendarDate(text: string): boolean {
  const match = datePattern.exec(text)
  if (match === null || match[1] === '0000') return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day >= 1 && day <= (daysInMonth[month - 1] ?? 0) + (leap ? 1 : 0)
}

function toDate(value: Json): Converted {
  if (typeof value !== 'string' || !isCalendarDate(value)) return bad('a date as YYYY-MM-DD')
  const exact = value.length === 10 || timestampPattern.test(value)
  return exact ? good(value.slice(0, 10)) : bad('a date as YYYY-MM-DD')
}

/** RFC 3339 with an offset; without one the configured zone is meant [upstream-api section 12, row 22]. */
function toTimestamp(value: Json, timeZone: string): Converted {
  const expected = 'a date-time such as 2026-07-14T09:00:00+02:00'
  if (typeof value !== 'string') return bad(expected)
  const match = timestampPattern.exec(value)
  if (match === null || !isCalendarDate(value)) return bad(expected)
  const [, day = '', hour = '', minute = '', second = '00', fraction = '', offset] = match
  const inRange = Number(hour) <= 23 && Number(minute) <= 59 && Number(second) <= 60
  const offsetInRange = offset === undefined || /^[Zz]$/.test(offset) || Number(offset.slice(1, 3)) <= 15
  if (!inRange || !offsetInRange) return bad(expected)
  return good(`${day} ${hour}:${minute}:${second}${fraction} ${offset === undefined ? timeZone : offset.toUpperCase()}`)
}

/**
 * Converts one value for a column. null and absent are both SQL null (design, section 5).
 * @param timeZone IANA zone of date-times without offset.
 */
export function convertValue(type: ColumnType, value: Json | undefined, timeZone: string): Converted {
  if (value === undefined || value === null) return good(null)
  switch (type) {
    case 'text':
      return toText(value)
    case 'bigint':
      return toBigint(value)
    case 'numeric':
      return toNumeric(value)
    case 'boolean':
      return toBoolean(value)
    case 'date':
      return toDate(value)
    case 'timestamptz':
      return toTimestamp(value, timeZone)
    case 'jsonb':
      return good(stringifyJson(value))
    default:
      return type satisfies never
  }
}
