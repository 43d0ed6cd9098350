// Whether a value that the API shows can be the one that was sent. An API may rewrite values: letters, white space, digits after the
// cents, the spelling of an instant, the end of a long text. So values are compared in a normal form. Pure.

import { isObject, type Json, stringifyJson, textOf } from '../api/wire/json.ts'
import type { BodyField } from '../catalog/types.ts'
import { dayOf, instantOf } from '../date-time.ts'
import { canonicalDecimal } from '../decimal.ts'
import { writeShape } from './values.ts'

export type Likeness =
  /** The same value in normal form. */
  | 'same'
  /** Its beginning, long enough to be a text that was cut off. */
  | 'cut'
  | 'differs'
  /** It cannot be compared: it is not shown, or in another shape. */
  | 'unsaid'

/** The shortest beginning that counts as a text cut off. */
const shortestCut = 10

/** A text in normal form: NFKD, lower case, single spaces. Its beginning is the normal form of the beginning of the text. */
export function normalText(text: string): string {
  const folded = text.normalize('NFKD').toUpperCase().toLowerCase().replaceAll('ς', 'σ')
  return folded.normalize('NFKD').replace(/\s+/gu, ' ').trim()
}

/** The rest of a character that was cut: marks without their letter, half of a pair, invalid bytes. */
const frayedEnd = /[\p{M}\p{Surrogate}\ufffd\s]+$/u

const digitsOf = (decimal: string): { readonly digits: bigint; readonly decimals: number } => {
  const [whole = '', fraction = ''] = decimal.split('.')
  return { digits: BigInt(whole + fraction), decimals: fraction.length }
}

/** Whether two decimals are less than a cent apart: an API may round up or down. */
function sameToTheCent(left: string, right: string): boolean {
  const [a, b] = [digitsOf(left), digitsOf(right)]
  const decimals = Math.max(a.decimals, b.decimals, 2)
  const scaled = (of: typeof a): bigint => of.digits * 10n ** BigInt(decimals - of.decimals)
  const apart = scaled(a) - scaled(b)
  return (apart < 0n ? -apart : apart) < 10n ** BigInt(decimals - 2)
}

function numbersAlike({ type }: BodyField, sent: string, shown: string): Likeness {
  const [a, b] = [canonicalDecimal(sent), canonicalDecimal(shown)]
  if (a === undefined || b === undefined) return 'unsaid'
  return (type === 'integer' ? a === b : sameToTheCent(a, b)) ? 'same' : 'differs'
}

const dayMs = 86_400_000

/** A day that returns as an instant is the midnight of some time zone. */
function daysAlike(sent: string, shown: string, timeZone: string): Likeness {
  const [day, other] = [dayOf(sent), dayOf(shown.trim())]
  if (day === null || other === null) return 'unsaid'
  if (day === other) return 'same'
  const instant = instantOf(shown.trim(), timeZone)
  const midnight = instantOf(`${day}T00:00:00Z`, timeZone)
  return instant !== null && midnight !== null && Math.abs(instant - midnight) < dayMs ? 'same' : 'differs'
}

/** The zones farthest ahead of and behind UTC. Their names have the opposite sign. */
const outermostZones = ['Etc/GMT-14', 'Etc/GMT+12'] as const

/** Whether a date-time is this instant. Without offset it is in the configured time zone, or else maybe in another. */
export function instantsAlike(sent: string, shown: string, timeZone: string): Likeness {
  const [instant, other] = [instantOf(sent, timeZone), instantOf(shown.trim(), timeZone)]
  if (instant === null || other === null) return 'unsaid'
  if (instant === other) return 'same'
  const [earliest, latest] = outermostZones.map((zone) => instantOf(shown.trim(), zone) ?? other)
  return Number(earliest) <= instant && instant <= Number(latest) ? 'unsaid' : 'differs'
}

function textsAlike(sent: string, shown: string): Likeness {
  const [a, b] = [normalText(sent), normalText(shown)]
  if (a === b) return 'same'
  const decimal = canonicalDecimal(a)
  if (decimal !== undefined && decimal === canonicalDecimal(b)) return 'same'
  const rest = b.replace(frayedEnd, '')
  if (!a.startsWith(rest)) return 'differs'
  return rest.length >= shortestCut ? 'cut' : 'unsaid'
}

/** The likeness of the whole, from that of its parts. */
export const leastAlike = (likenesses: readonly Likeness[]): Likeness =>
  (['differs', 'unsaid', 'cut'] as const).find((each) => likenesses.includes(each)) ?? 'same'

/** Objects are compared by the members that identify them. */
function objectsAlike(field: BodyField, sent: Json, shown: Json, timeZone: string): Likeness {
  const naming = (field.members ?? []).filter((member) => member.required)
  if (!isObject(sent) || !isObject(shown) || naming.length === 0)
    return stringifyJson(sent) === stringifyJson(shown) ? 'same' : 'unsaid'
  return leastAlike(naming.map((member) => likeness(member, sent[member.name], shown[member.name], timeZone)))
}

/** Compares a shown value of a field with the sent one. `timeZone`: that of date-times without offset. */
export function likeness(
  field: BodyField,
  sent: Json | undefined,
  shown: Json | undefined,
  timeZone: string,
): Likeness {
  if (sent === undefined || sent === null || shown === undefined || shown === null) return 'unsaid'
  if (field.type === 'object') return objectsAlike(field, writeShape(field, sent), writeShape(field, shown), timeZone)
  const [a, b] = [sent, shown].map((value) => textOf(isObject(value) ? writeShape(field, value) : value))
  if (a === undefined || b === undefined) return 'unsaid'
  if (field.type === 'number' || field.type === 'integer') return numbersAlike(field, a, b)
  return field.type === 'date' ? daysAlike(a, b, timeZone) : textsAlike(a, b)
}

/** Whether the API may show this value for the sent one. */
export const isStoredAs = (field: BodyField, sent: Json, shown: Json, timeZone: string): boolean =>
  ['same', 'cut'].includes(likeness(field, sent, shown, timeZone))
