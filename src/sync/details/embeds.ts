// What stands inside a record: records of other streams, stubs until they are read themselves; rows of streams that have no
// other place; and persons who are gone.

import { isObject, type Json, stringifyJson } from '../../api/wire/json.ts'
import { childrenOf, embeddedPerson, streamNamed } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { type Queryable, stubSource } from '../../database/sql.ts'
import { tombstonedUsers } from '../../mirror/redact.ts'
import type { SourcedRow, TableWrite } from '../../mirror/rows.ts'
import { keyText, knownSources } from '../../state/records.ts'
import {
  type ChangeSet,
  type Embedded,
  type EmbeddingRecord,
  type Found,
  projectedAll,
  type Received,
} from '../change-set.ts'
import type { SyncContext } from '../context.ts'
import { keyOf, projectRecord, valueAt } from '../records/project.ts'
import type { SeenStubs } from './seen-stubs.ts'

/**
 * The records that stand inside others, at any depth, and those that were answered on their own: each once, as its latest
 * look shows it. Hundreds of rentals name the same harbour, so that what was seen is not looked into again. Those without
 * a key are left to their own read. Pure.
 */
export function embeddedRecords(
  embedding: readonly EmbeddingRecord[],
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
  const collect = (stream: StreamDef, record: Json, prefix: string, outer: EmbeddingRecord): void => {
    for (const { path, stream: name } of stream.embeds ?? []) {
      const embedded = valueAt(record, path)
      if (!isObject(embedded)) continue
      const target = streamNamed(name)
      const key = keyOf(target, embedded, timeZone)
      const source = stubSource(outer.endpoint, `${prefix}${path}`)
      if (key === null || take({ stream: target, key, record: embedded, source, readAt: outer.readAt }))
        collect(target, embedded, `${prefix}${path}.`, outer)
    }
  }
  const latestFirst = [...embedding].sort((a, b) => b.readAt.getTime() - a.readAt.getTime())
  for (const outer of latestFirst) collect(outer.stream, outer.record, '', outer)
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
 * is left out, and so is what says the same as the stub that this task wrote or compared before; what cannot be projected
 * is left to its own read.
 */
export async function stubsOf(
  db: Queryable,
  records: readonly Embedded[],
  { timeZone, seen }: { readonly timeZone: string; readonly seen: SeenStubs },
): Promise<TableWrite[]> {
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
    const [unknown, stubs]: [SourcedRow[], SourcedRow[]] = [[], []]
    for (const { key, record, source, readAt } of all) {
      const present = known.get(stream.name)?.get(keyText(key))
      if (present === 'direct') continue
      const projected = projectRecord(stream, record, {}, timeZone)
      if (!projected.ok) continue
      const { row } = projected
      const id = `${stream.name} ${keyText(key)}`
      // A commit that is under way may be about to insert what was looked at before.
      const isNew = present === undefined && seen.isNew(id)
      if (!seen.saysNothingNew(id, row.payload, readAt)) (isNew ? unknown : stubs).push({ ...row, source, readAt })
    }
    for (const rows of [unknown, stubs])
      if (rows[0]?.readAt !== undefined && rows[0].source !== undefined)
        writes.push({
          stream,
          mode: 'stub',
          source: rows[0].source,
          readAt: rows[0].readAt,
          rows,
          newKeys: rows === unknown,
        })
  }
  return writes
}

/** What a record of a list or a single read leads to besides its own row: embedded records, rows of streams inside it. */
export function foundInside(
  { stream, record, endpoint, timeZone }: Received,
  key: string,
  readAt: Date,
): readonly Found[] {
  const children = childrenOf(stream.name).map((child): Found => {
    const entries = child.reads.kind === 'inside' ? valueAt(record, child.reads.path) : undefined
    // An absent collection is unknown; an empty one is none.
    if (!Array.isArray(entries)) return {}
    const columns = child.parentKey ?? []
    const request = { [columns[0] ?? '']: key }
    const of = { stream: child, request, endpoint, timeZone }
    const { rows, complete, found } = projectedAll(entries.map((entry) => ({ ...of, record: entry })))
    const replace = complete ? [{ columns: [...columns], values: [key] }] : []
    return { ...found, tables: [{ stream: child, mode: 'record', source: endpoint, readAt, rows, replace }] }
  })
  const embedding = stream.embeds === undefined ? [] : [{ stream, record, endpoint, readAt }]
  return [{ embedding }, ...children]
}

/**
 * A user who is gone does not come back through a rental that still embeds them: only the id stays. One lookup for all of
 * the records; what is returned redacts each, and returns the record itself where there is nothing to redact.
 */
export async function personRedaction(
  db: Queryable,
  stream: StreamDef,
  records: readonly Json[],
): Promise<(record: Json) => Json> {
  const person = embeddedPerson(stream)
  if (person === undefined) return (record) => record
  const { path, texts } = person
  const idOf = (record: Json): string | undefined => {
    const id = valueAt(record, `${path}.id`)
    return id === undefined || id === null ? undefined : stringifyJson(id)
  }
  const ids = new Set(records.map(idOf).filter((id) => id !== undefined && /^\d{1,18}$/.test(id)))
  const gone = await tombstonedUsers(db, [...ids] as string[])
  if (gone.size === 0) return (record) => record
  const redacted = Object.fromEntries(texts.map(({ field }) => [field, null]))
  return (record) => {
    const id = idOf(record)
    if (id === undefined || !gone.has(id) || !isObject(record)) return record
    return { ...record, [path]: { id: valueAt(record, `${path}.id`) ?? null }, ...redacted }
  }
}

/** The same changes, with the stubs of what stands inside the records. */
export async function withStubs(
  { database, settings }: SyncContext,
  changes: ChangeSet,
  seen: SeenStubs,
): Promise<ChangeSet> {
  const { timeZone } = settings
  const embedded = embeddedRecords(changes.embedding, changes.embedded, timeZone)
  const stubs = await stubsOf(database.pool, embedded, { timeZone, seen })
  return { ...changes, tables: [...changes.tables, ...stubs], embedding: [], embedded: [] }
}
