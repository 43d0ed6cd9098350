// What becomes of each value of a record, by the fields that are known and by names. Pure.

import type { ColumnType } from '../catalog/types.ts'
import type { Hasher } from './hash.ts'
import type { Action } from './rules.ts'

/** What becomes of a value. */
export type Node = {
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
  /** Of a field that is known to hold a number, a date or a truth value: any other value may be anything. */
  readonly type: ColumnType | null
  /** It is dropped whatever it is, null and empty text included. */
  readonly isCut: boolean
}

export const stays: Node = {
  ...{ act: 'keep', textOnly: false, members: null, rest: null },
  ...{ isUser: false, type: null, isCut: false },
}

/** A field of this type in a record that is not about a person. Values inside a list or an object in its place must fit, too. */
export function typed(type: ColumnType): Node {
  const node: { -readonly [K in keyof Node]: Node[K] } = { ...stays, members: new Map(), type }
  node.rest = node
  return node
}

/** An id in an unknown place of a person's record. */
export const idOnly = typed('bigint')

export const personal = (act: Action, textOnly = false): Node => ({ ...stays, act, textOnly })

/** What all walks of one set of rules share. */
export class Rules {
  /** What becomes of a user's name where the user should stand. */
  readonly mode: Action
  readonly hasher: Hasher | null
  readonly byName: ReadonlyMap<string, Node>
  /** Ids of users of whom only the id is kept. */
  readonly erased: ReadonlySet<string>
  readonly #names = new Map<Node, Names>()

  constructor(mode: Action, hasher: Hasher | null, byName: ReadonlyMap<string, Node>, erased: ReadonlySet<string>) {
    this.mode = mode
    this.hasher = hasher
    this.byName = byName
    this.erased = erased
  }

  /** What becomes of the members of an object. */
  namesOf(node: Node): Names {
    const known = this.#names.get(node)
    if (known !== undefined) return known
    const { members, rest } = node
    const own = members ?? new Map<string, Node>()
    const names =
      members === null || rest === null
        ? new Names(new Map([...this.byName, ...own]), stays)
        : new Names(new Map([['id', rest.textOnly ? idOnly : rest], ...own]), rest)
    this.#names.set(node, names)
    return names
  }
}

/** What becomes of the members of an object, by their names. */
export class Names {
  readonly #nodes: ReadonlyMap<string, Node>
  readonly #otherwise: Node
  /** A hash table of the names, by `digestAt`: most names of a record are none of them, and are not made a text to find that out. */
  readonly #digests: Int32Array
  readonly #places: ({ readonly name: Uint16Array; readonly node: Node } | null)[]

  /** @param otherwise what becomes of members with other names */
  constructor(nodes: ReadonlyMap<string, Node>, otherwise: Node) {
    this.#nodes = nodes
    this.#otherwise = otherwise
    const others = [...nodes].filter(([, node]) => node !== otherwise)
    const size = 2 ** Math.ceil(Math.log2(4 * (others.length + 1)))
    this.#digests = new Int32Array(size)
    this.#places = new Array(size).fill(null)
    for (const [text, node] of others) {
      const name = Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
      const digest = digestAt(name, 0, name.length)
      let place = digest & (size - 1)
      while (this.#places[place] !== null) place = (place + 1) & (size - 1)
      this.#places[place] = { name, node }
      this.#digests[place] = digest
    }
  }

  /** The node of a name, given by its place in a text as UTF-16. */
  at(units: Uint16Array, from: number, to: number): Node {
    const digest = digestAt(units, from, to)
    const last = this.#digests.length - 1
    for (let place = digest & last; ; place = (place + 1) & last) {
      const known = this.#places[place] ?? null
      if (known === null) return this.#otherwise
      if (this.#digests[place] === digest && isAt(known.name, units, from, to)) return known.node
    }
  }

  of(name: string): Node {
    return this.#nodes.get(name) ?? this.#otherwise
  }
}

/** A digest of a text: of its length, its ends and its middle. */
function digestAt(units: Uint16Array, from: number, to: number): number {
  const [first, middle, last] = [units[from], units[(from + to) >> 1], units[to - 1]] as [number, number, number]
  return (Math.imul(Math.imul(Math.imul(first, 31) + middle, 31) + last, 31) + to - from) | 0
}

/** Whether a part of a text is exactly this name. */
function isAt(name: Uint16Array, units: Uint16Array, from: number, to: number): boolean {
  if (name.length !== to - from) return false
  for (let i = 0; i < name.length; i++) if (name[i] !== units[from + i]) return false
  return true
}
