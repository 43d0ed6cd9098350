// The part of a record that a caller may see, and its tag for this caller. Pure.

import { createHmac } from 'node:crypto'
import { isObject, type Json, type JsonObject, parseJson, stringifyJson } from '../api/wire/json.ts'
import { holdsPerson, isOfPerson } from '../catalog/catalog.ts'
import { keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { lacksErased } from '../mirror/erasures.ts'
import { exactMember, hashPrefix, isHash } from '../privacy/hash.ts'
import { nobodyErased, Protector } from '../privacy/protect.ts'
import { notKnown } from './problem.ts'
import type { Caller } from './types.ts'
import { fieldMarks } from './writes/tags.ts'

/** Removes everything personal, as PERSONAL_DATA=drop would before it stores a record. */
const impersonal = new Protector({ mode: 'drop', columns: {}, hasher: null }, nobodyErased, true)

/** Why a caller may not read records of this stream at all; null: they may. */
export function refusalFor({ personal, companies }: Caller, stream: StreamDef): string | null {
  if (!isOfPerson(stream)) return null
  if (companies !== null) return 'A token that is limited to companies may not read users and their documents.'
  return personal ? null : 'Users and their documents need a token with --personal.'
}

/** The value without the mirror's substitutes for personal values that it does not hold; undefined: nothing is left. */
function withoutHashes(value: Json): Json | undefined {
  if (typeof value === 'string') return isHash(value) ? undefined : value
  if (Array.isArray(value)) return value.map(withoutHashes).filter((each) => each !== undefined)
  if (!isObject(value)) return value
  const shown = Object.entries(value).flatMap(([name, member]): [string, Json][] => {
    const kept = name === exactMember ? undefined : withoutHashes(member)
    return kept === undefined ? [] : [[name, kept]]
  })
  return Object.fromEntries(shown) as JsonObject
}

/** The record without what this caller may not see. Values that stand in place of others are still in it. */
const withRights = ({ personal }: Caller, stream: StreamDef, record: Json): Json =>
  personal ? record : impersonal.protect(stream, record)

/** A record of a stream as this caller may see it; null: nothing of it. */
export function present(caller: Caller, stream: StreamDef, record: Json): Json {
  if (refusalFor(caller, stream) !== null) return null
  if (!holdsPerson(stream)) return record
  return withoutHashes(withRights(caller, stream, record)) ?? null
}

/** Whether JSON text may hold substitutes for personal values. */
const mayHoldHashes = (text: string): boolean => text.includes(hashPrefix) || text.includes(exactMember)

/**
 * JSON text of a record as this caller may see it, from its payload.
 * @throws Refusal 503 where its personal values were erased and not read again
 */
export function presentText(caller: Caller, stream: StreamDef, payload: string): string {
  if (lacksErased(payload)) throw notKnown(`Records of ${stream.name} are being read again.`)
  if (!holdsPerson(stream)) return payload
  if (mayHoldHashes(payload)) return stringifyJson(present(caller, stream, parseJson(payload).value))
  return caller.personal ? payload : impersonal.text(stream, payload)
}

/** The same of an array of records. */
export function presentArray(caller: Caller, stream: StreamDef, payloads: string): string {
  if (!holdsPerson(stream) || (caller.personal && !mayHoldHashes(payloads))) return payloads
  const { value } = parseJson(payloads)
  return stringifyJson(Array.isArray(value) ? value.map((record) => present(caller, stream, record)) : [])
}

/** The tag of what is answered, without quotes: a keyed hash. */
export function bodyTag({ tagKey }: Pick<Caller, 'tagKey'>, ...parts: readonly (string | Buffer)[]): string {
  const digest = createHmac('sha256', tagKey)
  for (const part of parts) digest.update(part).update('\n')
  return digest.digest('base64url').slice(0, tagLength)
}
const tagLength = 27

export type RecordId = { readonly stream: StreamDef; readonly key: readonly string[] }

/** Ends a tag with a keyed hash of it and of its record, so that what was not served of that record is not taken for it. */
const sealed = (caller: Caller, { stream, key }: RecordId, tag: string): string =>
  `${tag}-${bodyTag(caller, stream.name, keyText(key), tag)}`

/** What was sealed in the tag of a record; null: the record was never served to this caller under it. */
export function sealedIn(caller: Caller, record: RecordId, tag: string): string | null {
  const content = tag.slice(0, -tagLength - 1)
  return sealed(caller, record, content) === tag ? content : null
}

/**
 * The tag, without quotes, of a record as it is served to who may write it: what If-Match is compared with. It does not depend on
 * the spaces and the order in which the record is stored.
 */
export const recordTag = (caller: Caller, record: RecordId, served: Json): string =>
  sealed(caller, record, bodyTag(caller, stringifyJson(served)) + fieldMarks(record.stream, served))

/** The same from the text of the answer. A read-only caller never sends it with a write, so the text is enough. */
export const textTag = (caller: Caller, record: RecordId, text: string): string =>
  caller.write ? recordTag(caller, record, parseJson(text).value) : bodyTag(caller, text)
