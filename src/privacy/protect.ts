// One record as received → the record as it may be stored. Known fields are treated by their column, also inside
// other records; unknown fields are treated by their name, at any depth. Unknown fields of a person count as
// personal. This runs before anything else reads the record: hashes, rows, payloads, quarantine, samples. Pure.

import { get, isObject, type Json, parseJson, stringifyJson, textOf } from '../api/wire/json.ts'
import { embeddedPerson, isOfPerson, streamNamed, streams } from '../catalog/catalog.ts'
import type { ColumnType, StreamDef } from '../catalog/types.ts'
import { type Node, personal, Rules, stays, typed } from './nodes.ts'
import { type Action, actionOf, type PrivacySettings } from './rules.ts'
import { written } from './walk.ts'

/** Users and crew members of whom only the key is kept, by `keyText`. */
export type Erased = { readonly users: ReadonlySet<string>; readonly crew: ReadonlySet<string> }

export const nobodyErased: Erased = { users: new Set(), crew: new Set() }

/** Names without a meaning of their own. */
const vagueNames: ReadonlySet<string> = new Set(['id', 'code', 'name', 'type', 'number', 'year', 'country'])

const strength: Readonly<Record<Action, number>> = { keep: 0, hash: 1, drop: 2 }

/** Whether records of the stream are about one person each. */
export const isAboutPerson = (stream: StreamDef): boolean =>
  isOfPerson(stream) || (stream.parent !== undefined && stream.columns.some((column) => column.personal === true))

const embeddedOf = new Map(streams.map((stream) => [stream, embeddedPerson(stream)]))

/** The rules of some settings; made once for each. */
export class Protector {
  readonly #settings: PrivacySettings
  readonly #erased: Erased
  readonly #cutsBlanks: boolean
  readonly #nodes = new Map<StreamDef, Node>()
  /** For records of other streams that embed an erased user: nothing personal is left in them. */
  #dropping: Protector | undefined
  /** What becomes of values by their names, wherever they stand. */
  readonly rules: Rules

  /** @param cutsBlanks drops known personal fields whatever they hold: even an empty field is information */
  constructor(settings: PrivacySettings, erased: Erased = nobodyErased, cutsBlanks = false) {
    this.#settings = settings
    this.#erased = erased
    this.#cutsBlanks = cutsBlanks
    const byName = new Map<string, Node>()
    for (const stream of streams)
      for (const column of stream.columns) {
        const name = column.path?.split('.')[0] ?? ''
        const act = actionOf(settings, stream, column)
        if (column.personal !== true || vagueNames.has(name)) continue
        const before = byName.get(name)
        if (before === undefined || strength[act] > strength[before.act]) byName.set(name, personal(act))
      }
    for (const stream of streams) for (const place of placesOf(stream)) byName.set(place, this.nodeOf(stream))
    this.rules = new Rules(settings.mode, settings.hasher, byName, erased.users)
  }

  /** JSON text of a record as it may be stored; the same text where nothing in it is personal. */
  text(stream: StreamDef, json: string): string {
    const person = embeddedOf.get(stream)
    // In place of a person's record, any other value may be personal.
    if (this.#settings.mode !== 'keep' && !/^\s*[{n]/.test(json) && (isAboutPerson(stream) || person !== undefined))
      return 'null'
    const { text: kept, sawErased } = written(json, this.nodeOf(stream), this.rules)
    const isGone = (id: Json | undefined): boolean => this.#erased.users.has(textOf(isObject(id) ? id.id : id) ?? '')
    if (person === undefined || !sawErased || ![get(parseJson(json).value, person.path)].flat(9).some(isGone))
      return kept
    this.#dropping ??= new Protector({ mode: 'drop', columns: {}, hasher: null }, this.#erased)
    return written(json, this.#dropping.nodeOf(stream), this.#dropping.rules).text
  }

  /** The same of a record; the record itself where nothing in it is personal. */
  protect(stream: StreamDef, record: Json): Json {
    return throughText(record, (json) => this.text(stream, json))
  }

  /** JSON text of which nothing is known but the names in it, as it may be stored. */
  unknownText(json: string): string {
    return written(json, stays, this.rules).text
  }

  /** The treatment of a record of a stream and of its members. */
  nodeOf(stream: StreamDef): Node {
    const known = this.#nodes.get(stream)
    if (known !== undefined) return known
    const made = this.#compile(stream)
    this.#nodes.set(stream, made)
    return made
  }

  /** @param inherited what becomes of unknown members of the person's record in which it stands */
  #compile(stream: StreamDef, inherited: Node | null = null): Node {
    const { mode } = this.#settings
    const ownField = (act: Action): Node => ({ ...personal(act), isCut: this.#cutsBlanks })
    const members = new Map<string, Node>()
    const rest = inherited ?? (isAboutPerson(stream) && mode !== 'keep' ? personal(mode, true) : null)
    /** A known field. In a person's record anything else in its place is personal, at every depth. */
    const kept = (fieldType: ColumnType = 'text'): Node => {
      const type = mode === 'keep' || fieldType === 'text' || fieldType === 'jsonb' ? null : fieldType
      if (rest !== null) return { ...stays, members: new Map(), rest, type }
      // Values that are shown, not stored, are shown as received.
      return type === null || this.#cutsBlanks ? stays : typed(type)
    }
    const place = (into: Map<string, Node>, [first = '', ...below]: readonly string[], leaf: Node): void => {
      const outer = into.get(first) ?? (below.length === 0 ? leaf : { ...stays, members: new Map(), rest })
      into.set(first, outer)
      if (below.length === 0 || outer.act !== 'keep') return // a personal field has its own rule
      const inner = new Map(outer.members)
      place(inner, below, leaf)
      into.set(first, { ...outer, members: inner })
    }
    const inside = (other: StreamDef): Node => (rest === null ? this.nodeOf(other) : this.#compile(other, rest))
    for (const child of streams)
      if (child.parent === stream.name && child.reads.kind === 'inside') members.set(child.reads.path, inside(child))
    for (const { path, stream: name } of stream.embeds ?? []) place(members, path.split('.'), inside(streamNamed(name)))
    for (const column of stream.columns) {
      if (column.path === null) continue
      const [first = '', ...below] = column.path.split('.')
      const act = actionOf(this.#settings, stream, column)
      if (act === 'keep') place(members, [first, ...below], kept(column.type))
      else if (below.length === 0) members.set(first, ownField(act))
      // A person's country: the name beside its code has the same meaning.
      else
        members.set(first, {
          ...ownField(act),
          members: new Map([[below.join('.'), personal(act)]]),
          rest: personal('drop'),
        })
    }
    for (const path of stream.alsoKnown ?? [])
      if (rest !== null || !path.includes('.')) place(members, path.split('.'), kept())
    return { ...stays, members, rest, isUser: stream.person === true }
  }
}

/** Names by which a member is personal wherever it is. */
export const personalNames: readonly string[] = [
  ...new Protector({ mode: 'drop', columns: {}, hasher: null }).rules.byName.keys(),
]

/** The value that a text is made of; the value itself where the text stays the same. */
export function throughText(value: Json, change: (json: string) => string): Json {
  const json = stringifyJson(value)
  const changed = change(json)
  return changed === json ? value : parseJson(changed).value
}

/** Members that may hold a person, a document or the crew in records of unknown shape. */
function placesOf(stream: StreamDef): readonly string[] {
  if (!isAboutPerson(stream)) return []
  const { reads } = stream
  const endpoint =
    reads.kind === 'list' || reads.kind === 'collection' ? reads.list : reads.kind === 'document' ? reads.endpoint : ''
  const last = endpoint.split('/').at(-1) ?? ''
  const embedding = streams.flatMap(({ embeds = [] }) => embeds.filter((embed) => embed.stream === stream.name))
  return [...new Set([last, ...embedding.map(({ path }) => path)])].filter((name) => name !== '')
}
