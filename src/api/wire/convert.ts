// From a JSON value to the text form of a Postgres value, exactly, or a reason why not. Pure.

import type { ColumnType } from '../../catalog/types.ts'
import { dateTimeForSql, dayOf, wallClockForSql } from '../../date-time.ts'
import { canonicalDecimal } from '../../decimal.ts'
import { type Json, stringifyJson, textOf } from './json.ts'

type Converted = { readonly ok: true; readonly text: string | null } | { readonly ok: false; readonly expected: string }

const good = (text: string | null): Converted => ({ ok: true, text })
const nothing = good(null)
const yes = good('true')
const no = good('false')
const bad = (expected: string): Converted => ({ ok: false, expected })

/**
 * Text that may be a number, without white space around it; for true, false and objects, text that never looks like
 * one.
 */
const numberText = (value: Json): string => String(textOf(value)).trim()

const wholeNumber = 'a whole number of at most 64 bits'
const integerPattern = /^-?\d{1,19}$/
const decimalPattern = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$/

function toBigint(value: Json): Converted {
  if (Number.isSafeInteger(value)) return good(String(value))
  const whole = canonicalDecimal(numberText(value))
  if (whole === undefined || !integerPattern.test(whole)) return bad(wholeNumber)
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

const dateForm = 'a date as YYYY-MM-DD'
const dateTimeForm = 'a date-time such as 2026-07-14T09:00:00+02:00'

function toDate(value: Json): Converted {
  const day = typeof value === 'string' ? dayOf(value) : null
  return day === null ? bad(dateForm) : good(day)
}

function toTimestamp(value: Json, forSql: (text: string) => string | null): Converted {
  const text = typeof value === 'string' ? forSql(value) : null
  return text === null ? bad(dateTimeForm) : good(text)
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
      return toTimestamp(value, (text) => dateTimeForSql(text, timeZone))
    case 'timestamp':
      return toTimestamp(value, wallClockForSql)
    case 'jsonb':
      return good(stringifyJson(value))
    default:
      return type satisfies never
  }
}
