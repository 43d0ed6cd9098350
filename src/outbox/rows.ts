// The API's answers as rows and tombstones of the mirror.

import type { Json } from '../api/wire/json.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { StreamDef, WriteDef } from '../catalog/types.ts'
import type { FilledWrite, MirrorWrites, TableWrite } from '../mirror/rows.ts'
import type { PushContext } from './context.ts'
import type { Params, Seen } from './reads.ts'

type Projection = { readonly writes: MirrorWrites; readonly warnings: readonly string[] }

const nothing: Projection = { writes: {}, warnings: [] }

const isHidden = (context: PushContext, stream: StreamDef): boolean =>
  stream.document === true && !context.settings.mirrorDocuments

/** Values of key columns that stand in the path, not in the record. */
const requestValues = (stream: StreamDef, params: Params): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (stream.parentKey ?? []).map((column, index) => [column, params[stream.parentParams?.[index] ?? ''] ?? '']),
  )

/** A record as read or answered, as a row of `streamName`. A record that can't be mirrored is a warning, not an error. */
export function recordWrites(context: PushContext, streamName: string, seen: Seen, params: Params): Projection {
  const stream = streamNamed(streamName)
  if (seen.record === null || isHidden(context, stream)) return nothing
  const projected = context.project(stream, seen.record, requestValues(stream, params), context.settings.timeZone)
  if (!projected.ok) return { writes: {}, warnings: [`The answer could not be mirrored: ${projected.reason}`] }
  const table: TableWrite = {
    stream,
    source: seen.source,
    readAt: seen.readAt,
    rows: [projected.row],
    mode: 'record',
  }
  return { writes: { tables: [table] }, warnings: [] }
}

/** The tombstone of what a delete or remove took away. */
export function removalWrites(write: WriteDef, key: readonly string[], readAt: Date): MirrorWrites {
  return { tombstones: [{ stream: streamNamed(write.stream), keys: [key], source: write.endpoint, readAt }] }
}

/** A new rental's resource and company: the rental itself does not name them. */
export async function filledWrites(
  context: PushContext,
  rentalId: string,
  resourceId: string,
  readAt: Date,
): Promise<readonly FilledWrite[]> {
  const { rows } = await context.database.pool.query<{ company_id: string | null }>(
    `select company_id from mirror.resources where id = $1`,
    [resourceId],
  )
  const values: Record<string, string | null> = { resource_id: resourceId, company_id: rows[0]?.company_id ?? null }
  return [{ stream: streamNamed('rentals'), readAt, rows: [{ key: [rentalId], values }] }]
}

/** A record that came in the answer to a write, or in a list: it is as new as that, and only as the mirror holds it. */
export const answered = (record: Json, readAt: Date, source: string): Seen => ({
  record,
  exact: record,
  readAt,
  source,
})
