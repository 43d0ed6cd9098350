// What is written of a record, said of its value: slow, and simple to read. The program does the same to its text.

import { isObject, type Json, textOf } from '../../src/api/wire/json.ts'
import { embeddedPerson } from '../../src/catalog/catalog.ts'
import type { StreamDef } from '../../src/catalog/types.ts'
import { exactMember, isHash, normalValue } from '../../src/state/privacy/hash.ts'
import { type Node, stays } from '../../src/state/privacy/nodes.ts'
import type { Erased, Protector } from '../../src/state/privacy/protect.ts'

/** A record of a stream as it may be stored. */
export function protectedValue(protector: Protector, erased: Erased, stream: StreamDef, record: Json): Json {
  const person = embeddedPerson(stream)
  const node = protector.nodeOf(stream)
  const isOfPerson = person !== undefined || node.rest !== null || node.isUser
  if (!isObject(record) && !Array.isArray(record) && record !== null && isOfPerson)
    return protector.rules.mode === 'keep' ? record : null
  const embedded = person !== undefined && isObject(record) ? record[person.path] : undefined
  const id = textOf(isObject(embedded) ? embedded.id : embedded)
  const isGone = id !== undefined && erased.users.has(id)
  const words = isGone ? (person?.texts ?? []).map(({ field }) => field) : []
  return walk(protector, '', isObject(record) ? without(record, words) : record, node) ?? null
}

const without = (record: { readonly [key: string]: Json }, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))

/** Undefined: it is dropped. */
export function walk(protector: Protector, name: string, value: Json, node: Node): Json | undefined {
  const { rules } = protector
  if (node.isCut) return undefined
  if (typeof value === 'string') return textAs(protector, name, value, node)
  if (value === null) return null
  if (Array.isArray(value)) {
    // Where a single value is known to stand, a list is of another shape.
    const each = node.members?.size === 0 && node.rest !== null && node.act === 'keep' ? node.rest : node
    const kept = value.map((item) => walk(protector, name, item, each)).filter((item) => item !== undefined)
    return value.length > 0 && kept.length === 0 ? undefined : kept
  }
  if (!isObject(value)) {
    if (node.act === 'keep') return value
    return node.act === 'hash' && !node.textOnly ? rules.hasher?.of(String(textOf(value))) : undefined
  }
  if (node.members === null && node.act !== 'keep') return undefined
  if (node.isUser && rules.erased.has(textOf(value.id) ?? '')) return { id: value.id ?? null }
  const kept: [string, Json][] = []
  const exact: [string, Json][] = []
  for (const [member, inner] of Object.entries(value)) {
    const own =
      member === exactMember
        ? exactAs(protector, inner, node)
        : walk(protector, member, inner, memberOf(protector, member, node))
    if (own !== undefined) kept.push([member, own])
    const isHashed = typeof inner === 'string' && typeof own === 'string' && own !== inner && own !== '…'
    if (member !== exactMember && isHashed && normalValue(member, inner) !== inner)
      exact.push([member, rules.hasher?.of(inner) ?? ''])
  }
  if (exact.length > 0) {
    const [, held] = kept.find(([member]) => member === exactMember) ?? []
    kept.push([exactMember, { ...(isObject(held) ? held : {}), ...Object.fromEntries(exact) }])
  }
  const isEmptied = kept.length === 0 && Object.keys(value).length > 0
  return isEmptied && node.act !== 'keep' ? undefined : (Object.fromEntries(kept) as Json)
}

function textAs({ rules }: Protector, name: string, value: string, node: Node): Json | undefined {
  if (node.act === 'keep' && node.isTyped) return /^\s*(?:[-+.,:\dTZ ]{0,40}|true|false)\s*$/.test(value) ? value : '…'
  let { act } = node
  if (act === 'keep') {
    if (!node.isUser || node.members === null || rules.mode === 'keep' || /^\d{1,18}$/.test(value)) return value
    if (rules.mode === 'drop') return undefined
    act = rules.mode
  }
  if (value.trim() === '') return value
  if (act === 'drop') return undefined
  return isHash(value) ? value : rules.hasher?.of(normalValue(name, value))
}

/** Of the hashes of exact values those of fields that are not dropped. */
function exactAs(protector: Protector, hashes: Json, node: Node): Json | undefined {
  if (!isObject(hashes)) return undefined
  const all = Object.entries(hashes)
  const kept = all.filter(
    ([name, hash]) => typeof hash === 'string' && isHash(hash) && memberOf(protector, name, node).act !== 'drop',
  )
  return all.length > 0 && kept.length === 0 ? undefined : (Object.fromEntries(kept) as Json)
}

function memberOf({ rules }: Protector, name: string, { members, rest }: Node): Node {
  if (members?.has(name)) return members.get(name) ?? stays
  if (members !== null && rest !== null) return name === 'id' && rest.textOnly ? stays : rest
  return rules.byName.get(name) ?? stays
}
