// Records of other streams that stand inside a record: stubs until they are read themselves.

import { isObject, type Json } from '../../api/wire/json.ts'
import { streamNamed } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { type Queryable, stubSource } from '../../database/sql.ts'
import type { SourcedRow, TableWrite } from '../../mirror/rows.ts'
import { keyText, knownSources } from '../../state/records.ts'
import { type JsonObject, keyOf, projectRecord, valueAt } from '../project.ts'

/** A record that was read, with whatever stands inside it. */
export type Holder = {
  readonly stream: StreamDef
  readonly record: Json
  readonly endpoint: string
  readonly readAt: Date
}

/** A record of another stream: found inside a record, or answered by a read of something else. */
export type Embedded = {
  readonly stream: StreamDef
  readonly key: readonly string[]
  readonly record: JsonObject
  /** `GET /v3/rentals#departureHarbour.city`. */
  readonly source: string
  readonly readAt: Date
}

/**
 * The records that stand inside others, at any depth, and those that were answered on their own: each once, as its latest
 * look shows it. Hundreds of rentals name the same harbour, so that what was seen is not looked into again. Those without
 * a key are left to their own read. Pure.
 */
export function embeddedRecords(
  holders: readonly Holder[],
  answered: readonly Embedded[],
  timeZone: string,
): readonly Embedded[] {
  const found = new Map<string, Embedded>()
  /** True when this is the first or the better look at the record. */
  const take = (embedded: Embedded): boolean => {
    const id = `${embedded.stream.name} ${keyText(embedded.key)}`
    const before = found.get(id)
    if (before !== undefined && !isBetter(embedded, before)) return false
    found.set(id, embedded)
    return true
  }
  const collect = (stream: StreamDef, record: Json, prefix: string, holder: Holder): void => {
    for (const { path, stream: name } of stream.embeds ?? []) {
      const embedded = valueAt(record, path)
      if (!isObject(embedded)) continue
      const target = streamNamed(name)
      const key = keyOf(target, embedded, timeZone)
      const source = stubSource(holder.endpoint, `${prefix}${path}`)
      if (key === null || take({ stream: target, key, record: embedded, source, readAt: holder.readAt }))
        collect(target, embedded, `${prefix}${path}.`, holder)
    }
  }
  const latestFirst = [...holders].sort((a, b) => b.readAt.getTime() - a.readAt.getTime())
  for (const holder of latestFirst) collect(holder.stream, holder.record, '', holder)
  for (const embedded of answered) take(embedded)
  return [...found.values()]
}

/** The later look; of two at the same instant the one with more members, as in the mirror. */
const isBetter = (look: Embedded, before: Embedded): boolean =>
  look.readAt.getTime() === before.readAt.getTime()
    ? Object.keys(look.record).length > Object.keys(before.record).length
    : look.readAt > before.readAt

/**
 * Stubs of these records, at most two writes per stream. What has been read itself, alive or gone, takes no stub and
 * is left out; what cannot be projected is left to its own read.
 */
export async function stubsOf(db: Queryable, records: readonly Embedded[], timeZone: string): Promise<TableWrite[]> {
  const byStream = new Map<StreamDef, Embedded[]>()
  for (const embedded of records) {
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
          newKeys: rows === fresh,
        })
  }
  return writes
}
