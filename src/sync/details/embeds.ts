// Data inside a record: records of other streams, which are stubs until they are read themselves; rows of streams
// stored nowhere else; and deleted persons.

import { elementsIn, isObject, type Json, textOf } from '../../api/wire/json.ts'
import { childrenOf, embeddedPerson, streamNamed } from '../../catalog/catalog.ts'
import { keyText, keyTextOf } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { type Queryable, stubSource } from '../../database/sql.ts'
import { once } from '../../memo.ts'
import { tombstonedUsers } from '../../mirror/redact.ts'
import type { SourcedRow, TableWrite } from '../../mirror/rows.ts'
import { isHash } from '../../privacy/hash.ts'
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
import { knownSources } from '../remembered/known-records.ts'
import type { StubCache } from './stub-cache.ts'

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
  const finder = new EmbeddedFinder(timeZone)
  for (const outer of [...embedding].sort(latestFirst)) finder.collect(outer, outer.stream, outer.record, '')
  for (const embedded of answered) finder.take(embedded)
  return finder.found()
}

const latestFirst = (a: EmbeddingRecord, b: EmbeddingRecord): number => b.readAt.getTime() - a.readAt.getTime()

/** Its methods are made once: a function made for each batch would be compiled for each. */
class EmbeddedFinder {
  readonly #timeZone: string
  /** By stream and key. */
  readonly #found = new Map<StreamDef, Map<string, Embedded>>()

  constructor(timeZone: string) {
    this.#timeZone = timeZone
  }

  /** Collects the data inside a record of `stream`, which is at `prefix` inside the outer one. */
  collect(outer: EmbeddingRecord, stream: StreamDef, record: Json, prefix: string): void {
    for (const { path, stream: name } of stream.embeds ?? []) {
      const embedded = valueAt(record, path)
      if (!isObject(embedded)) continue
      const target = streamNamed(name)
      const key = keyOf(target, embedded, this.#timeZone)
      const { endpoint, readAt } = outer
      // A person's country whose code is hashed is not a country record.
      if (key !== null && !key.some(isHash)) {
        if (!this.#isFirstOrBetter(target, keyText(key), { record: embedded, readAt })) continue
        const source = stubSource(endpoint, `${prefix}${path}`)
        this.take({ stream: target, key, record: embedded, source, readAt })
      }
      if (target.embeds !== undefined) this.collect(outer, target, embedded, `${prefix}${path}.`)
    }
  }

  /** Keeps this look, if it is the first or the better one at its record. */
  take(embedded: Embedded): void {
    const { stream } = embedded
    const key = keyText(embedded.key)
    if (!this.#isFirstOrBetter(stream, key, embedded)) return
    const own = this.#found.get(stream) ?? new Map<string, Embedded>()
    this.#found.set(stream, own.set(key, embedded))
  }

  found(): readonly Embedded[] {
    return [...this.#found.values()].flatMap((own) => [...own.values()])
  }

  #isFirstOrBetter(stream: StreamDef, key: string, look: Look): boolean {
    const before = this.#found.get(stream)?.get(key)
    return before === undefined || isBetter(look, before)
  }
}

type Look = Pick<Embedded, 'record' | 'readAt'>

/** The later look; of two at the same instant the one with more members, as in the mirror. */
const isBetter = (look: Look, before: Look): boolean =>
  look.readAt.getTime() === before.readAt.getTime()
    ? Object.keys(look.record).length > Object.keys(before.record).length
    : look.readAt > before.readAt

/**
 * Stubs of these records, at most two writes per stream. Records that have been read themselves, alive or deleted,
 * take no stub and are skipped, and so are those equal to the stub that this task wrote or compared before. A record
 * that cannot be projected is left to its own read, with a warning.
 */
export async function stubsOf(
  db: Queryable,
  records: readonly Embedded[],
  { timeZone, seen }: { readonly timeZone: string; readonly seen: StubCache },
): Promise<{ readonly tables: readonly TableWrite[]; readonly warnings: readonly string[] }> {
  const byStream = new Map<StreamDef, Embedded[]>()
  for (const embedded of records) {
    const others = byStream.get(embedded.stream)
    if (others === undefined) byStream.set(embedded.stream, [embedded])
    else others.push(embedded)
  }
  const known = await knownSources(
    db,
    [...byStream].map(([stream, all]) => ({ stream, keys: all.map(keyTextOf) })),
  )
  const tables: TableWrite[] = []
  const warnings: string[] = []
  for (const [stream, all] of byStream) {
    const [unknown, stubs]: [SourcedRow[], SourcedRow[]] = [[], []]
    for (const { key, record, source, readAt } of all) {
      const present = known.get(stream.name)?.get(keyText(key))
      if (present === 'direct') continue
      const projected = projectRecord(stream, record, {}, timeZone)
      if (!projected.ok) {
        // Without the value: it may be personal.
        const [reason = ''] = projected.reason.split(', got ', 1)
        warnings.push(`${stream.name}: a record inside ${source} is not valid and is not shown. ${reason}`)
        continue
      }
      const { row } = projected
      const id = `${stream.name} ${keyText(key)}`
      // A running commit may be about to insert a record that was checked before.
      const isNew = present === undefined && seen.isNew(id)
      if (!seen.saysNothingNew(id, row.payload, readAt)) (isNew ? unknown : stubs).push({ ...row, source, readAt })
    }
    for (const rows of [unknown, stubs])
      if (rows[0]?.readAt !== undefined && rows[0].source !== undefined)
        tables.push({
          stream,
          mode: 'stub',
          source: rows[0].source,
          readAt: rows[0].readAt,
          rows,
          newKeys: rows === unknown,
        })
  }
  return { tables, warnings }
}

/**
 * What a record of a list or a single read contains besides its own row: embedded records, and rows of streams inside
 * it.
 */
export function foundInside(received: Received, key: string, readAt: Date): readonly Found[] {
  const { stream, record, endpoint } = received
  const found: Found[] = []
  if (stream.embeds !== undefined) found.push({ embedding: [{ stream, record, endpoint, readAt }] })
  for (const { child, path } of insideOf(stream)) {
    const entries = elementsIn(valueAt(record, path))
    // An absent collection is unknown, as is one of another shape; an empty one is none.
    if (entries !== undefined) found.push(rowsInside(received, { child, entries, key, readAt }))
  }
  return found
}

/** The streams whose rows stand inside records of a stream, and where. */
const insideOf = once(({ name }: StreamDef) =>
  childrenOf(name).flatMap((child) => (child.reads.kind === 'inside' ? [{ child, path: child.reads.path }] : [])),
)

type Collection = {
  readonly child: StreamDef
  readonly entries: readonly Json[]
  /** Of the record it is in. */
  readonly key: string
  readonly readAt: Date
}

function rowsInside({ endpoint, timeZone }: Received, { child, entries, key, readAt }: Collection): Found {
  const columns = child.parentKey ?? []
  const request = { [columns[0] ?? '']: key }
  const of = { stream: child, request, endpoint, timeZone }
  const { rows, complete, found } = projectedAll(entries.map((entry) => ({ ...of, record: entry })))
  const replace = complete ? [{ columns: [...columns], values: [key] }] : []
  return { ...found, tables: [{ stream: child, mode: 'record', source: endpoint, readAt, rows, replace }] }
}

/**
 * A user who is gone does not come back through a rental that still embeds them: only the id stays. One lookup for all of
 * the records; what is returned redacts each, and returns the record itself where there is nothing to redact.
 */
export async function personRedaction(
  db: Queryable,
  stream: StreamDef,
  records: readonly { readonly record: Json }[],
): Promise<(record: Json) => Json> {
  const person = embeddedPerson(stream)
  if (person === undefined) return asItIs
  const { path, texts } = person
  const idPath = `${path}.id`
  const ids = new Set<string>()
  for (const { record } of records) {
    const id = idAt(record, idPath)
    if (id !== undefined && userId.test(id)) ids.add(id)
  }
  const gone = await tombstonedUsers(db, [...ids])
  if (gone.size === 0) return asItIs
  const redacted = Object.fromEntries(texts.map(({ field }) => [field, null]))
  return (record) => {
    const id = idAt(record, idPath)
    if (id === undefined || !gone.has(id) || !isObject(record)) return record
    // A member that holds only the id is kept.
    const kept = isObject(valueAt(record, path)) ? { [path]: { id: valueAt(record, idPath) ?? null } } : {}
    return { ...record, ...kept, ...redacted }
  }
}

const userId = /^\d{1,18}$/

const asItIs = (record: Json): Json => record

const idAt = (record: Json, path: string): string | undefined => textOf(valueAt(record, path))

/** The same changes, with the stubs of what stands inside the records. */
export async function withStubs(
  { database, settings }: SyncContext,
  changes: ChangeSet,
  seen: StubCache,
): Promise<ChangeSet> {
  const { timeZone } = settings
  const embedded = embeddedRecords(changes.embedding, changes.embedded, timeZone)
  const { tables, warnings } = await stubsOf(database.pool, embedded, { timeZone, seen })
  return {
    ...changes,
    tables: [...changes.tables, ...tables],
    warnings: [...changes.warnings, ...warnings],
    embedding: [],
    embedded: [],
  }
}
