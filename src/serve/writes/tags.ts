// If-Match without stored versions: behind its hash, the tag of a record carries a mark of each field that an update can
// write. From the marks follows which fields of that version are as sent now, or as the mirror shows them now; that is all
// a three-way merge asks of its base. Pure.

import { createHash } from 'node:crypto'
import { isObject, type Json, type JsonObject, stringifyJson, textOf } from '../../api/wire/json.ts'
import type { BodyField, StreamDef, WriteDef } from '../../catalog/types.ts'
import { writes } from '../../catalog/writes.ts'
import { canonicalDecimal } from '../../decimal.ts'
import { shownValue, writeShape } from '../../outbox/values.ts'

/** 36 bits of a hash: two values of a field have the same mark once in 70 billion. */
const markLength = 6
/** Stands for a field that the record as served does not show. */
const unseen = '.'.repeat(markLength)

/** A value so that those which `sameValue` takes for one have one text. */
function canonical(field: BodyField, value: Json): string {
  const shape = writeShape(field, value)
  if (isObject(shape)) {
    const naming = (field.members ?? []).filter((member) => member.required)
    return naming.length === 0
      ? stringifyJson(shape)
      : JSON.stringify(naming.map((member) => canonical(member, shape[member.name] ?? null)))
  }
  const text = textOf(shape)?.trim()
  if (text === undefined) return JSON.stringify(shape)
  if (field.type === 'number' || field.type === 'integer') return `=${canonicalDecimal(text) ?? text}`
  return `=${field.type === 'email' ? text.toLowerCase() : text}`
}

const markOf = (field: BodyField, value: Json | undefined): string =>
  value === undefined
    ? unseen
    : createHash('sha256').update(canonical(field, value)).digest('base64url').slice(0, markLength)

const updateOf = (stream: StreamDef): WriteDef | undefined =>
  writes.find((write) => write.kind === 'update' && write.stream === stream.name)

/**
 * The marks of a record as it is served, for the end of its tag: `"HASH-MARKS"`. Empty for records that can't be
 * updated.
 */
export function fieldMarks(stream: StreamDef, served: Json): string {
  const marks = (updateOf(stream)?.body ?? []).map((field) => markOf(field, shownValue(field, served)))
  return marks.length === 0 ? '' : `-${marks.join('')}`
}

const listed = /(?:^|,)\s*(W\/)?"([^"]*)"\s*(?=,|$)/g

/** The tags of an If-Match header, without quotes. Weak ones match nothing (RFC 9110, 13.1.1). `*`: any version. */
export function matchTags(header: string): readonly string[] | '*' {
  if (header.trim() === '*') return '*'
  return [...header.matchAll(listed)].flatMap(([, weak, tag = '']) => (weak === undefined ? [tag] : []))
}

/** Whether an If-None-Match header names this tag. Weak ones count (RFC 9110, 13.1.2): a proxy may have marked it so. */
export const namesTag = (header: string, tag: string): boolean =>
  header.trim() === '*' || [...header.matchAll(listed)].some(([, , each]) => each === tag)

type Versions = {
  /** The record as the mirror shows it now, and as it would be served. */
  readonly served: Json
  /** The fields to write. */
  readonly wishes: Readonly<JsonObject>
  /** Fields that are never served: of them the mirror's value is the base. */
  readonly hidden: ReadonlySet<string>
}

/**
 * The base of an update for a record that was served with this tag: for each field its value in that version, or, where it
 * is neither what is sent now nor what is served now, a text that equals no value. Null: the tag is of another kind.
 */
export function baseOf(write: WriteDef, tag: string, { served, wishes, hidden }: Versions): JsonObject | null {
  const marks = tag.slice(tag.length - write.body.length * markLength)
  if (tag.charAt(tag.length - marks.length - 1) !== '-' || marks.length !== write.body.length * markLength) return null
  return Object.fromEntries(
    write.body.flatMap((field, index): [string, Json][] => {
      const wish = wishes[field.name]
      const mark = marks.slice(index * markLength, (index + 1) * markLength)
      if (wish === undefined || mark === unseen || hidden.has(field.name)) return []
      const now = shownValue(field, served)
      if (now !== undefined && markOf(field, now) === mark) return [[field.name, writeShape(field, now)]]
      return [[field.name, markOf(field, wish) === mark ? wish : `the value under tag ${mark}`]]
    }),
  )
}
