// Which fields of a record the catalog does not know. They stay in the payload and are listed in `status`. Pure.

import { isObject, type Json } from '../../api/wire/json.ts'
import { streamNamed, streams } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'

/** What is known of a record: `leaf` ends the walk (everything below is known), `members` go on. */
type Shape = { leaf: boolean; readonly members: Map<string, Shape> }

const shapes = new Map<string, Shape>()

const emptyShape = (): Shape => ({ leaf: false, members: new Map() })

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
  for (const [name, shape] of source.members) {
    const own = target.members.get(name) ?? emptyShape()
    target.members.set(name, own)
    mergeShape(own, shape)
  }
}

function shapeOf(stream: StreamDef): Shape {
  const cached = shapes.get(stream.name)
  if (cached !== undefined) return cached
  const root = emptyShape()
  for (const column of stream.columns) if (column.path !== null) shapeAt(root, column.path).leaf = true
  for (const child of streams)
    if (child.parent === stream.name && child.reads.kind === 'inside') shapeAt(root, child.reads.path).leaf = true
  for (const path of stream.alsoKnown ?? []) shapeAt(root, path).leaf = true
  for (const { path, stream: name } of stream.embeds ?? []) mergeShape(shapeAt(root, path), shapeOf(streamNamed(name)))
  shapes.set(stream.name, root)
  return root
}

/** Goes no deeper than the catalog does. */
function walk(value: Json, shape: Shape, prefix: string, found: Map<string, Json>): void {
  if (!isObject(value)) return
  for (const name in value) {
    const known = shape.members.get(name)
    if (known?.leaf === true) continue
    const path = prefix === '' ? name : `${prefix}.${name}`
    const member = value[name] ?? null
    if (known === undefined) found.set(path, member)
    else walk(member, known, path, found)
  }
}

/** Dotted path → value of every field the catalog does not know. Streams whose shape nobody published know no unknown field. */
export function unknownFields(stream: StreamDef, record: Json): ReadonlyMap<string, Json> {
  const found = new Map<string, Json>()
  if (stream.keyed !== 'content' && stream.reads.kind !== 'calendar') walk(record, shapeOf(stream), '', found)
  return found
}
