// Records of other streams that stand inside a record: stubs until they are read themselves (design, section 6.6). Pure.

import type { Json } from '../api/json.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Row } from '../mirror/rows.ts'
import { isObject, projectRecord, valueAt } from './project.ts'

export type Stub = { readonly stream: StreamDef; readonly row: Row; readonly path: string }

/** All embedded records of one record, at any depth. What cannot be projected is left to the record's own read. */
export function embeddedStubs(stream: StreamDef, record: Json, timeZone: string): readonly Stub[] {
  return (stream.embeds ?? []).flatMap(({ path, stream: name }) => {
    const embedded = valueAt(record, path)
    if (!isObject(embedded)) return []
    const target = streamNamed(name)
    const projected = projectRecord(target, embedded, {}, timeZone)
    const below = embeddedStubs(target, embedded, timeZone).map((stub) => ({ ...stub, path: `${path}.${stub.path}` }))
    return projected.ok ? [{ stream: target, row: projected.row, path }, ...below] : below
  })
}
