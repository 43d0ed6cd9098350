// Replays a quarantined record: projects the stored payload again and writes it, without asking the API. Helps when the
// program, a setting or the table has changed since (design, section 6.8).

import { type Json, parseJson } from '../api/json.ts'
import { readsOf, streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { messageOf } from '../errors.ts'
import { clearQuarantine } from '../mirror/quarantine.ts'
import { keyText } from '../mirror/records.ts'
import { stubMark, type TableWrite } from '../mirror/rows.ts'
import { applyWrites, DataRefused } from '../mirror/writer.ts'
import type { SyncContext } from './context.ts'
import { belowRecord, withoutErasedUsers } from './list-records.ts'
import type { RequestValues } from './project.ts'
import { calendarDays, daysOf } from './readers/calendar.ts'
import { priceEntries } from './readers/prices.ts'
import { emptyWork, projectInto, type Work } from './work.ts'

/** A record in quarantine, as it was stored. */
export type Quarantined = {
  readonly id: string
  readonly stream: string
  readonly key: string
  readonly endpoint: string
  /** JSON text, whole as received. */
  readonly payload: string
  readonly request: RequestValues
  /** When it was last received: a row read later is not replaced. */
  readonly lastSeenAt: Date
}

export type Replayed =
  | { readonly kind: 'mirrored'; readonly rows: number }
  /** What is still wrong with it; it stays in quarantine. */
  | { readonly kind: 'refused'; readonly reason: string }

/** Projects the stored payload again and writes it; on success the record leaves the quarantine in the same transaction. */
export async function replayRecord(
  context: Pick<SyncContext, 'database' | 'settings' | 'onCommit'>,
  record: Quarantined,
): Promise<Replayed> {
  const stream = streamNamed(record.stream)
  const work = await workOf(context, stream, record)
  const reason = work.bad[0]?.reason ?? wrongKey(stream, record, work)
  if (reason !== null) return { kind: 'refused', reason }
  try {
    const written = await context.database.transaction(async (client) => {
      const counts = await applyWrites(client, { tables: work.tables })
      await clearQuarantine(client, [{ stream: record.stream, keys: [record.key] }])
      return [...counts.values()].reduce((sum, each) => sum + each.inserted + each.updated, 0)
    })
    context.onCommit(written)
    return { kind: 'mirrored', rows: written }
  } catch (error) {
    if (error instanceof DataRefused) return { kind: 'refused', reason: messageOf(error.cause) }
    throw error
  }
}

async function workOf(
  context: Pick<SyncContext, 'database' | 'settings'>,
  stream: StreamDef,
  record: Quarantined,
): Promise<Work> {
  const { timeZone } = context.settings
  const work = emptyWork()
  const [body = null] = await withoutErasedUsers(context, stream, [parseJson(record.payload).value])
  const request = requestOf(stream, record, body)
  const origin = { endpoint: record.endpoint, readAt: record.lastSeenAt, timeZone }
  const ownRead = stream.reads.kind === 'inside' || readsOf(stream).some((endpoint) => endpoint === record.endpoint)
  for (const entry of entriesOf(stream, body)) {
    const projected = projectInto(work, stream, entry, request, record.endpoint, timeZone)
    if (!projected.ok) continue
    const write: TableWrite = {
      stream,
      // What another stream's read brought is known at second hand only.
      mode: ownRead ? 'record' : 'stub',
      source: ownRead ? record.endpoint : `${record.endpoint}${stubMark}${stream.name}`,
      readAt: record.lastSeenAt,
      rows: [projected.row],
    }
    work.tables.push(write)
    if (stream.reads.kind === 'list' && ownRead) belowRecord(work, stream, entry, keyText(projected.row.key), origin)
  }
  return work
}

/** A price table in quarantine may be a whole answer; everything else is one record. */
function entriesOf(stream: StreamDef, body: Json): readonly Json[] {
  if (stream.reads.kind !== 'pricetable') return [body]
  return priceEntries(body) ?? [body]
}

/** What did not stand in the record; a calendar's days are read from the body again. */
function requestOf(stream: StreamDef, record: Quarantined, body: Json): RequestValues {
  if (stream.reads.kind !== 'calendar') return record.request
  const days = calendarDays(body)
  const expected = daysOf(Number(record.request.year))
  return { ...record.request, days: days?.length === expected ? days : null }
}

/** A record that stands under another key than the one it was asked for is not what was wanted. Null: nothing is wrong. */
function wrongKey(stream: StreamDef, record: Quarantined, work: Work): string | null {
  if (record.key.startsWith('#')) return null
  const row = work.tables.find((table) => table.stream === stream)?.rows[0]
  if (row === undefined || keyText(row.key) === record.key) return null
  return `Asked for ${record.key}, and the record answered is ${keyText(row.key)}.`
}
