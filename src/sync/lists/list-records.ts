// Pages of a list: which need not be received again, which records are new or changed, and what follows from that. What is
// done for each record is done by loops and functions that are made once: V8 compiles one that is made for each batch
// anew for each.

import { setImmediate } from 'node:timers/promises'
import type { KeptPage, Page } from '../../api/client.ts'
import type { Elements } from '../../api/wire/elements.ts'
import { type Json, parseJson, stringifyJson } from '../../api/wire/json.ts'
import { contentKey, keyText } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { lacksErased } from '../../mirror/erasures.ts'
import type { RecordState } from '../../mirror/records.ts'
import type { SourcedRow } from '../../mirror/rows.ts'
import { answerFound, type ChangeSet, changeSet, type Found, nothing, projected } from '../change-set.ts'
import type { TaskRun } from '../context.ts'
import { foundInside, personRedaction } from '../details/embeds.ts'
import { comparesAged } from '../economy.ts'
import { hashOf, keyOf, projectionVersion } from '../records/project.ts'
import type { KnownRecord } from '../remembered/known-records.ts'
import { keptNames, keptPage, type ListPage } from '../remembered/list-pages.ts'
import { type Payload, readPayloads } from '../remembered/payloads.ts'
import type { Checkpoint } from './progress.ts'
import { overlay } from './summary.ts'

/** A record of a page, not decoded yet. */
type Entry = {
  readonly items: Elements
  readonly index: number
  /** Of its bytes. */
  readonly hash: string
  readonly key: string | null
}

/** A record that is new or changed, or was projected by an earlier version. */
type Decoded = {
  readonly record: Json
  readonly text: string
  readonly hash: string
  readonly key: string | null
  readonly changed: boolean
  /** A row exists, or it is unknown. */
  readonly isThere: boolean
}

/** Some records of a page: all of them, unless it is a large one. */
type PagePart = Page & { readonly first: boolean; readonly last: boolean }

/** Cuts pages into parts, and gives them in batches of at most `limit` records. */
export function* pageBatches(pages: readonly Page[], limit: number): Generator<readonly PagePart[]> {
  let batch: PagePart[] = []
  let count = 0
  for (const page of pages)
    for (let start = 0; start === 0 || start < page.items.length; start += limit) {
      const items = page.items.slice(start, start + limit)
      if (count + items.length > limit) {
        yield batch
        ;[batch, count] = [[], 0]
      }
      batch.push({ ...page, items, first: start === 0, last: start + limit >= page.items.length })
      count += items.length
    }
  if (batch.length > 0) yield batch
}

/**
 * What the records of pages lead to: bad ones to quarantine, unchanged ones to nothing, the others to rows, stubs and
 * due details.
 * @param list.summary the list's records are summaries: they are laid over the stored detail.
 * @param list.comparesAged rows are compared with the list because of their age.
 * @returns the changes, and the keys of each part; a record without a key is identified by its content.
 */
export async function changesOfPages(
  run: TaskRun<'list'>,
  pages: readonly PagePart[],
  { summary, comparesAged }: { readonly summary: boolean; readonly comparesAged: boolean },
): Promise<{ readonly changes: ChangeSet; readonly keysOfPart: readonly (readonly string[])[] }> {
  const { context, stream, writer } = run
  const { pool } = context.database
  const entriesOfPage = pages.map(({ items }) => entriesOf(items, stream, context.settings.timeZone))
  const known = await writer.knownRecords(run, keysOf(entriesOfPage.flat()), comparesAged)
  const changedOfPage: (readonly Decoded[])[] = []
  for (const entries of entriesOfPage) {
    changedOfPage.push(decodeChanged(entries, known))
    await othersTurn()
  }
  const all = changedOfPage.flat()
  const payloads = await readPayloads(pool, stream, summary ? keysOf(parted(all).there) : [])
  const redact = await personRedaction(pool, stream, all)

  const found: Found[] = []
  for (const [index, page] of pages.entries()) {
    const changed = changedOfPage[index] ?? []
    const read = page.unchanged?.keys.length ?? entriesOfPage[index]?.length ?? 0
    if (page.first) found.push(answerFound(page), { counts: { pages: 1 } })
    found.push({ counts: { read, unchanged: read - changed.length } })
    const { there, missing } = parted(changed)
    const of = { readAt: page.startedAt, payloads, redact }
    found.push(changedRecords(run, there, { ...of, newKeys: false }))
    found.push(changedRecords(run, missing, { ...of, newKeys: true }))
    await othersTurn()
  }
  const keysOfPart = entriesOfPage.map((entries, index) => pages[index]?.unchanged?.keys ?? entries.map(keyOrContent))
  return { changes: changeSet(found), keysOfPart }
}

/** The keys of those that have one. */
function keysOf(entries: readonly { readonly key: string | null }[]): readonly string[] {
  const keys: string[] = []
  for (const { key } of entries) if (key !== null) keys.push(key)
  return keys
}

/** Those that have a row, and those that have none. One without a key is never inserted directly. */
function parted(all: readonly Decoded[]): { readonly there: readonly Decoded[]; readonly missing: readonly Decoded[] } {
  const there: Decoded[] = []
  const missing: Decoded[] = []
  for (const each of all) (each.isThere ? there : missing).push(each)
  return { there, missing }
}

/** Between pages the sockets have their turn: ten in one go would keep COPY and requests waiting for a tenth of a second. */
const othersTurn = (): Promise<void> => setImmediate()

/** Keys come from the heads of the records if the heads contain them; a wrong key would not match its hash. */
function entriesOf(items: Elements, stream: StreamDef, timeZone: string): readonly Entry[] {
  const inHead = stream.key.every((key) => key === 'id' || key === 'code')
  const entries: Entry[] = []
  for (let index = 0; index < items.length; index++) {
    const parts = keyOf(stream, inHead ? items.head(index) : items.value(index), timeZone)
    entries.push({ items, index, hash: items.hash(index), key: parts === null ? null : keyText(parts) })
  }
  return entries
}

/** As `projectRecord` names a record without a key. */
const keyOfContent = ({ items, index }: Entry): string => contentKey(hashOf(stringifyJson(items.value(index))))

const keyOrContent = (entry: Entry): string => entry.key ?? keyOfContent(entry)

/** Decodes the records whose row may have to change. */
function decodeChanged(entries: readonly Entry[], known: ReadonlyMap<string, KnownRecord>): readonly Decoded[] {
  const changed: Decoded[] = []
  for (const { items, index, hash, key } of entries) {
    const state = key === null ? undefined : known.get(key)
    const isOwn = state?.alive === true && !state.stub
    const isSame = isOwn && state.listHash === hash
    if (isSame && state.projection === projectionVersion && !state.aged) continue
    const { value: record, text } = items.decoded(index)
    changed.push({ record, text, hash, key, changed: !isSame, isThere: key === null || state?.exists === true })
  }
  return changed
}

type OfPage = {
  readonly readAt: Date
  readonly newKeys: boolean
  /** The singles of records that the list only summarizes, by key. */
  readonly payloads: ReadonlyMap<string, Payload>
  readonly redact: (record: Json) => Json
}

function changedRecords(
  { context, stream, reads }: TaskRun<'list'>,
  changed: readonly Decoded[],
  { readAt, newKeys, payloads, redact }: OfPage,
): Found {
  if (changed.length === 0) return {}
  const of = { stream, endpoint: reads.list, timeZone: context.settings.timeZone }
  const rows: SourcedRow[] = []
  const records: RecordState[] = []
  const found: Found[] = []
  for (const entry of changed) {
    const listed = redact(entry.record)
    // Where lists are summaries, the payload stays the single read's until that is read again.
    const known = entry.key === null ? undefined : payloads.get(entry.key)
    // Nor does it fill a row that `privacy apply` has erased: the feed shows that once, with all its values.
    const awaitsSingle = known !== undefined && lacksErased(known.payload)
    const detail = known?.source === reads.list || awaitsSingle ? undefined : known
    const record = detail === undefined ? listed : overlay(parseJson(detail.payload).value, listed)
    const { row, found: own } = projected(
      record === entry.record ? { ...of, record, payload: entry.text } : { ...of, record },
    )
    if (row === undefined) {
      // A quarantined record is identified by the JSON we write for it, in which each member occurs once.
      found.push(projected({ ...of, record }).found)
      continue
    }
    if (!awaitsSingle)
      rows.push(detail === undefined ? row : { ...row, payload: detail.payload, source: detail.source })
    const key = keyText(row.key)
    records.push({
      stream: stream.name,
      key,
      listHash: entry.hash,
      projection: projectionVersion,
      changed: entry.changed,
      isNew: newKeys,
      listed: true,
    })
    if (own !== nothing) found.push(own)
    for (const each of foundInside({ ...of, record: listed }, key, readAt)) found.push(each)
  }
  return changeSet([
    ...found,
    { records, tables: [{ stream, mode: 'record', source: reads.list, readAt, rows, newKeys }] },
  ])
}

/** One hash for the hashes of a page's records. */
const hashOfPage = (hashes: readonly (string | null)[]): string => hashOf(hashes.join(' '))

/** What to store of a page. Headers, too, may show where the last one ends: it is received again each time. */
export function pageToKeep({ name, tag, next, items, unchanged }: Page, keys: readonly string[]): ListPage | null {
  if (name === undefined || tag === undefined || next === null || unchanged !== undefined) return null
  return { name, tag, keys, hash: hashOfPage(keys.map((_, index) => items.hash(index))), next }
}

/** The row is the record's own, made by this version and not to be compared anew: while its hash is the same, so is the row. */
const isProjected = (state: KnownRecord | undefined): state is KnownRecord =>
  state?.alive === true && !state.stub && !state.aged && state.projection === projectionVersion

/**
 * Finds what is kept of a page, for `ListCall.kept`. Each page is received whole once in a DETAIL_MAX_AGE all the same, so
 * that an API with wrong tags is found out; and in a full sync, a check, and further passes through a list that moved.
 */
export async function keptPages(
  run: TaskRun<'list'>,
  at: Checkpoint,
): Promise<(name: string) => Promise<KeptPage | null>> {
  const { context, stream, task, writer } = run
  const { pool } = context.database
  const isTrusted = !task.fullRead && at.pass === 1
  const aged = comparesAged(await writer.economy(run), stream)
  const names = isTrusted ? await keptNames(pool, stream.name, context.settings.detailMaxAgeMs) : new Set()
  return async (name) => {
    const page = names.has(name) ? await keptPage(pool, stream.name, name) : null
    if (page === null) return null
    const known = await writer.knownRecords(run, page.keys, aged)
    const records = page.keys.map((key) => known.get(key))
    return records.every(isProjected) && hashOfPage(records.map(({ listHash }) => listHash)) === page.hash ? page : null
  }
}
