// One pass over the bytes of a page: whether they are JSON within our limits, where the records of its list begin and
// end, and which of them need more care. Decodes nothing. Pure.

import { maxDepth, maxValues } from './json.ts'

/** Reasons why a record's bytes cannot be used unchanged. */
export const care = {
  /** Written by us it would look different: white space, escapes, `1.0`, `-0`. */
  rewritten: 1,
  /** A number that JSON.parse would change, or JSON.stringify would write with an exponent. */
  digits: 2,
  /** NUL, or what may be half of a surrogate pair. */
  unstorable: 4,
  /** Where `id` and `code` stand is not known: no object, or a name with escapes. */
  unnamed: 8,
} as const

/** Numbers of a record in `Scan.records`, one after the other. */
export const recordSize = 5

export type Scan = {
  /**
   * For each record: where it begins, where it ends (exclusively), where the value of its last member `id` begins,
   * where that of `code` begins (both 0: it has none), and the sum of its `care` flags.
   */
  readonly records: Int32Array
  /** How many records there are. */
  readonly count: number
  /** Where the array of the records begins and ends, brackets included. */
  readonly start: number
  readonly end: number
}

// What a byte may begin; 0: nothing.
const space = 1
const quote = 2
const openArray = 3
const closeArray = 4
const openObject = 5
const closeObject = 6
const comma = 7
const colon = 8
const digit = 9
const minus = 10
const letter = 11

const kinds = new Uint8Array(256)
for (const [kind, characters] of [
  [space, ' \t\n\r'],
  [quote, '"'],
  [openArray, '['],
  [closeArray, ']'],
  [openObject, '{'],
  [closeObject, '}'],
  [comma, ','],
  [colon, ':'],
  [digit, '0123456789'],
  [minus, '-'],
  [letter, 'tfn'],
] as const)
  for (const character of characters) kinds[character.charCodeAt(0)] = kind

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

// The kinds of token that may come next.
const value = 0
const valueOrEnd = 1
const nameOrEnd = 2
const name = 3
const nameEnd = 4
const afterValue = 5

/**
 * Scans the UTF-8 bytes of a page from `from` on. The records are the elements of its largest array that is not
 * inside another array; with `whole` the value itself is the one record.
 * @returns the offset of the first wrong byte, where the bytes are not JSON, or are nested deeper or have more values
 * than allowed: the parser finds out which
 */
export function scanPage(bytes: Uint8Array, from: number, whole: boolean): Scan | number {
  const length = bytes.length
  const isArray = new Uint8Array(maxDepth + 1)
  let [depth, arrays, values] = [0, 0, 1]
  let expected = value
  // The current array, and the largest one so far.
  let [records, used, start] = [new Int32Array(64 * recordSize), 0, 0]
  let best: Scan = { records, count: 0, start: 0, end: 0 }
  /** The depth of the records being scanned; -1: none are. */
  let level = whole ? 0 : -1
  let [recordStart, idAt, codeAt, cares] = [0, 0, 0, 0]
  /** 1: the member at hand is called `id`, 2: `code`. */
  let member = 0

  for (let i = from; i < length; i++) {
    const kind = kinds[bytes[i] as number]
    if (kind === space) {
      cares |= care.rewritten
      continue
    }
    if (expected <= valueOrEnd && kind !== closeArray) {
      if (depth === level) {
        recordStart = i
        idAt = codeAt = member = 0
        cares = kind === openObject ? 0 : care.unnamed
      } else if (member !== 0 && depth === level + 1) {
        if (member === 1) idAt = i
        else codeAt = i
        member = 0
      }
    }
    switch (kind) {
      case quote: {
        const at = i
        const isName = expected === nameOrEnd || expected === name
        if (!isName && expected > valueOrEnd) return i
        let escaped = false
        for (;;) {
          let byte = bytes[++i] as number
          while (byte !== 0x22 && byte !== 0x5c && byte >= 0x20) byte = bytes[++i] as number
          if (byte === 0x22) break
          if (byte !== 0x5c) return i
          escaped = true
          const found = escapeAt(bytes, i)
          if (found === 0) return i
          cares |= found
          i++
        }
        if (!isName) {
          expected = afterValue
          break
        }
        expected = nameEnd
        if (depth === level + 1) {
          member = 0
          if (escaped) cares |= care.unnamed
          else if (i - at === 3 && bytes[at + 1] === 0x69 && bytes[at + 2] === 0x64) member = 1
          else if (i - at === 5 && isCode(bytes, at)) member = 2
        }
        break
      }
      case digit:
      case minus: {
        if (expected > valueOrEnd) return i
        const end = endOfNumber(bytes, i)
        if (end === 0) return i
        cares |= careOfNumber(bytes, i, end)
        i = end - 1
        expected = afterValue
        break
      }
      case letter: {
        if (expected > valueOrEnd) return i
        const end = endOfWord(bytes, i)
        if (end === 0) return i
        i = end - 1
        expected = afterValue
        break
      }
      case colon:
        if (expected !== nameEnd) return i
        expected = value
        continue
      case comma:
        if (expected !== afterValue || depth === 0) return i
        if (++values > maxValues) return i
        expected = isArray[depth] === 1 ? value : name
        continue
      case openArray:
      case openObject:
        if (expected > valueOrEnd || ++depth > maxDepth) return i
        values++
        isArray[depth] = kind === openArray ? 1 : 0
        expected = kind === openArray ? valueOrEnd : nameOrEnd
        if (kind === openArray && arrays++ === 0 && !whole) {
          level = depth
          used = 0
          start = i
        }
        continue
      case closeArray:
      case closeObject:
        // Of an array an end may come in place of its first value, of an object in place of its first name.
        if (depth === 0 || isArray[depth] !== (kind === closeArray ? 1 : 0)) return i
        if (expected !== afterValue && expected !== (kind === closeArray ? valueOrEnd : nameOrEnd)) return i
        if (kind === closeArray && --arrays === 0 && !whole) {
          level = -1
          if (used > 0 && i + 1 - start > best.end - best.start) {
            best = { records, count: used / recordSize, start, end: i + 1 }
            records = new Int32Array(64 * recordSize)
          }
        }
        depth--
        expected = afterValue
        break
      default:
        return i
    }
    // A value has ended.
    if (depth !== level || expected !== afterValue) continue
    if (used === records.length) records = doubled(records)
    records[used] = recordStart
    records[used + 1] = i + 1
    records[used + 2] = idAt
    records[used + 3] = codeAt
    records[used + 4] = cares
    used += recordSize
  }
  if (depth > 0 || expected !== afterValue || values > maxValues) return length
  return whole ? { records, count: 1, start: 0, end: 0 } : best
}

function doubled(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(numbers.length * 2)
  larger.set(numbers)
  return larger
}

const isCode = (bytes: Uint8Array, at: number): boolean =>
  bytes[at + 1] === 0x63 && bytes[at + 2] === 0x6f && bytes[at + 3] === 0x64 && bytes[at + 4] === 0x65

const isHex = new Uint8Array(256)
for (const character of '0123456789abcdefABCDEF') isHex[character.charCodeAt(0)] = 1
const isEscaped = new Uint8Array(256)
for (const character of '"\\/bfnrtu') isEscaped[character.charCodeAt(0)] = 1

/** What the escape at a backslash calls for; 0: it is none. */
function escapeAt(bytes: Uint8Array, at: number): number {
  const escaped = bytes[at + 1]
  if (escaped === undefined || isEscaped[escaped] === 0) return 0
  if (escaped !== 0x75) return care.rewritten
  for (let i = at + 2; i < at + 6; i++) if (isHex[bytes[i] ?? 0] === 0) return 0
  const [first, second] = [bytes[at + 2], bytes[at + 3] as number]
  const isSurrogate = (first === 0x64 || first === 0x44) && second >= 0x38
  const isNul = first === 0x30 && second === 0x30 && bytes[at + 4] === 0x30 && bytes[at + 5] === 0x30
  return isSurrogate || isNul ? care.rewritten | care.unstorable : care.rewritten
}

/** Where a number ends (exclusively); 0: it is none. */
function endOfNumber(bytes: Uint8Array, at: number): number {
  let i = bytes[at] === 0x2d ? at + 1 : at
  if (!isDigit(bytes[i])) return 0
  if (bytes[i] === 0x30) i++
  else while (isDigit(bytes[i])) i++
  if (bytes[i] === 0x2e) {
    if (!isDigit(bytes[++i])) return 0
    while (isDigit(bytes[i])) i++
  }
  if (bytes[i] === 0x65 || bytes[i] === 0x45) {
    i++
    if (bytes[i] === 0x2b || bytes[i] === 0x2d) i++
    if (!isDigit(bytes[i])) return 0
    while (isDigit(bytes[i])) i++
  }
  return i
}

/** As `isRisky` of the parser sees it: 16 or more characters, an exponent, or six zeros after the point. */
function careOfNumber(bytes: Uint8Array, at: number, end: number): number {
  const isNegative = bytes[at] === 0x2d
  const first = isNegative ? at + 1 : at
  let cares = isNegative && bytes[first] === 0x30 ? care.rewritten : 0
  if (end - first > 15) return cares | care.digits | care.rewritten
  let [hasPoint, zeros] = [false, 0]
  for (let i = first; i < end; i++) {
    const byte = bytes[i]
    if (byte === 0x65 || byte === 0x45) return cares | care.digits | care.rewritten
    if (byte === 0x2e) hasPoint = true
    zeros = hasPoint && byte === 0x30 ? zeros + 1 : 0
    if (zeros >= 6) cares |= care.digits | care.rewritten
  }
  return zeros > 0 ? cares | care.rewritten : cares
}

/** Where `true`, `false` or `null` ends (exclusively); 0: it is none of them. */
function endOfWord(bytes: Uint8Array, at: number): number {
  const rest = bytes[at] === 0x74 ? 'rue' : bytes[at] === 0x66 ? 'alse' : 'ull'
  for (let i = 0; i < rest.length; i++) if (bytes[at + 1 + i] !== rest.charCodeAt(i)) return 0
  return at + 1 + rest.length
}
