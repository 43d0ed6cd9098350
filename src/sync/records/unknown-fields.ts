// Which fields of a record no column shows: those that the catalog does not know, and those that have another shape than it
// knows. They stay in the payload and are listed in `status`. Pure.

import { convertValue } from '../../api/wire/convert.ts'
import { elementsIn, isLosslessNumber, isName, isNaming, isObject, type Json } from '../../api/wire/json.ts'
import { streamNamed, streams } from '../../catalog/catalog.ts'
import type { ColumnType, StreamDef } from '../../catalog/types.ts'
import { once } from '../../memo.ts'

/** The known part of a record: `leaf` ends the walk (everything below is known), `members` continue. */
type Shape = {
  leaf: boolean
  /** Of a leaf: a column shows its values, whatever their shape. */
  whole: boolean
  /** Of a leaf: its values are the elements of a list. */
  list: boolean
  /** Of a leaf: the type that its values must fit, or no column shows them. */
  fits: ColumnType | null
  /** The type of the id or code that may replace a record here. */
  name: ColumnType | null
  readonly members: Map<string, Shape>
}

const emptyShape = (): Shape => ({
  leaf: false,
  whole: false,
  list: false,
  fits: null,
  name: null,
  members: new Map(),
})

function shapeAt(root: Shape, path: string): Shape {
  let shape = root
  for (const name of path.split('.')) {
    const next = shape.members.get(name) ?? emptyShape()
    shape.members.set(name, next)
    shape = next
  }
  return shape
}

function mergeShape(target: Shape, source: Shape): void {
  if (source.leaf) target.leaf = true
  target.whole ||= source.whole
  target.list ||= source.list
  target.fits ??= source.fits
  target.name ??= source.name
  for (const [name, shape] of source.members) {
    const own = target.members.get(name) ?? emptyShape()
    target.members.set(name, own)
    mergeShape(own, shape)
  }
}

const shapeOf: (stream: StreamDef) => Shape = once((stream) => {
  const root = emptyShape()
  for (const { path, type, lenient } of stream.columns) {
    if (path === null) continue
    const shape = shapeAt(root, path)
    shape.leaf = shape.whole = true
    if (lenient === true) shape.fits = type
    const dot = path.lastIndexOf('.')
    if (dot > 0 && isNaming(path.slice(dot + 1))) shapeAt(root, path.slice(0, dot)).name = type
  }
  for (const child of streams)
    if (child.parent === stream.name && child.reads.kind === 'inside') {
      const shape = shapeAt(root, child.reads.path)
      shape.leaf = shape.list = true
    }
  for (const path of stream.alsoKnown ?? []) shapeAt(root, path).leaf = true
  for (const { path, stream: name } of stream.embeds ?? []) mergeShape(shapeAt(root, path), shapeOf(streamNamed(name)))
  return root
})

type Fields = {
  /** Dotted path → value of every field that the catalog does not know. */
  readonly unknown: Map<string, Json>
  /** The same of those that it knows in another shape, so that no column shows them. */
  readonly misshapen: Map<string, Json>
}

/** Goes no deeper than the catalog does. */
function walk(value: Json, shape: Shape, prefix: string, found: Fields): void {
  if (!isObject(value)) return
  for (const name in value) {
    const known = shape.members.get(name)
    const path = prefix === '' ? name : `${prefix}.${name}`
    const member = value[name] ?? null
    if (known === undefined) found.unknown.set(path, member)
    else if (member === null) continue
    else if (known.leaf) {
      if (!isShown(member, known)) found.misshapen.set(path, member)
    } else if (isObject(member)) walk(member, known, path, found)
    else if (!isNameOf(member, known)) found.misshapen.set(path, member)
  }
}

/** Whether a column, or a table, shows the value of a leaf; what its column refuses is in quarantine. */
function isShown(value: Json, shape: Shape): boolean {
  if (shape.list) return elementsIn(value) !== undefined
  if (shape.whole) return shape.fits === null || fitsColumn(shape.fits, value)
  return shape.name === null || isObject(value) || isNameOf(value, shape)
}

/** Whether a value that is no object is the id or code that a column shows. */
const isNameOf = (value: Json, { name }: Shape): boolean => name !== null && isName(value) && fitsColumn(name, value)

const fitsColumn = (type: ColumnType, value: Json): boolean => convertValue(type, value, 'UTC').ok

const nothing: Fields = { unknown: new Map(), misshapen: new Map() }

/** The fields of a record that no column shows. A stream without a published shape has no unknown fields. */
export function unshownFields(stream: StreamDef, record: Json): Fields {
  if (stream.reads.kind === 'calendar') return nothing
  const found: Fields = { unknown: new Map(), misshapen: new Map() }
  walk(record, shapeOf(stream), '', found)
  if (stream.keyed === 'content') found.unknown.clear()
  return found
}

/** What a value is, in words: `array`, `text`. */
export function kindOf(value: Json): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'string') return 'text'
  if (isLosslessNumber(value)) return 'number'
  return value === null ? 'null' : typeof value
}
