// The records of a page as they were received: separated, keyed and compared by their bytes, decoded on demand.

import { hash, randomUUID } from 'node:crypto'
import { backslash, closeObject, comma, openObject, quote } from '../../json/characters.ts'
import { get, isObject, type Json, type JsonObject, parseJson, stringifyJson } from './json.ts'
import { care, recordSize, type Scan, scanPage } from './scan.ts'

/** The first element where the records of a page were cut out; random, so that no answer can contain it. */
const mark = randomUUID()

/** Some of the records of a page; absent: all of them, as they came. */
type Part = { readonly from?: number; readonly length?: number; readonly protection?: Protection | null }

type Undecoded = {
  /** A page without its records; placeholders take their place. */
  readonly body: Json | undefined
  readonly elements: Elements
  /** Characters that were replaced, as `parseJson` counts them. */
  readonly sanitized: number
}

/**
 * Takes a page apart.
 * @param bytes UTF-8
 * @returns null where the scan finds no JSON within our limits: `parseJson` says what is wrong
 */
export function readPage(bytes: Buffer): (Undecoded & { readonly body: Json }) | null {
  const from = beginOf(bytes)
  const scan = scanPage(bytes, from, false)
  if (typeof scan === 'number') return null
  const elements = new Elements(bytes, scan)
  const around = scan.count === 0 ? parseJson(bytes.toString('utf8', from)) : aroundOf(bytes, from, scan)
  return { body: around.value, elements, sanitized: around.sanitized + elements.sanitized() }
}

/** The same for an answer that is one record; null also where it is not an object. */
export function readRecord(bytes: Buffer): Undecoded | null {
  const scan = scanPage(bytes, beginOf(bytes), true)
  if (typeof scan === 'number' || bytes[scan.records[0] as number] !== openObject) return null
  const elements = new Elements(bytes, scan)
  return { body: undefined, elements, sanitized: elements.sanitized() }
}

/** Where the JSON begins: after a byte order mark. */
const beginOf = (bytes: Buffer): number => (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0)

function aroundOf(bytes: Buffer, from: number, { start, end, count }: Scan): { value: Json; sanitized: number } {
  const places: Json[] = new Array(count).fill(null)
  places[0] = mark
  const [before, after] = [bytes.toString('utf8', from, start), bytes.toString('utf8', end)]
  if (before.trim() === '' && after.trim() === '') return { value: places, sanitized: 0 }
  return parseJson(before + JSON.stringify(places) + after)
}

/** The records at a path of a page: those that were cut out there, or those in the body. */
export function elementsAt(items: readonly Json[], cutOut: Elements | undefined): Elements {
  if (cutOut !== undefined && items[0] === mark) return cutOut
  const bytes = Buffer.from(stringifyJson([...items]))
  const scan = items.length === 0 ? 0 : scanPage(bytes, 0, false)
  return new Elements(
    bytes,
    typeof scan === 'number' ? { records: new Int32Array(), count: 0, start: 0, end: 0 } : scan,
  )
}

/** What is done to a record before it is used. */
export type Protection = {
  /** JSON text of a record without what must not be stored; the same text where there is nothing of the kind. */
  text(json: string): string
  /** Makes of a hash of a record as received one that says nothing about it; absent: what may be stored is hashed instead. */
  hash?(plain: string): string
}

type Decoded = { readonly value: Json; readonly text: string }

export class Elements {
  readonly #bytes: Buffer
  readonly #scan: Scan
  readonly #from: number
  readonly #protection: Protection | null
  /** Texts of records made for their hash, until they are requested. */
  readonly #texts = new Map<number, string>()
  readonly length: number

  constructor(bytes: Buffer, scan: Scan, part: Part = {}) {
    const { from = 0, length = scan.count, protection = null } = part
    this.#bytes = bytes
    this.#scan = scan
    this.#from = from
    this.#protection = protection
    this.length = length
  }

  /** Those from one place up to another (exclusively). */
  slice(from: number, to: number): Elements {
    const length = Math.max(0, Math.min(to, this.length) - from)
    return new Elements(this.#bytes, this.#scan, { from: this.#from + from, length, protection: this.#protection })
  }

  /** The same records, as they may be stored. */
  protectedBy(protection: Protection): Elements {
    return new Elements(this.#bytes, this.#scan, { from: this.#from, length: this.length, protection })
  }

  /** A short hash of the bytes of a record. */
  hash(index: number): string {
    const bytes = this.#bytes.subarray(this.#number(index, 0), this.#number(index, 1))
    if (this.#protection === null) return hashOfBytes(bytes)
    if (this.#protection.hash !== undefined) return this.#protection.hash(hashOfBytes(bytes))
    const text = this.#text(index)
    this.#texts.set(index, text)
    return hashOfBytes(text)
  }

  /** The record itself. */
  value(index: number): Json {
    const text = this.#protection === null ? this.#received(index) : this.#text(index)
    return parsed(text, this.#number(index, 4))
  }

  /** All of them. */
  values(): Json[] {
    return Array.from({ length: this.length }, (_, index) => this.value(index))
  }

  /**
   * The record, and what `stringifyJson` writes for it; that is the text as received where only members that came twice
   * would differ.
   */
  decoded(index: number): Decoded {
    const text = this.#texts.get(index) ?? this.#text(index)
    this.#texts.delete(index)
    return { value: parsed(text, this.#number(index, 4)), text }
  }

  /** The record with only the members `id` and `code`: enough to identify it. */
  head(index: number): Json {
    if ((this.#number(index, 4) & care.unnamed) !== 0) {
      const value = this.value(index)
      return isObject(value) ? headOf(value) : value
    }
    const [id, code] = [this.#number(index, 2), this.#number(index, 3)]
    const head: JsonObject = {}
    if (id > 0) head.id = this.#valueAt(id, index)
    if (code > 0) head.code = this.#valueAt(code, index)
    return head
  }

  /** How many characters of the records are replaced when they are decoded. */
  sanitized(): number {
    let count = 0
    for (let index = 0; index < this.length; index++)
      if ((this.#number(index, 4) & care.unstorable) !== 0) count += parseJson(this.#received(index)).sanitized
    return count
  }

  #received(index: number): string {
    return this.#bytes.toString('utf8', this.#number(index, 0), this.#number(index, 1))
  }

  /** What `stringifyJson` writes for the record, without what must not be stored. */
  #text(index: number): string {
    const cares = this.#number(index, 4)
    const received = this.#received(index)
    const text = (cares & care.rewritten) === 0 ? received : stringifyJson(parsed(received, cares))
    return this.#protection === null ? text : this.#protection.text(text)
  }

  #number(index: number, which: number): number {
    return this.#scan.records[(this.#from + index) * recordSize + which] as number
  }

  /** The value of a member that begins there. */
  #valueAt(at: number, index: number): Json {
    const end = endOfPlainValue(this.#bytes, at)
    if (end > 0) return JSON.parse(this.#bytes.toString('latin1', at, end)) as Json
    const name = at === this.#number(index, 2) ? 'id' : 'code'
    return get(this.value(index), name) ?? null
  }
}

const parsed = (text: string, cares: number): Json =>
  (cares & (care.digits | care.unstorable)) === 0 ? (JSON.parse(text) as Json) : parseJson(text).value

const headOf = (record: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name === 'id' || name === 'code'))

/** A short hash of a record as received, to see whether it is the same again. */
export const hashOfBytes = (bytes: Uint8Array | string): string => hash('sha256', bytes, 'base64url').slice(0, 24)

/** Where a whole number of at most 15 digits, or a text of plain ASCII, ends (exclusively); 0: it is something else. */
function endOfPlainValue(bytes: Buffer, at: number): number {
  let i = at
  if (bytes[i] === quote) {
    for (i++; bytes[i] !== quote; i++) {
      const byte = bytes[i]
      if (byte === undefined || byte === backslash || byte > 0x7e) return 0
    }
    return i + 1
  }
  while ((bytes[i] as number) >= 0x30 && (bytes[i] as number) <= 0x39) i++
  const next = bytes[i]
  const ends =
    next === comma || next === closeObject || next === 0x20 || next === 0x0a || next === 0x0d || next === 0x09
  return ends && i > at && i - at <= 15 ? i : 0
}
