// The part of a record that a caller may see, and its tag for this caller. Pure.

import { createHash } from 'node:crypto'
import { isObject, type Json, type JsonObject, parseJson, stringifyJson } from '../api/wire/json.ts'
import { holdsPerson } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { exactMember, hashPrefix, isHash } from '../state/privacy/hash.ts'
import { nobodyErased, Protector } from '../state/privacy/protect.ts'
import type { Caller } from './types.ts'
import { fieldMarks } from './writes/tags.ts'

/** Removes everything personal, as PERSONAL_DATA=drop would before it stores a record. */
const impersonal = new Protector({ mode: 'drop', columns: {}, hasher: null }, nobodyErased, true)

/** Records only about a person: users and their documents. */
const isOfPerson = ({ person, document }: StreamDef): boolean => person === true || document === true

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

/** JSON text of a record as this caller may see it, from its payload. */
export function presentText(caller: Caller, stream: StreamDef, payload: string): string {
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

/** What two callers must share to see the same. Part of tags, because a cached answer belongs to one caller. */
const rightsOf = ({ role, companies, personal, write }: Caller): string =>
  JSON.stringify([role, companies, personal, write])

/** The tag of what is answered, without quotes. */
export function bodyTag(caller: Caller, ...parts: readonly (string | Buffer)[]): string {
  const digest = createHash('sha256').update(rightsOf(caller))
  for (const part of parts) digest.update('\n').update(part)
  return digest.digest('base64url').slice(0, 27)
}

/**
 * The tag, without quotes, of a record as it is served to who may write it: what If-Match is compared with. It does not depend on
 * the spaces and the order in which the record is stored.
 */
export const recordTag = (caller: Caller, stream: StreamDef, served: Json): string =>
  bodyTag(caller, stringifyJson(served)) + fieldMarks(stream, served)

/** The same from the text of the answer. A read-only caller never sends it with a write, so the text is enough. */
export const textTag = (caller: Caller, stream: StreamDef, text: string): string =>
  caller.write ? recordTag(caller, stream, parseJson(text).value) : bodyTag(caller, text)
