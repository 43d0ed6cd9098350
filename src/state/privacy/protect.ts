// One record as received → the record as it may be stored. Known fields are treated by their column, also inside
// other records; unknown fields are treated by their name, at any depth. Unknown fields of a person count as
// personal. This runs before anything else reads the record: hashes, rows, payloads, quarantine, samples. Pure.

import { get, isObject, type Json, textOf } from '../../api/wire/json.ts'
import { embeddedPerson, streamNamed, streams } from '../../catalog/catalog.ts'
import type { Column, StreamDef } from '../../catalog/types.ts'
import { isHash, normalValue } from './hash.ts'
import { type Action, actionOf, type PrivacySettings } from './rules.ts'

/**
 * The member beside hashed values that holds hashes of the exact values received, where their normal form differs:
 * with these an update sees whether a field was changed by another client.
 */
export const exactMember = '_exact'

/** Users and crew members of whom only the key is kept, by `keyText`. */
export type Erased = { readonly users: ReadonlySet<string>; readonly crew: ReadonlySet<string> }

export const nobodyErased: Erased = { users: new Set(), crew: new Set() }

/** What becomes of a value. */
type Node = {
  /** Of a value that is personal. */
  readonly act: Action
  /** For an unknown field: only text is hashed. */
  readonly textOnly: boolean
  /** For an object: the treatment of its members; null: they are treated by their names. */
  readonly members: ReadonlyMap<string, Node> | null
  /** What becomes of members that are not among them; null: they are treated by their names. */
  readonly rest: Node | null
  /** The object is a user, who may be erased. */
  readonly isUser: boolean
  /** The field is known to hold a number, a date or a truth value: any other text may be anything. */
  readonly isTyped: boolean
}

const stays: Node = { act: 'keep', textOnly: false, members: null, rest: null, isUser: false, isTyped: false }
const personal = (act: Action, textOnly = false): Node => ({ ...stays, act, textOnly })

/** Names without a meaning of their own. */
const vagueNames: ReadonlySet<string> = new Set(['id', 'code', 'name', 'type', 'number', 'year', 'country'])

const strength: Readonly<Record<Action, number>> = { keep: 0, hash: 1, drop: 2 }

/** What may stand for a number, a date or a truth value. */
const plainValue = /^\s*(?:[-+.,:\dTZ ]{0,40}|true|false)\s*$/

/** Stands for a text that cannot be what its field says, and is not kept. */
const cut = '…'

/** Sets a member; `__proto__` is an ordinary one. */
function put(target: { [key: string]: Json }, name: string, value: Json): void {
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}

/** A record that says something about one person, and nothing else. */
const isOfPerson = (stream: StreamDef): boolean =>
  stream.person === true ||
  stream.document === true ||
  (stream.parent !== undefined && stream.columns.some((column) => column.personal === true))

/** What is done by the settings; made once for each. */
export class Protector {
  readonly #settings: PrivacySettings
  readonly #erased: Erased
  readonly #nodes = new Map<StreamDef, Node>()
  readonly #byName = new Map<string, Node>()

  constructor(settings: PrivacySettings, erased: Erased = nobodyErased) {
    this.#settings = settings
    this.#erased = erased
    for (const stream of streams)
      for (const column of stream.columns) {
        const name = column.path?.split('.')[0] ?? ''
        const act = actionOf(settings, stream, column)
        if (column.personal !== true || vagueNames.has(name)) continue
        const before = this.#byName.get(name)
        if (before === undefined || strength[act] > strength[before.act]) this.#byName.set(name, personal(act))
      }
    for (const stream of streams) for (const place of placesOf(stream)) this.#byName.set(place, this.#nodeOf(stream))
  }

  /** The record as it may be stored; the record itself where nothing in it is personal. */
  protect(stream: StreamDef, record: Json): Json {
    const node = this.#nodeOf(stream)
    const person = embeddedPerson(stream)
    if (person !== undefined && this.#erased.users.size > 0 && isObject(record)) {
      const embedded = record[person.path]
      const id = textOf(isObject(embedded) ? embedded.id : embedded)
      const names = person.texts.map(({ field }) => field)
      if (id !== undefined && this.#erased.users.has(id) && names.some((name) => Object.hasOwn(record, name)))
        return (
          this.#walk('', Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name))), node) ??
          null
        )
    }
    // In a record of a person, a value that is not an object may be anything; elsewhere it is not known to be
    // personal.
    if (!isObject(record) && !Array.isArray(record) && record !== null && (isOfPerson(stream) || person !== undefined))
      return this.#settings.mode === 'keep' ? record : null
    return this.#walk('', record, node) ?? null
  }

  /** The value of a column as `protect` leaves it in its record. */
  protectColumn(stream: StreamDef, { path }: Column, value: Json): Json {
    if (path === null || value === null) return value
    const record = path.split('.').reduceRight<Json>((inner, member) => ({ [member]: inner }), value)
    return get(this.protect(stream, record), path) ?? null
  }

  /** The same of a value of which nothing is known but the names in it. */
  protectUnknown(value: Json): Json {
    return this.#walk('', value, stays) ?? null
  }

  #nodeOf(stream: StreamDef): Node {
    const known = this.#nodes.get(stream)
    if (known !== undefined) return known
    const made = this.#compile(stream)
    this.#nodes.set(stream, made)
    return made
  }

  #compile(stream: StreamDef): Node {
    const { mode } = this.#settings
    const members = new Map<string, Node>()
    const rest = isOfPerson(stream) && mode !== 'keep' ? personal(mode, true) : null
    for (const path of stream.alsoKnown ?? []) if (!path.includes('.')) members.set(path, stays)
    for (const child of streams)
      if (child.parent === stream.name && child.reads.kind === 'inside')
        members.set(child.reads.path, this.#nodeOf(child))
    for (const { path, stream: name } of stream.embeds ?? []) members.set(path, this.#nodeOf(streamNamed(name)))
    for (const column of stream.columns) {
      if (column.path === null) continue
      const [first = '', ...below] = column.path.split('.')
      const act = actionOf(this.#settings, stream, column)
      const isTyped = rest !== null && column.type !== 'text' && column.type !== 'jsonb'
      const kept = rest === null ? stays : { ...stays, members: new Map(), rest, isTyped }
      if (below.length === 0) members.set(first, act === 'keep' ? (members.get(first) ?? kept) : personal(act))
      // A person's country: the name beside its code has the same meaning.
      else if (act !== 'keep')
        members.set(first, {
          ...personal(act),
          members: new Map([[below.join('.'), personal(act)]]),
          rest: personal('drop'),
        })
      else if (!members.has(first)) members.set(first, { ...stays, members: new Map(), rest: null })
    }
    return { ...stays, members, rest, isUser: stream.person === true }
  }

  /** Undefined: it is dropped. */
  #walk(name: string, value: Json, node: Node): Json | undefined {
    if (typeof value === 'string') return this.#text(name, value, node)
    if (value === null) return null
    if (Array.isArray(value)) return this.#list(name, value, node)
    if (isObject(value)) return this.#object(value, node)
    if (node.act === 'keep') return value
    return node.act === 'hash' && !node.textOnly ? this.#hashed(String(textOf(value))) : undefined
  }

  #text(name: string, value: string, { act, members, isUser, isTyped }: Node): Json | undefined {
    if (act === 'keep') {
      if (isTyped) return plainValue.test(value) ? value : cut
      // A name in a field known to hold a user; an id is not a personal value.
      const { mode } = this.#settings
      if (!isUser || members === null || mode === 'keep' || /^\d{1,18}$/.test(value)) return value
      return mode === 'drop' ? undefined : this.#text(name, value, personal(mode))
    }
    if (value.trim() === '') return value
    if (act === 'drop') return undefined
    return isHash(value) ? value : this.#hashed(normalValue(name, value))
  }

  #hashed(text: string): string {
    const { hasher } = this.#settings
    if (hasher === null) throw new Error('A value must be hashed, but there is no key.')
    return hasher.of(text)
  }

  #list(name: string, values: readonly Json[], node: Node): Json | undefined {
    let changed = false
    const kept: Json[] = []
    // Where a single value is known to stand, a list is of another shape.
    const each = node.members?.size === 0 && node.rest !== null && node.act === 'keep' ? node.rest : node
    for (const value of values) {
      const own = this.#walk(name, value, each)
      if (own !== value) changed = true
      if (own !== undefined) kept.push(own)
    }
    if (!changed) return values as Json[]
    // A list of which nothing is left says nothing.
    return kept.length === 0 ? undefined : kept
  }

  #object(record: { readonly [key: string]: Json }, node: Node): Json | undefined {
    if (node.members === null && node.act !== 'keep') return undefined // an unknown shape
    if (node.isUser && this.#erased.users.size > 0 && this.#erased.users.has(textOf(record.id) ?? ''))
      return Object.keys(record).length === 1 ? record : { id: record.id ?? null }
    // Made anew from the first change on: an object from which members are deleted is slow to write.
    let kept: { [key: string]: Json } | null = null
    let exact: { [key: string]: Json } | null = null
    const names = Object.keys(record)
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string
      const value = record[name] as Json
      const known = node.members === null ? undefined : node.members.get(name)
      const own =
        name === exactMember ? this.#exact(value, node) : this.#walk(name, value, known ?? this.#unknown(name, node))
      if (own !== value && kept === null) {
        kept = {}
        for (let before = 0; before < i; before++)
          put(kept, names[before] as string, record[names[before] as string] as Json)
      }
      if (kept !== null && own !== undefined) put(kept, name, own)
      if (own === value || typeof value !== 'string' || typeof own !== 'string') continue
      if (normalValue(name, value) === value || own === cut) continue
      exact ??= {}
      put(exact, name, this.#hashed(value))
    }
    if (kept === null) return record
    if (exact !== null) kept[exactMember] = { ...(isObject(kept[exactMember]) ? kept[exactMember] : {}), ...exact }
    // A country of which nothing is left says nothing.
    return node.act !== 'keep' && Object.keys(kept).length === 0 ? undefined : kept
  }

  /** Of the hashes of exact values those of fields that are not dropped. */
  #exact(hashes: Json, node: Node): Json | undefined {
    if (!isObject(hashes)) return undefined
    const isKept = ([name, hash]: [string, Json]): boolean =>
      typeof hash === 'string' && isHash(hash) && (node.members?.get(name) ?? this.#unknown(name, node)).act !== 'drop'
    const all = Object.entries(hashes)
    const kept = all.filter(isKept)
    if (kept.length === all.length) return hashes
    return kept.length === 0 ? undefined : Object.fromEntries(kept)
  }

  #unknown(name: string, { members, rest }: Node): Node {
    if (members !== null && rest !== null) return name === 'id' && rest.textOnly ? stays : rest
    return this.#byName.get(name) ?? stays
  }
}

/** Members that may hold a person, a document or the crew in records of unknown shape. */
function placesOf(stream: StreamDef): readonly string[] {
  if (!isOfPerson(stream)) return []
  const { reads } = stream
  const endpoint =
    reads.kind === 'list' || reads.kind === 'collection' ? reads.list : reads.kind === 'document' ? reads.endpoint : ''
  const last = endpoint.split('/').at(-1) ?? ''
  const embedding = streams.flatMap(({ embeds = [] }) => embeds.filter((embed) => embed.stream === stream.name))
  return [...new Set([last, ...embedding.map(({ path }) => path)])].filter((name) => name !== '')
}
