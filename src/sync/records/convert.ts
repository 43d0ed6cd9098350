// From a JSON value to the text form of a Postgres value, exactly, or a reason why not. Pure.

import { type Json, stringifyJson, textOf } from '../../api/wire/json.ts'
import type { ColumnType } from '../../catalog/types.ts'

type Converted = { readonly ok: true; readonly text: string | null } | { readonly ok: false; readonly expected: string }

const good = (text: string | null): Converted => ({ ok: true, text })
const nothing = good(null)
const yes = good('true')
const no = good('false')
const bad = (expected: string): Converted => ({ ok: false, expected })

/** What may be a number, without white space around it; of true, false and objects nothing that looks like one. */
const numberText = (value: Json): string => String(textOf(value)).trim()

const wholeNumber = 'a whole number of at most 64 bits'
const integerPattern = /^-?\d{1,19}$/
const decimalPattern = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$/

function toBigint(value: Json): Converted {
  if (Number.isSafeInteger(value)) return good(String(value))
  const whole = numberText(value).replace(/\.0+$/, '')
  if (!integerPattern.test(whole)) return bad(wholeNumber)
  const number = BigInt(whole)
  return BigInt.asIntN(64, number) === number ? good(number.toString()) : bad(wholeNumber)
}

function toNumeric(value: Json): Converted {
  const text = numberText(value)
  return text.length <= 1_000 && decimalPattern.test(text) ? good(text) : bad('a decimal number')
}

function toBoolean(value: Json): Converted {
  if (value === true || value === 'true') return yes
  if (value === false || value === 'false') return no
  return bad('true or false')
}

function toText(value: Json): Converted {
  const text = textOf(value)
  return text === undefined ? bad('text') : good(text)
}

const datePattern = /^\d{4}-\d{2}-\d{2}/
// Hours to 23, seconds to 60 (a leap second has no fraction), offsets to 15:59: what Postgres takes, and no more.
const timestampPattern =
  /^(\d{4}-\d{2}-\d{2})[T ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?|60))?\s?(Z|z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?$/

const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** True for a day that exists in the calendar; the year 0000 is no year for Postgres. */
function isCalendarDate(text: string): boolean {
  if (!datePattern.test(text)) return false
  const year = Number(text.slice(0, 4))
  const month = Number(text.slice(5, 7))
  const day = Number(text.slice(8, 10))
  if (year === 0) return false
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day >= 1 && day <= (daysInMonth[month - 1] ?? 0) + (leap ? 1 : 0)
}

function toDate(value: Json): Converted {
  if (typeof value !== 'string' || !isCalendarDate(value)) return bad('a date as YYYY-MM-DD')
  const exact = value.length === 10 || timestampPattern.test(value)
  return exact ? good(value.slice(0, 10)) : bad('a date as YYYY-MM-DD')
}

/** RFC 3339 with an offset; without one the configured zone is meant. */
function toTimestamp(value: Json, timeZone: string): Converted {
  const expected = 'a date-time such as 2026-07-14T09:00:00+02:00'
  if (typeof value !== 'string') return bad(expected)
  const match = timestampPattern.exec(value)
  if (match === null || !isCalendarDate(value)) return bad(expected)
  const [, day, time, seconds = '00', offset] = match
  return good(`${day} ${time}:${seconds} ${offset?.toUpperCase() ?? timeZone}`)
}

/**
 * Converts one value for a column. null and absent are both SQL null.
 * @param timeZone IANA zone of date-times without offset.
 */
export function convertValue(type: ColumnType, value: Json | undefined, timeZone: string): Converted {
  if (value === undefined || value === null) return nothing
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
