// From a record as received to a row of its table, or the reason why it cannot be one. Pure.

import { createHash } from 'node:crypto'
import { convertValue } from '../../api/wire/convert.ts'
import { fieldAt, isObject, type Json, saysNothing, stringifyJson, textOf } from '../../api/wire/json.ts'
import { contentKey, keyText } from '../../catalog/keys.ts'
import type { Column, StreamDef } from '../../catalog/types.ts'
import { dayOf } from '../../date-time.ts'
import { once } from '../../memo.ts'
import type { Row } from '../../mirror/rows.ts'

/** Raised whenever a row would come out differently for the same record: everything is then projected anew. */
export const projectionVersion = 3

export type JsonObject = { readonly [key: string]: Json }

type Projected =
  | { readonly ok: true; readonly row: Row }
  | { readonly ok: false; readonly reason: string; readonly key: string }

/** Values of columns that are not in the record: path parameters, the requested date, the position in the answer. */
export type RequestValues = Readonly<Record<string, string | null>>

/** The value at a dotted path, as `fieldAt` finds it; undefined where there is none. */
export const valueAt = (record: Json | undefined, path: string): Json | undefined => fieldAt(record, stepsOf(path))

/** The members of a dotted path. */
const stepsOf = once((path: string): readonly string[] => path.split('.'))

/**
 * A short hash of a record's content, as text. Key order counts: a reordered record costs a comparison, never a
 * write.
 */
export const hashOf = (text: string): string => createHash('md5').update(text).digest('base64url')

/** The present value of a column without a path, or of its path. */
const sourceOf = (column: Column, record: Json, request: RequestValues): Json | undefined =>
  column.path === null ? request[column.name] : valueAt(record, column.path)

/** The first of a moment's members that says one, as a date-time. A day ends with its last second, also that of the year 9999. */
function momentIn(record: Json, { of, names }: NonNullable<Column['moment']>): string | undefined {
  for (const name of names) {
    const text = fieldAt(record, [name])
    const day = typeof text === 'string' ? dayOf(text) : null
    if (day !== null) return text === day ? `${day}T${of === 'start' ? '00:00' : '23:59:60'}` : String(text)
  }
  return undefined
}

/**
 * A column as it is looked up in each record of its stream: the members of its path, and its position in the key, -1
 * for none.
 */
type Lookup = { readonly column: Column; readonly steps: readonly string[] | null; readonly place: number }

const lookupsOf = once((stream: StreamDef): readonly Lookup[] =>
  stream.columns.map((column) => ({
    column,
    steps: column.path === null ? null : stepsOf(column.path),
    place: stream.key.indexOf(column.name),
  })),
)

/** The columns of the key, in its order; null where a part of it is not in the record. */
const keyLookupsOf = once((stream: StreamDef): readonly Lookup[] | null => {
  const own = lookupsOf(stream)
    .filter(({ steps, place }) => steps !== null && place >= 0)
    .sort((a, b) => a.place - b.place)
  return own.length === stream.key.length ? own : null
})

const shown = (value: Json | undefined): string => stringifyJson(value ?? null).slice(0, 100)

const ownPaths = ({ columns }: StreamDef): readonly string[] => columns.flatMap(({ path }) => path ?? [])

/** A document's key comes from the request: only its fields distinguish it from any other answer. */
export const hasOwnField = (stream: StreamDef, record: Json): boolean =>
  ownPaths(stream).some((path) => valueAt(record, path) !== undefined)

/** Projects a record whose JSON text is not known yet. */
export const projectRecord = (stream: StreamDef, record: Json, request: RequestValues, timeZone: string): Projected =>
  projectReceived(stream, { record, payload: stringifyJson(record) }, request, timeZone)

/**
 * Projects one record to its row.
 * @param received the record and its JSON text; only an object can be mirrored, except where columns come from
 *   the request.
 * @param request values for the columns that are not in the record.
 * @returns the row, or the reason (naming field, value and what was expected) with a key for the quarantine.
 */
export function projectReceived(
  stream: StreamDef,
  { record, payload }: { readonly record: Json; readonly payload: string },
  request: RequestValues,
  timeZone: string,
): Projected {
  const fail = (reason: string): Projected => ({
    ok: false,
    reason,
    key: quarantineKey(stream, record, request, timeZone) ?? contentKey(hashOf(payload)),
  })
  if (!isObject(record) && stream.columns.some((column) => column.path !== null))
    return fail(`Expected an object, got ${shown(record)}.`)
  const { reads } = stream
  // Of an optional document nothing may be left without its personal values. One that said nothing does not get here.
  const isCut = reads.kind === 'document' && reads.optional && saysNothing(record)
  if (reads.kind === 'document' && !isCut && !hasOwnField(stream, record))
    return fail(`Expected an object with one of ${ownPaths(stream).join(', ')}, got ${shown(record)}.`)

  const values: (string | null)[] = []
  const key: string[] = stream.key.map(() => '')
  for (const { column, steps, place } of lookupsOf(stream)) {
    const { name, moment } = column
    const value = moment ? momentIn(record, moment) : steps === null ? request[name] : fieldAt(record, steps)
    const converted = convertValue(column.type, value, timeZone)
    if (!converted.ok && column.lenient !== true && standsAlone(record, steps))
      return fail(`${column.path ?? column.name}: expected ${converted.expected}, got ${shown(value)}.`)
    const text = converted.ok ? converted.text : null
    values.push(text)
    if (place >= 0) {
      if (!text) return fail(`${column.path ?? column.name}: the key is missing.`)
      key[place] = text
    }
  }
  return { ok: true, row: { key, values, payload } }
}

/** Whether a value is the field itself, and not the id in place of an object. */
const standsAlone = (record: Json, steps: readonly string[] | null): boolean =>
  steps === null || steps.length === 1 || isObject(fieldAt(record, steps.slice(0, -1)))

/**
 * The key under which a record that cannot be mirrored is stored: that of its future good version, which then clears
 * it. Undefined where a part is missing or no good version could have it, because unrelated records must not share a
 * key.
 */
function quarantineKey(stream: StreamDef, record: Json, request: RequestValues, timeZone: string): string | undefined {
  const columns = stream.key.flatMap((name) => stream.columns.filter((column) => column.name === name))
  const parts = columns.map((column) => {
    const converted = convertValue(column.type, sourceOf(column, record, request), timeZone)
    return (converted.ok ? converted.text : null) ?? ''
  })
  return parts.includes('') ? undefined : keyText(parts)
}

/** The key columns of a list record, as text, or null when they are not usable. */
export function keyOf(stream: StreamDef, record: Json, timeZone: string): readonly string[] | null {
  const columns = keyLookupsOf(stream)
  if (columns === null) return null
  const parts: string[] = []
  for (const { column, steps } of columns) {
    const converted = convertValue(column.type, fieldAt(record, steps ?? []), timeZone)
    if (!converted.ok || !converted.text) return null
    parts.push(converted.text)
  }
  return parts
}

/**
 * Keys for records without a published key: their id if they have one, else a hash of the content; equal ones get a
 * counter.
 */
export function contentKeys(records: readonly Json[]): readonly string[] {
  const seen = new Map<string, number>()
  const bases = records.map((record) => textOf(valueAt(record, 'id')) || hashOf(canonical(record)))
  const taken = new Set(bases)
  return bases.map((base) => {
    let count = (seen.get(base) ?? 0) + 1
    // An own id may look like a counted one.
    while (count > 1 && taken.has(`${base}~${count}`)) count += 1
    seen.set(base, count)
    if (count === 1) return base
    taken.add(`${base}~${count}`)
    return `${base}~${count}`
  })
}

/** JSON text with sorted members, so that the same content always has the same key. `anyOrder`: with sorted elements, too. */
export function canonical(value: Json, anyOrder = false): string {
  if (Array.isArray(value)) {
    const elements = value.map((element) => canonical(element, anyOrder))
    return `[${(anyOrder ? elements.sort() : elements).join(',')}]`
  }
  if (!isObject(value)) return stringifyJson(value)
  const members = Object.keys(value).sort()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name] ?? null, anyOrder)}`).join(',')}}`
}
