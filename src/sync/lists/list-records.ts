// One page of a list: which records are new or changed, and what follows from that.

import type { Page } from '../../api/client.ts'
import { isObject, type Json, parseJson, stringifyJson } from '../../api/wire/json.ts'
import { childrenOf, embeddedPerson } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { tombstonedUsers } from '../../mirror/redact.ts'
import type { Row, TableWrite } from '../../mirror/rows.ts'
import { contentKey } from '../../state/quarantine.ts'
import { keyText, knownRecords, readPayloads } from '../../state/records.ts'
import type { SyncContext } from '../context.ts'
import { hashOf, keyOf, projectionVersion, valueAt } from '../project.ts'
import { countAnswer, emptyWork, projectInto, type Work } from '../work.ts'
import { overlay } from './summary.ts'

type Entry = { readonly record: Json; readonly text: string; readonly hash: string; readonly key: string | null }

/** What one record of a list or a single read leads to, besides its own row: embedded records, rows from inside it. */
export function belowRecord(
  work: Work,
  stream: StreamDef,
  record: Json,
  key: string,
  origin: { readonly endpoint: string; readonly readAt: Date; readonly timeZone: string },
): void {
  if (stream.embeds !== undefined)
    work.holders.push({ stream, record, endpoint: origin.endpoint, readAt: origin.readAt })
  for (const child of childrenOf(stream.name)) {
    if (child.reads.kind !== 'inside') continue
    const entries = valueAt(record, child.reads.path)
    // An absent collection is unknown; an empty one is none.
    if (!Array.isArray(entries)) continue
    const request = { [child.parentKey?.[0] ?? '']: key }
    const rows: Row[] = []
    let complete = true
    for (const entry of entries) {
      const projected = projectInto(work, child, entry, request, origin.endpoint, origin.timeZone)
      if (projected.ok) rows.push(projected.row)
      else complete = false
    }
    const scope = { columns: [...(child.parentKey ?? [])], values: [key] }
    const write: TableWrite = {
      stream: child,
      mode: 'record',
      source: origin.endpoint,
      readAt: origin.readAt,
      rows,
      replace: complete ? [scope] : [],
    }
    work.tables.push(write)
  }
}

/** A user who is gone does not come back through a rental that still embeds them: only the id stays. */
export async function withoutErasedUsers(
  context: SyncContext,
  stream: StreamDef,
  records: readonly Json[],
): Promise<readonly Json[]> {
  const person = embeddedPerson(stream)
  if (person === undefined) return records
  const { path, texts } = person
  const erased = Object.fromEntries(texts.map(({ field }) => [field, null]))
  const idOf = (record: Json): string | undefined => {
    const id = valueAt(record, `${path}.id`)
    return id === undefined || id === null ? undefined : stringifyJson(id)
  }
  const ids = [...new Set(records.map(idOf).filter((id) => id !== undefined && /^\d{1,18}$/.test(id)))] as string[]
  const gone = ids.length === 0 ? new Set<string>() : await tombstonedUsers(context.database.pool, ids)
  if (gone.size === 0) return records
  return records.map((record) => {
    const id = idOf(record)
    if (id === undefined || !gone.has(id) || !isObject(record)) return record
    return { ...record, [path]: { id: valueAt(record, `${path}.id`) ?? null }, ...erased }
  })
}

/** Some records of a page: all of them, unless it is a large one. */
export type PagePart = Page & { readonly first: boolean; readonly last: boolean }

/** Cuts pages into parts, and gives them in portions of at most `limit` records. */
export function* portionsOfPages(pages: readonly Page[], limit: number): Generator<readonly PagePart[]> {
  let portion: PagePart[] = []
  let count = 0
  for (const page of pages)
    for (let start = 0; start === 0 || start < page.items.length; start += limit) {
      const items = page.items.slice(start, start + limit)
      if (count + items.length > limit) {
        yield portion
        ;[portion, count] = [[], 0]
      }
      portion.push({ ...page, items, first: start === 0, last: start + limit >= page.items.length })
      count += items.length
    }
  if (portion.length > 0) yield portion
}

/**
 * Turns pages into work: bad records to quarantine, unchanged ones to nothing, the others to rows, stubs and due details.
 * @param summary the list's records are summaries: they are laid over what the detail said.
 * @returns the work, and the keys of each part; a record without one is told by its content.
 */
export async function workOfPages(
  context: SyncContext,
  stream: StreamDef,
  endpoint: string,
  pages: readonly PagePart[],
  summary: boolean,
): Promise<{ readonly work: Work; readonly keysOfPart: readonly (readonly string[])[] }> {
  const { timeZone } = context.settings
  const work = emptyWork()
  const entriesOfPage = pages.map((page) =>
    page.items.map((record): Entry => {
      const parts = keyOf(stream, record, timeZone)
      const text = stringifyJson(record)
      return { record, text, hash: hashOf(text), key: parts === null ? null : keyText(parts) }
    }),
  )
  const keys = entriesOfPage.flat().flatMap((entry) => (entry.key === null ? [] : [entry.key]))
  const known = await knownRecords(context.database.pool, stream, keys)
  const isUnchanged = ({ key, hash }: Entry): boolean => {
    const state = key === null ? undefined : known.get(key)
    return state?.listHash === hash && state.alive && !state.stub && state.projection === projectionVersion
  }

  for (const [index, page] of pages.entries()) {
    const entries = entriesOfPage[index] ?? []
    if (page.first) {
      countAnswer(work, page)
      work.counts.pages += 1
    }
    work.counts.read += entries.length
    const changed = entries.filter((entry) => !isUnchanged(entry))
    work.counts.unchanged += entries.length - changed.length
    const isThere = ({ key }: Entry): boolean => key === null || known.get(key)?.exists === true
    const origin = { endpoint, readAt: page.startedAt, summary }
    await addChanged(context, stream, work, changed.filter(isThere), { ...origin, fresh: false })
    await addChanged(
      context,
      stream,
      work,
      changed.filter((entry) => !isThere(entry)),
      { ...origin, fresh: true },
    )
  }
  return { work, keysOfPart: entriesOfPage.map((entries) => entries.map(({ key, hash }) => key ?? contentKey(hash))) }
}

async function addChanged(
  context: SyncContext,
  stream: StreamDef,
  work: Work,
  changed: readonly Entry[],
  origin: { readonly endpoint: string; readonly readAt: Date; readonly summary: boolean; readonly fresh: boolean },
): Promise<void> {
  if (changed.length === 0) return
  const { timeZone } = context.settings
  const keys = changed.flatMap(({ key }) => (key === null ? [] : [key]))
  const payloads =
    origin.summary && !origin.fresh ? await readPayloads(context.database.pool, stream, keys) : new Map<string, never>()
  const records = await withoutErasedUsers(
    context,
    stream,
    changed.map((entry) => entry.record),
  )
  const rows: (Row & { readonly source?: string })[] = []
  for (const [index, entry] of changed.entries()) {
    const listed = records[index] ?? entry.record
    // Where lists are summaries, the payload stays the single read's until that is read again.
    const known = entry.key === null ? undefined : payloads.get(entry.key)
    const detail = known?.source === origin.endpoint ? undefined : known
    const record = detail === undefined ? listed : overlay(parseJson(detail.payload).value, listed)
    const text = record === entry.record ? entry.text : undefined
    const projected = projectInto(work, stream, record, {}, origin.endpoint, timeZone, text)
    if (!projected.ok) continue
    rows.push(
      detail === undefined ? projected.row : { ...projected.row, payload: detail.payload, source: detail.source },
    )
    const key = keyText(projected.row.key)
    work.records.push({ stream: stream.name, key, listHash: entry.hash, projection: projectionVersion, changed: true })
    belowRecord(work, stream, listed, key, { ...origin, timeZone })
  }
  const { endpoint: source, readAt, fresh } = origin
  work.tables.push({ stream, mode: 'record', source, readAt, rows, newKeys: fresh })
}
