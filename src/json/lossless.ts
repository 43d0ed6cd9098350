// Reads JSON without loss: a number that JavaScript would round keeps its digits.

import { isLosslessNumber, LosslessNumber, parse } from 'lossless-json'
import { canonicalDecimal } from '../decimal.ts'
import { exactNumber, mayBeInexact } from './plain.ts'

export { isLosslessNumber, LosslessNumber }

export type JsonObject = { [key: string]: Json }
export type Json = null | boolean | number | string | LosslessNumber | Json[] | JsonObject

/** Longer plain forms of numbers with an exponent are not written out. */
const longestPlain = 40

/**
 * A number where that keeps every digit and is written back without an exponent, else its digits. The same number is the
 * same value however it is spelt: `1E+1` is 10, as an id as well.
 */
function numberOrDigits(digits: string): number | LosslessNumber {
  const plain = canonicalDecimal(digits)
  if (plain === undefined || plain.length > longestPlain) return new LosslessNumber(digits)
  const number = exactNumber(digits)
  if (number !== undefined && String(number) === plain) return number
  const isRespelt = /e/i.test(digits) || !plain.includes('.')
  return new LosslessNumber(isRespelt ? plain : digits)
}

/** Parses JSON with a reader for its numbers. Of duplicate keys the last wins; `__proto__` is an ordinary own key. @throws SyntaxError */
export const parseWith = (text: string, parseNumber: (digits: string) => Json): Json =>
  parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) as Json

/** Parses JSON as Postgres gives it, and any other that is known to be whole. @throws SyntaxError */
export const readJson = (text: string): Json =>
  mayBeInexact(text) ? parseWith(text, numberOrDigits) : (JSON.parse(text) as Json)
