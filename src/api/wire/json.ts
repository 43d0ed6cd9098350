// JSON as it comes from outside, read without loss (`json/lossless.ts`) and within limits; text that Postgres cannot store is
// cleaned. Knows nothing of HTTP.

import { BoatMirrorError } from '../../errors.ts'
import { backslash, closeArray, closeObject, comma, openArray, openObject, quote } from '../../json/characters.ts'
import {
  isLosslessNumber,
  type Json,
  type JsonObject,
  LosslessNumber,
  parseWith,
  readJson,
} from '../../json/lossless.ts'
import { stringifyJson } from '../../json/plain.ts'

export { isLosslessNumber, type Json, type JsonObject, LosslessNumber, stringifyJson }

/** Deeper nesting than this is refused: JSON.stringify and recursive readers would overflow the stack. */
export const maxDepth = 64

/**
 * Replaces bytes that are invalid in the answer's character set: two unpaired surrogates, which no API sends, so that
 * it differs from a U+FFFD sent by the API.
 */
export const lostCharacter = '\udfff\udffd'

/**
 * More values than this are refused: a megabyte of `{},{},…` becomes a hundred megabytes of objects. Real records need more
 * than ten characters a value, so that the largest answer allowed holds fewer.
 */
export const maxValues = 2_000_000

// NUL and halves of surrogate pairs, escaped; whole pairs match too, which only costs a look.
const unstorableEscape = /\\u(?:0000|[dD][89a-fA-F])/
const unstorableCharacters = /\udfff\udffd|\0|\p{Surrogate}/gu
const hasUnstorableCharacter = /\0|\p{Surrogate}/u

/**
 * Parses JSON. Numbers that a JavaScript number holds exactly are numbers, others `LosslessNumber`, whole ones and those with
 * an exponent in plain digits where these are not too many. Of duplicate keys
 * the last wins; `__proto__` is an ordinary own key. NUL and lone surrogates in texts and keys become U+FFFD.
 * @returns the value, and how many characters were replaced
 * @throws BoatMirrorError API_NOT_JSON, or API_TOO_LARGE for too many values or levels. Neither quotes the text.
 */
export function parseJson(text: string): { value: Json; sanitized: number } {
  const source = text.startsWith('\ufeff') ? text.slice(1) : text
  inspect(source)
  const value = parseText(source, readJson)
  if (!unstorableEscape.test(source) && source.isWellFormed()) return { value, sanitized: 0 }
  const counter = { replaced: 0 }
  return { value: sanitize(value, counter), sanitized: counter.replaced }
}

/**
 * Parses JSON to be sent back: nothing in texts is replaced, and every number is a `LosslessNumber`, so that 1.10 stays 1.10.
 * @throws BoatMirrorError as `parseJson`
 */
export function parseExact(text: string): Json {
  const source = text.startsWith('\ufeff') ? text.slice(1) : text
  inspect(source)
  return parseText(source, (text) => parseWith(text, (digits) => new LosslessNumber(digits)))
}

/** A value of `parseExact` as `parseJson` would have read it, which Postgres can store. */
export const asRead = (exact: Json): Json => parseJson(stringifyJson(exact)).value

/** The members that lead to a text, or its key, of which a test is true: none where that is the value itself; null: there is none. */
export function findText(value: Json, test: (text: string) => boolean): readonly string[] | null {
  if (typeof value === 'string') return test(value) ? [] : null
  if (!Array.isArray(value) && !isObject(value)) return null
  for (const [key, item] of Object.entries(value)) {
    const below = test(key) ? [] : findText(item, test)
    if (below !== null) return [key, ...below]
  }
  return null
}

/** Whether a test is true of a text in the value, keys included. */
export const someText = (value: Json, test: (text: string) => boolean): boolean => findText(value, test) !== null

/** Whether Postgres can store the text: it holds neither NUL nor half of a surrogate pair. */
export const isStorable = (text: string): boolean => !hasUnstorableCharacter.test(text)

function parseText(source: string, parse: (text: string) => Json): Json {
  try {
    return parse(source)
  } catch {
    // The parser's own message quotes the text, which may hold personal data; length is all we keep.
    throw new BoatMirrorError('API_NOT_JSON', `The text (${source.length} characters) is not JSON, or is cut off.`)
  }
}

/**
 * Refuses JSON that is nested too deep or has too many values. Scans outside of texts, without recursion: a depth of a million
 * must not overflow our stack either.
 * @throws BoatMirrorError API_TOO_LARGE
 */
function inspect(source: string): void {
  let depth = 0
  let values = 1
  for (let i = 0; i < source.length; i++) {
    const code = source.charCodeAt(i)
    if (code === quote) {
      i = endOfText(source, i)
      if (i === -1) break // an unfinished text: the parser reports it
    } else if (code === comma) values++
    else if (code === openObject || code === openArray) {
      values++
      if (++depth > maxDepth)
        throw new BoatMirrorError('API_TOO_LARGE', `JSON nested deeper than ${maxDepth} levels is refused.`)
    } else if (code === closeObject || code === closeArray) depth--
  }
  if (values > maxValues)
    throw new BoatMirrorError('API_TOO_LARGE', `JSON of more than ${maxValues} values is refused; this has ${values}.`)
}

/** Where the text that begins at a quote ends, at its other quote; -1: it does not. */
export function endOfText(source: string, start: number): number {
  let end = source.indexOf('"', start + 1)
  while (end !== -1) {
    let slash = end
    while (source.charCodeAt(slash - 1) === backslash) slash--
    if ((end - slash) % 2 === 0) return end
    end = source.indexOf('"', end + 1)
  }
  return -1
}

function sanitize(value: Json, counter: { replaced: number }): Json {
  if (typeof value === 'string') return sanitizeText(value, counter)
  if (Array.isArray(value)) return value.map((item) => sanitize(item, counter))
  if (!isObject(value)) return value
  // fromEntries defines own properties, so that a `__proto__` key stays an ordinary one.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [sanitizeText(key, counter), sanitize(item, counter)]),
  )
}

function sanitizeText(text: string, counter: { replaced: number }): string {
  if (!hasUnstorableCharacter.test(text)) return text
  return text.replace(unstorableCharacters, () => {
    counter.replaced++
    return '\ufffd'
  })
}

/** Whether an answer says nothing: no body, null, or an empty object. */
export const saysNothing = (body: Json | undefined): boolean =>
  body === undefined || body === null || (isObject(body) && Object.keys(body).length === 0)

/** Whether the value is a JSON object: neither null, nor an array, nor a lossless number. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value)
}

/** A scalar as text, digits unchanged (`42`, `true`, `abc`); undefined for null, objects and arrays. */
export function textOf(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return isLosslessNumber(value) ? value.value : undefined
}

/** The value at a dotted path of own keys (`meta.total`), undefined where a step is missing or not an object. */
export function get(value: Json | undefined, path: string): Json | undefined {
  let current = value
  for (const step of path.split('.')) {
    if (!isObject(current) || !Object.hasOwn(current, step)) return undefined
    current = current[step]
  }
  return current
}

/** Whether a value may be the id or code of a record. */
export const isName = (value: Json | undefined): value is string | number | LosslessNumber =>
  typeof value === 'string' || typeof value === 'number' || isLosslessNumber(value)

/**
 * The value of a field of a record, by the own keys that lead to it. A text or number that stands where an object with an
 * `id` or `code` is known, is that id or code: `{"user": 5}` says the same of `user.id` as `{"user": {"id": 5}}`.
 */
export function fieldAt(record: Json | undefined, steps: readonly string[]): Json | undefined {
  let value = record
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] as string
    if (!isObject(value)) return i > 0 && i === steps.length - 1 && isNaming(step) && isName(value) ? value : undefined
    value = Object.hasOwn(value, step) ? value[step] : undefined
  }
  return value
}

/** Members that name a record. */
export const isNaming = (member: string): boolean => member === 'id' || member === 'code'

const listPlace = /^(0|[1-9]\d{0,8})$/

/** The elements of a list, also of one that came as an object with numbers for names; undefined for anything else. */
export function elementsIn(value: Json | undefined): readonly Json[] | undefined {
  if (Array.isArray(value)) return value
  if (!isObject(value)) return undefined
  const names = Object.keys(value)
  // JavaScript orders these names by number, whatever their order in the text.
  return names.length > 0 && names.every((name) => listPlace.test(name)) ? Object.values(value) : undefined
}
