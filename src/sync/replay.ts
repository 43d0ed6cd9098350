// Replays a quarantined record: projects the stored payload again and writes it, without asking the API. Helps when the
// program, a setting or the table has changed since.

import { type Json, parseJson } from '../api/wire/json.ts'
import { readsOf, streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { stubSource } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import type { TableWrite } from '../mirror/rows.ts'
import { applyWrites, DataRefused } from '../mirror/writer.ts'
import { clearQuarantine, type QuarantineEntry } from '../state/quarantine.ts'
import { keyText } from '../state/records.ts'
import type { SyncContext } from './context.ts'
import { embeddedRecords, stubsOf } from './details/embeds.ts'
import { calendarDays, daysOf } from './details/readers/calendar.ts'
import { priceEntries } from './details/readers/prices.ts'
import { belowRecord, withoutErasedUsers } from './lists/list-records.ts'
import type { RequestValues } from './project.ts'
import { emptyWork, projectInto, type Work } from './work.ts'

export type Replayed =
  | { readonly kind: 'mirrored'; readonly rows: number }
  /** What is still wrong with it; it stays in quarantine. */
  | { readonly kind: 'refused'; readonly reason: string }

/** Projects the stored payload again and writes it; on success the record leaves the quarantine in the same transaction. */
export async function replayRecord(context: SyncContext, record: QuarantineEntry): Promise<Replayed> {
  const stream = streamNamed(record.stream)
  const work = await workOf(context, stream, record)
  const reason = work.bad[0]?.reason ?? wrongKey(stream, record, work)
  if (reason !== null) return { kind: 'refused', reason }
  try {
    const written = await context.database.transaction(async (client) => {
      const { timeZone } = context.settings
      const stubs = await stubsOf(client, embeddedRecords(work.holders, [], timeZone), timeZone)
      const counts = await applyWrites(client, { tables: [...work.tables, ...stubs] })
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

async function workOf(context: SyncContext, stream: StreamDef, record: QuarantineEntry): Promise<Work> {
  const { timeZone } = context.settings
  const work = emptyWork()
  const [body = null] = await withoutErasedUsers(context, stream, [bodyOf(stream, record)])
  const request = requestOf(stream, record, body)
  if (typeof request === 'string') {
    work.bad.push({ ...record, reason: request, request: {} })
    return work
  }
  const origin = { endpoint: record.endpoint, readAt: record.lastSeenAt, timeZone }
  // Another stream's read knows the record at second hand only: `GET /v3/rentals/{rentalId}/user`.
  const direct = stream.reads.kind === 'inside' || readsOf(stream).some((endpoint) => endpoint === record.endpoint)
  for (const entry of entriesOf(stream, body)) {
    const projected = projectInto(work, stream, entry, request, record.endpoint, timeZone)
    if (!projected.ok) continue
    const write: TableWrite = {
      stream,
      mode: direct ? 'record' : 'stub',
      source: direct ? record.endpoint : stubSource(record.endpoint, stream.name),
      readAt: record.lastSeenAt,
      rows: [projected.row],
    }
    work.tables.push(write)
    if (stream.reads.kind === 'list' && direct) belowRecord(work, stream, entry, keyText(projected.row.key), origin)
  }
  return work
}

/** The stored payload. What jsonb could not hold was stored as a JSON string of its text. */
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

/** What did not stand in the record; a calendar's days are read from the body again. A text says what is wrong with them. */
function requestOf(stream: StreamDef, record: QuarantineEntry, body: Json): RequestValues | string {
  const request = JSON.parse(record.request) as RequestValues
  if (stream.reads.kind !== 'calendar') return request
  const days = calendarDays(body)
  const expected = daysOf(Number(request.year))
  if (days !== null && days.length === expected) return { ...request, days }
  return `days: expected ${expected} characters of 0 and 1 for ${request.year}, got ${days === null ? 'none' : days.length}.`
}

/** Longer keys are cut in the quarantine. */
const longestKey = 500

/** A record that stands under another key than the one it was asked for is not what was wanted. Null: nothing is wrong. */
function wrongKey(stream: StreamDef, record: QuarantineEntry, work: Work): string | null {
  const row = work.tables.find((table) => table.stream === stream)?.rows[0]
  if (row === undefined || record.key.startsWith('#')) return null
  const own = keyText(row.key)
  if (own === record.key || own.length > longestKey) return null
  return `Asked for ${record.key}, and the record answered is ${own}.`
}
