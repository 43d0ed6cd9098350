// Replays a quarantined record: projects the stored payload again and writes it, without asking the API. Helps when the
// program, a setting or the table has changed since.

import { type Json, parseJson } from '../api/wire/json.ts'
import { readsOf, streamNamed } from '../catalog/catalog.ts'
import { isContentKey, keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { stubSource } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import { readJson } from '../json/lossless.ts'
import { applyWrites, DataRefused } from '../mirror/writer.ts'
import { type ChangeSet, changeSet, type Found, projected } from './change-set.ts'
import type { SyncContext } from './context.ts'
import { foundInside, personRedaction, withStubs } from './details/embeds.ts'
import { calendarDays, daysOf } from './details/readers/calendar.ts'
import { priceEntries } from './details/readers/prices.ts'
import { StubCache } from './details/stub-cache.ts'
import { clearQuarantine, indexedKey, type QuarantineEntry } from './quarantine.ts'
import type { RequestValues } from './records/project.ts'

export type Replayed =
  | { readonly kind: 'mirrored'; readonly rows: number }
  /** What is still wrong with it; it stays in quarantine. */
  | { readonly kind: 'refused'; readonly reason: string }

/** Projects the stored payload again and writes it; on success the record leaves the quarantine in the same transaction. */
export async function replayRecord(context: SyncContext, record: QuarantineEntry): Promise<Replayed> {
  const stream = streamNamed(record.stream)
  const replayed = await changesOf(context, stream, record)
  const reason = replayed.bad[0]?.reason ?? wrongKey(stream, record, replayed)
  if (reason !== null) return { kind: 'refused', reason }
  try {
    const { tables } = await withStubs(context, replayed, new StubCache())
    const written = await context.database.transaction(async (client) => {
      await context.privacy?.assertCurrent(client)
      const { counts } = await applyWrites(client, { tables })
      await clearQuarantine(client, [{ stream: record.stream, keys: [record.key] }])
      return [...counts.values()].reduce((sum, each) => sum + each.inserted + each.updated, 0)
    })
    context.onCommit(written)
    return { kind: 'mirrored', rows: written }
  } catch (error) {
    if (error instanceof DataRefused) return { kind: 'refused', reason: error.reason }
    throw error
  }
}

async function changesOf(context: SyncContext, stream: StreamDef, record: QuarantineEntry): Promise<ChangeSet> {
  const { endpoint, lastSeenAt: readAt } = record
  const received = bodyOf(stream, record)
  const body = (await personRedaction(context.database.pool, stream, [{ record: received }]))(received)
  const request = requestOf(stream, record, body)
  if (typeof request === 'string') return changeSet([{ bad: [{ ...record, reason: request, request: {} }] }])
  // Another stream's read knows the record at second hand only: `GET /v3/rentals/{rentalId}/user`.
  const direct = stream.reads.kind === 'inside' || readsOf(stream).some((each) => each === endpoint)
  const mode = direct ? 'record' : 'stub'
  const source = direct ? endpoint : stubSource(endpoint, stream.name)
  const found = entriesOf(stream, body).flatMap((entry): readonly Found[] => {
    const received = { stream, record: entry, request, endpoint, timeZone: context.settings.timeZone }
    const { row, found: own } = projected(received)
    if (row === undefined) return [own]
    const inside = stream.reads.kind === 'list' && direct ? foundInside(received, keyText(row.key), readAt) : []
    return [own, { tables: [{ stream, mode, source, readAt, rows: [row] }] }, ...inside]
  })
  return changeSet(found)
}

/** The stored payload. A payload that jsonb could not hold was stored as a JSON string of its text. */
function bodyOf(stream: StreamDef, record: QuarantineEntry): Json {
  const { value } = parseJson(record.payload)
  if (typeof value !== 'string' || stream.reads.kind === 'calendar') return value
  try {
    return parseJson(value).value
  } catch (error) {
    if (error instanceof BoatMirrorError && error.code === 'API_NOT_JSON') return value // it was a text from the start
    throw error
  }
}

/** A price table in quarantine may be a whole answer; everything else is one record. */
function entriesOf(stream: StreamDef, body: Json): readonly Json[] {
  if (stream.reads.kind !== 'pricetable') return [body]
  return priceEntries(body) ?? [body]
}

/**
 * The values that were not in the record; a calendar's days are read from the body again. A text is the reason why
 * they cannot be.
 */
function requestOf(stream: StreamDef, record: QuarantineEntry, body: Json): RequestValues | string {
  const request = readJson(record.request) as RequestValues
  if (stream.reads.kind !== 'calendar') return request
  const days = calendarDays(body)
  const expected = daysOf(Number(request.year))
  if (days !== null && days.length === expected) return { ...request, days }
  return `days: expected ${expected} characters of 0 and 1 for ${request.year}, got ${days === null ? 'none' : days.length}.`
}

/** A record under another key than the requested one is the wrong record. Null: it is the right one. */
function wrongKey(stream: StreamDef, record: QuarantineEntry, { tables }: ChangeSet): string | null {
  const row = tables.find((table) => table.stream === stream)?.rows[0]
  if (row === undefined || isContentKey(record.key)) return null
  const own = indexedKey(keyText(row.key))
  return own === record.key ? null : `Requested ${record.key}, but the API returned ${own}.`
}
