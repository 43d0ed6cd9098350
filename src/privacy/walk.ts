// Writes a record without what must not be stored, from its JSON: only what changes is decoded and written anew. Pure.

import { convertValue } from '../api/wire/convert.ts'
import { isObject, type Json, parseJson, stringifyJson, textOf } from '../api/wire/json.ts'
import type { ColumnType } from '../catalog/types.ts'
import { backslash, closeArray, closeObject, comma, openArray, openObject, quote } from '../json/characters.ts'
import { exactMember, type Hasher } from './hash.ts'
import type { Node, Rules } from './nodes.ts'
import type { Action } from './rules.ts'

/** Replaces a value that does not fit the type of its field. */
const cut = '"…"'

/** Whether the node is a person's record, or an object in one. */
const isRecord = ({ members, rest, act }: Node): boolean =>
  act === 'keep' && rest !== null && members !== null && members.size > 0

/** Whether a text or number in place of a record is only its id, or a code. */
const namesRecord = ({ members }: Node, text: string): boolean =>
  (members?.has('id') ? /^\d{1,18}$/ : /^[a-z]{2}(?:[-_][a-z]{2})?$/i).test(text)

/** Fields of these types may hold any number, and no field is personal by true or false. */
const takesNumbers: ReadonlySet<ColumnType> = new Set(['bigint', 'numeric'])

/** Whether a text fits the type of its field, as a blank does. */
const fitsType = (type: ColumnType, text: string): boolean => text.trim() === '' || convertValue(type, text, 'UTC').ok

/** Numbers begin with a character below, `true` and `false` with one above. */
const letters = 0x61

/** Room for the text at hand. */
const room = new Uint16Array(65_536)
const roomBytes = Buffer.from(room.buffer)

/**
 * A text as UTF-16, valid until the next call. Reading from it takes half the time of `charCodeAt`. Two quotes follow the text, so
 * that a search for a quote, even after a backslash, or for the end of white space needs no test for the end of the text.
 */
function unitsOf(json: string): Uint16Array {
  const { length } = json
  const fits = length + 2 <= room.length
  const units = fits ? room : new Uint16Array(length + 2)
  const bytes = fits ? roomBytes : Buffer.from(units.buffer)
  bytes.write(json, 'utf16le')
  units[length] = quote
  units[length + 1] = quote
  return units
}

/**
 * Writes JSON without what must not be stored.
 * @param json valid JSON, with white space or without
 * @returns the same text where nothing in it is personal; `null` as JSON: nothing is left
 */
export function written(
  json: string,
  node: Node,
  rules: Rules,
): { readonly text: string; readonly sawErased: boolean } {
  const walk = new Walk(json, rules)
  return { text: walk.write(node), sawErased: walk.sawErased }
}

/**
 * One walk through the JSON of one record. Functions that process a value return where it ends, or `~` of that if the value
 * must be dropped.
 */
class Walk {
  readonly #json: string
  readonly #units: Uint16Array
  readonly #rules: Rules
  /** What was written so far; the text from `#from` on is written as it is. */
  #out = ''
  #from = 0
  /** The hash of the exact value of the text that was hashed last, if its normal form differs. */
  #exact = ''
  /** Whether the record holds an erased user, of whom only the id is stored. */
  sawErased = false

  constructor(json: string, rules: Rules) {
    this.#json = json
    this.#units = unitsOf(json)
    this.#rules = rules
  }

  write(node: Node): string {
    const end = this.#value(this.#pastSpace(0), node, -1)
    if (end < 0) return 'null'
    return this.#from === 0 ? this.#json : this.#out + this.#json.slice(this.#from)
  }

  /** Processes a value. `nameAt` is where the name of its member begins; -1: it has none. */
  #value(at: number, node: Node, nameAt: number): number {
    if (node.isCut) return ~this.#pastValue(at)
    switch (this.#units[at]) {
      case quote:
        return this.#string(at, node, nameAt)
      case openObject:
        return this.#object(at, node)
      case openArray:
        return this.#list(at, node, nameAt)
      case 0x6e: // null
        return at + 4
      default:
        return this.#scalar(at, node)
    }
  }

  #scalar(at: number, node: Node): number {
    const end = this.#pastValue(at)
    if (node.act === 'drop' || node.textOnly) return ~end
    if (node.act === 'hash') this.#replace(at, end, `"${this.#hasher().of(String(textOf(this.#parsed(at, end))))}"`)
    else if (node.type !== null) {
      if (!takesNumbers.has(node.type) && (this.#units[at] as number) < letters) this.#replace(at, end, cut)
    } else {
      if (node.isUser && this.#rules.erased.size > 0) this.#noteErased(this.#parsed(at, end))
      if (isRecord(node) && !namesRecord(node, this.#json.slice(at, end))) return ~end
    }
    return end
  }

  #string(at: number, node: Node, nameAt: number): number {
    const end = this.#pastString(at)
    const { act, rest, type } = node
    if (act !== 'keep') return this.#personalText(at, end, act, nameAt)
    if (type !== null) {
      if (!fitsType(type, this.#textOf(at, end))) this.#replace(at, end, cut)
      return end
    }
    if (!node.isUser && !isRecord(node)) return end
    const value = this.#textOf(at, end)
    if (node.isUser) this.#noteErased(value)
    if (rest === null || namesRecord(node, value)) return end
    return rest.act === 'drop' ? ~end : this.#personalText(at, end, rest.act, nameAt)
  }

  #personalText(at: number, end: number, act: Action, nameAt: number): number {
    if (act === 'drop') return this.#textOf(at, end).trim() === '' ? end : ~end
    const name = nameAt < 0 ? '' : this.#textOf(nameAt, this.#pastString(nameAt))
    const { json, exact } = this.#hasher().inPlaceOf(this.#json.slice(at + 1, end - 1), name)
    if (json !== null) this.#replace(at, end, json)
    if (exact !== '') this.#exact = exact
    return end
  }

  #list(begin: number, node: Node, nameAt: number): number {
    // A list where the catalog expects one value has an unknown shape: its items follow the rule for unknown fields.
    const each = node.members?.size === 0 && node.rest !== null && node.act === 'keep' ? node.rest : node
    let at = this.#pastSpace(begin + 1)
    if (this.#units[at] === closeArray) return at + 1
    let lastEnd = 0
    for (;;) {
      const out = this.#out
      const from = this.#from
      const end = this.#value(at, each, nameAt)
      if (end < 0) {
        this.#out = out
        this.#from = from
        this.#takeOut(at, ~end, lastEnd)
      } else lastEnd = end
      at = this.#pastSpace(end < 0 ? ~end : end)
      if (this.#units[at] !== comma) break
      at = this.#pastSpace(at + 1)
      if (lastEnd === 0) this.#from = at
    }
    // A list that has lost all its items is dropped.
    return lastEnd === 0 ? ~(at + 1) : at + 1
  }

  #object(begin: number, node: Node): number {
    if (node.members === null && node.act !== 'keep') return ~this.#pastValue(begin) // an unknown shape
    if (node.isUser && this.#rules.erased.size > 0) {
      const end = this.#pastErased(begin)
      if (end > 0) return end
    }
    let at = this.#pastSpace(begin + 1)
    if (this.#units[at] === closeObject) return at + 1
    const units = this.#units
    const names = this.#rules.namesOf(node)
    let lastEnd = 0
    let exact: [name: string, hash: string][] | null = null
    for (;;) {
      const out = this.#out
      const from = this.#from
      let i = at + 1
      let isEscaped = false
      for (; units[i] !== quote; i++)
        if (units[i] === backslash) {
          isEscaped = true
          i++
        }
      const valueAt = this.#pastSpace(this.#pastSpace(i + 1) + 1)
      this.#exact = ''
      const own = isEscaped ? names.of(this.#textOf(at, i + 1)) : names.at(units, at + 1, i)
      const end = this.#value(valueAt, own, at)
      if (this.#exact !== '' && units[valueAt] === quote) {
        exact ??= []
        exact.push([this.#textOf(at, i + 1), this.#exact])
      }
      if (end < 0) {
        this.#out = out
        this.#from = from
        this.#takeOut(at, ~end, lastEnd)
      } else lastEnd = end
      at = this.#pastSpace(end < 0 ? ~end : end)
      if (units[at] !== comma) break
      at = this.#pastSpace(at + 1)
      if (lastEnd === 0) this.#from = at
    }
    if (exact !== null) {
      const all = Object.fromEntries(exact)
      this.#replace(at, at, `${lastEnd === 0 ? '' : ','}"${exactMember}":${stringifyJson(all)}`)
      return at + 1
    }
    // A country that has lost all its members is dropped.
    return lastEnd === 0 && node.act !== 'keep' ? ~(at + 1) : at + 1
  }

  /** Writes only the id of an erased user; 0: the user is not erased. */
  #pastErased(at: number): number {
    const end = this.#pastValue(at)
    const user = this.#parsed(at, end)
    if (!isObject(user) || !this.#noteErased(user.id)) return 0
    if (Object.keys(user).length > 1) this.#replace(at, end, stringifyJson({ id: user.id ?? null }))
    return end
  }

  #noteErased(id: Json | undefined): boolean {
    const isErased = this.#rules.erased.has(textOf(id) ?? '')
    if (isErased) this.sawErased = true
    return isErased
  }

  #hasher(): Hasher {
    const { hasher } = this.#rules
    if (hasher === null) throw new Error('A value must be hashed, but there is no key.')
    return hasher
  }

  /** Writes `json` in place of the text from `at` to `end` (exclusively). */
  #replace(at: number, end: number, json: string): void {
    this.#out += this.#json.slice(this.#from, at) + json
    this.#from = end
  }

  /**
   * Takes a member or an item out, of which nothing has been written: with the comma before it, or, while nothing before it is kept,
   * with the one behind it, when the next one begins.
   * @param lastEnd where what was kept last ends; 0: nothing is kept
   */
  #takeOut(at: number, end: number, lastEnd: number): void {
    const keptTo = lastEnd === 0 ? at : lastEnd
    if (this.#from < keptTo) this.#out += this.#json.slice(this.#from, keptTo)
    this.#from = end
  }

  #parsed(at: number, end: number): Json {
    return parseJson(this.#json.slice(at, end)).value
  }

  /** The text between two quotes. */
  #textOf(at: number, end: number): string {
    const text = this.#json.slice(at + 1, end - 1)
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
  }

  #pastSpace(at: number): number {
    const units = this.#units
    let i = at
    while ((units[i] as number) <= 0x20) i++
    return i
  }

  #pastString(at: number): number {
    const units = this.#units
    let i = at + 1
    for (; units[i] !== quote; i++) if (units[i] === backslash) i++
    if (i >= this.#json.length) throw cutOff()
    return i + 1
  }

  /** The end of any value. */
  #pastValue(at: number): number {
    const units = this.#units
    const { length } = this.#json
    let i = at
    let depth = 0
    while (i < length) {
      const unit = units[i] as number
      if (unit === quote) i = this.#pastString(i)
      else if (unit === openObject || unit === openArray) {
        depth++
        i++
      } else if (unit === closeObject || unit === closeArray) {
        depth--
        i++
      } else if (depth > 0) {
        i++
        continue
      } else {
        // A number, true, false or null.
        while (i < length && isPart(units[i] as number)) i++
        return i
      }
      if (depth === 0) return i
    }
    throw cutOff()
  }
}

const cutOff = (): Error => new Error('The record to protect is not JSON.')

/** Whether a character belongs to a number, or to `true`, `false` or `null`. */
const isPart = (unit: number): boolean =>
  (unit >= 0x30 && unit <= 0x39) ||
  (unit >= 0x61 && unit <= 0x7a) ||
  unit === 0x2d ||
  unit === 0x2b ||
  unit === 0x2e ||
  unit === 0x45
