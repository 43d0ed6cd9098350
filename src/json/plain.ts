// JSON without loss, by nothing but JavaScript: the writer, and what a program gives and gets. A number that JavaScript does not
// hold digit by digit is a `LosslessNumber` inside (`lossless.ts`), and text for a program.

import { canonicalDecimal } from '../decimal.ts'
import { BoatMirrorError } from '../errors.ts'

/** 16 or more characters of digits and point, an exponent, or six zeros after the point. */
const longNumber = /(?:^|[[:,\s])-?\d(?:[\d.]{15}|[\d.]*[eE]|\.0{6})/

/**
 * Whether JSON may hold a number that JSON.parse would change, or JSON.stringify would write with an exponent. What only looks
 * like one inside of a text costs time and no more.
 */
export const mayBeInexact = (text: string): boolean => longNumber.test(text)

/** A number of a program; a whole one beyond 2^53 − 1 as text or bigint, because JavaScript rounds it. */
export type Exact = number | string | bigint

/** The number of these digits; undefined: JavaScript has none that keeps them all, or takes its neighbours for the same. */
export function exactNumber(digits: string): number | undefined {
  const number = Number(digits)
  if (!Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number))) return undefined
  return canonicalDecimal(String(number)) === canonicalDecimal(digits) ? number : undefined
}

const textOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Parses JSON for a program: numbers that JavaScript holds exactly are numbers, others text. */
export const parseForProgram = (text: string): unknown =>
  JSON.parse(
    mayBeInexact(text)
      ? text.replace(textOrNumber, (part) =>
          part.startsWith('"') || exactNumber(part) !== undefined ? part : `"${part}"`,
        )
      : text,
  )

/**
 * JSON of what a program gives: a bigint becomes the text of its digits. `isDecimal`: fields that take decimals.
 * @throws BoatMirrorError USAGE, which names the field of a number that JavaScript has rounded
 */
export function givenJson(place: string, given: unknown, isDecimal: (field: string) => boolean = () => false): string {
  const check = (at: string, field: string, value: unknown): void => {
    if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value)) check(`${at}.${name}`, name, inner)
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return
    if (Number.isFinite(value) && (isDecimal(field) || !Number.isInteger(value))) return
    throw new BoatMirrorError('USAGE', `${at} is ${value}. JavaScript holds whole numbers exactly up to 2^53 − 1.`, {
      remedy: 'Give a larger one as text or as a bigint.',
    })
  }
  check(place, '', given)
  return JSON.stringify(given, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** Numbers of lossless-json carry this, whichever copy of it made them. */
const lossless = Symbol.for('lossless-json.LosslessNumber')

/** Writes JSON: every number digit by digit as it came. What has no JSON form is null. */
export function stringifyJson(value: unknown, indent = 0): string {
  const text = JSON.stringify(value, null, indent) ?? 'null'
  // The native writer is several times faster with nothing to ask; only a text that shows the numbers' own field is written again.
  if (!/"isLosslessNumber": ?true/.test(text)) return text
  const digits: string[] = []
  const mark = crypto.randomUUID()
  const marked = (_: string, part: unknown): unknown =>
    typeof part === 'object' && part !== null && lossless in part ? `${mark}${digits.push(String(part)) - 1}` : part
  return JSON.stringify(value, marked, indent).replace(
    new RegExp(`"${mark}(\\d+)"`, 'g'),
    (_, at) => digits[Number(at)] ?? '',
  )
}
