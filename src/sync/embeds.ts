// Records of other streams that stand inside a record: stubs until they are read themselves (design, section 6.6).

import { isObject, type Json } from '../api/json.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { keyText, knownSources } from '../mirror/records.ts'
import type { SourcedRow, TableWrite } from '../mirror/rows.ts'
import type { Queryable } from '../mirror/sql.ts'
import { type JsonObject, keyOf, projectRecord, valueAt } from './project.ts'

/** A record that was read, with whatever stands inside it. */
export type Holder = {
  readonly stream: StreamDef
  readonly record: Json
  readonly endpoint: string
  readonly readAt: Date
}

export type Embedded = {
  readonly stream: StreamDef
  readonly key: readonly string[]
  readonly record: JsonObject
  /** `GET /v3/rentals#departureHarbour.city`. */
  readonly source: string
  readonly readAt: Date
}

/**
 * The records that stand inside others, at any depth, each once: as its latest holder shows it. Hundreds of rentals
 * name the same harbour, so that what was seen is not looked into again. Those without a key are left to their own read. Pure.
 */
export function embeddedRecords(holders: readonly Holder[], timeZone: string): readonly Embedded[] {
  const found = new Map<string, Embedded>()
  const collect = (stream: StreamDef, record: Json, prefix: string, holder: Holder): void => {
    for (const { path, stream: name } of stream.embeds ?? []) {
      const embedded = valueAt(record, path)
      if (!isObject(embedded)) continue
      const target = streamNamed(name)
      const key = keyOf(target, embedded, timeZone)
      if (key !== null) {
        const id = `${name} ${keyText(key)}`
        const before = found.get(id)
        if (before !== undefined && !saysMore(embedded, holder, before)) continue
        const source = `${holder.endpoint}#${prefix}${path}`
        found.set(id, { stream: target, key, record: embedded, source, readAt: holder.readAt })
      }
      collect(target, embedded, `${prefix}${path}.`, holder)
    }
  }
  const latestFirst = [...holders].sort((a, b) => b.readAt.getTime() - a.readAt.getTime())
  for (const holder of latestFirst) collect(holder.stream, holder.record, '', holder)
  return [...found.values()]
}

/** Of two looks at the same instant the one with more members stands, as it does in the mirror. */
const saysMore = (record: JsonObject, { readAt }: Holder, before: Embedded): boolean =>
  readAt.getTime() === before.readAt.getTime() && Object.keys(record).length > Object.keys(before.record).length

/**
 * Stubs of what stands inside records, one write per stream. What has been read itself, alive or gone, takes no stub and
 * is left out; what cannot be projected is left to its own read.
 */
export async function stubsOf(db: Queryable, holders: readonly Holder[], timeZone: string): Promise<TableWrite[]> {
  const byStream = new Map<StreamDef, Embedded[]>()
  for (const embedded of embeddedRecords(holders, timeZone)) {
    const others = byStream.get(embedded.stream)
    if (others === undefined) byStream.set(embedded.stream, [embedded])
    else others.push(embedded)
  }
  const known = await knownSources(
    db,
    [...byStream].map(([stream, all]) => ({ stream, keys: all.map(({ key }) => keyText(key)) })),
  )
  const writes: TableWrite[] = []
  for (const [stream, all] of byStream) {
    const [fresh, stubs]: [SourcedRow[], SourcedRow[]] = [[], []]
    for (const { key, record, source, readAt } of all) {
      const present = known.get(stream.name)?.get(keyText(key))
      if (present === 'direct') continue
      const projected = projectRecord(stream, record, {}, timeZone)
      if (projected.ok) (present === undefined ? fresh : stubs).push({ ...projected.row, source, readAt })
    }
    for (const rows of [fresh, stubs])
      if (rows[0]?.readAt !== undefined && rows[0].source !== undefined)
        writes.push({
          stream,
          mode: 'stub',
          source: rows[0].source,
          readAt: rows[0].readAt,
          rows,
          fresh: rows === fresh,
        })
  }
  return writes
}
