// What is written of a record, said of its value: slow, and simple to read. The program does the same to its text.

import { convertValue } from '../../src/api/wire/convert.ts'
import { isObject, type Json, textOf } from '../../src/api/wire/json.ts'
import { embeddedPerson } from '../../src/catalog/catalog.ts'
import type { StreamDef } from '../../src/catalog/types.ts'
import { exactMember, isHash, normalValue } from '../../src/privacy/hash.ts'
import { idOnly, type Node, stays } from '../../src/privacy/nodes.ts'
import { type Erased, Protector } from '../../src/privacy/protect.ts'

/** Makers of records without anything personal, by who is erased. */
const droppings = new Map<Erased, Protector>()

/** A record of a stream as it may be stored. */
export function protectedValue(protector: Protector, erased: Erased, stream: StreamDef, record: Json): Json {
  const person = embeddedPerson(stream)
  const node = protector.nodeOf(stream)
  const isOfPerson = person !== undefined || node.rest !== null || node.isUser
  if (!isObject(record) && record !== null && isOfPerson && protector.rules.mode !== 'keep') return null
  const named = person !== undefined && isObject(record) ? [record[person.path]].flat(9) : []
  const isGone = named.some((each) => erased.users.has(textOf(isObject(each) ? each.id : each) ?? ''))
  if (!isGone) return walk(protector, '', record, node) ?? null
  const dropping = droppings.get(erased) ?? new Protector({ mode: 'drop', columns: {}, hasher: null }, erased)
  droppings.set(erased, dropping)
  return walk(dropping, '', record, dropping.nodeOf(stream)) ?? null
}

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
    if (node.act === 'keep') return scalarAs(value, node)
    return node.act === 'hash' && !node.textOnly ? rules.hasher?.of(String(textOf(value))) : undefined
  }
  if (node.members === null && node.act !== 'keep') return undefined
  if (node.isUser && rules.erased.has(textOf(value.id) ?? '')) return { id: value.id ?? null }
  const kept: [string, Json][] = []
  const exact: [string, Json][] = []
  for (const [member, inner] of Object.entries(value)) {
    const own = walk(protector, member, inner, memberOf(protector, member, node))
    if (own !== undefined) kept.push([member, own])
    const isHashed = typeof inner === 'string' && typeof own === 'string' && own !== inner && own !== '…'
    if (isHashed && normalValue(member, inner) !== inner) exact.push([member, rules.hasher?.of(inner) ?? ''])
  }
  if (exact.length > 0) kept.push([exactMember, Object.fromEntries(exact)])
  const isEmptied = kept.length === 0 && Object.keys(value).length > 0
  return isEmptied && node.act !== 'keep' ? undefined : (Object.fromEntries(kept) as Json)
}

/** A number, true or false in a field that is not personal. */
function scalarAs(value: Json, node: Node): Json | undefined {
  if (node.type !== null) {
    const takesIt = typeof value === 'boolean' || node.type === 'bigint' || node.type === 'numeric'
    return takesIt ? value : '…'
  }
  return standsForRecord(node) && !isName(node, String(textOf(value))) ? undefined : value
}

const standsForRecord = ({ members, rest }: Node): boolean => rest !== null && members !== null && members.size > 0

const isName = ({ members }: Node, text: string): boolean =>
  (members?.has('id') ? /^\d{1,18}$/ : /^[a-z]{2}([-_][a-z]{2})?$/i).test(text)

function textAs({ rules }: Protector, name: string, value: string, node: Node): Json | undefined {
  let { act } = node
  if (act === 'keep') {
    if (node.type !== null)
      return value.trim() === '' || convertValue(node.type, value, 'Europe/Paris').ok ? value : '…'
    if (!standsForRecord(node) || isName(node, value)) return value
    if (rules.mode === 'drop') return undefined
    act = rules.mode
  }
  if (value.trim() === '') return value
  if (act === 'drop') return undefined
  return isHash(value) ? value : rules.hasher?.of(normalValue(name, value))
}

function memberOf({ rules }: Protector, name: string, { members, rest }: Node): Node {
  if (members?.has(name)) return members.get(name) ?? stays
  if (members !== null && rest !== null) return name === 'id' && rest.textOnly ? idOnly : rest
  return rules.byName.get(name) ?? stays
}
