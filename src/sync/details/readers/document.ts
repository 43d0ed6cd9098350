// At most one record below another: identity, license, the rental's resource.

import { isObject, type Json } from '../../../api/wire/json.ts'
import { streamNamed, streams } from '../../../catalog/catalog.ts'
import { columnType } from '../../../catalog/columns.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import type { SyncContext } from '../../context.ts'
import { convertValue } from '../../convert.ts'
import { valueAt } from '../../project.ts'
import { projectInto, type Work } from '../../work.ts'
import { readOutcome } from '../single.ts'
import { parentValues } from './collection.ts'
import type { DetailRead } from './detail.ts'

/**
 * Reads the document; how the API says that there is none is not documented, so 204, an empty body and null mean it, and
 * so does an empty object where there may be none.
 */
export async function readDocument(
  context: SyncContext,
  stream: StreamDef,
  holderKey: string,
  work: Work,
  signal: AbortSignal,
): Promise<DetailRead> {
  if (stream.reads.kind !== 'document') throw new Error(`${stream.name} is no document.`)
  const { endpoint } = stream.reads
  const { params, request, scope } = parentValues(stream, holderKey)
  const outcome = await readOutcome(context, work, { endpoint, params, signal })
  const isNone = outcome.kind === 'there' && stream.reads.optional && isEmpty(outcome.value.body)
  if (outcome.kind === 'absent' || isNone) {
    const readAt = context.clock.now()
    return {
      outcome: { kind: 'there', value: { startedAt: readAt } },
      writes: [{ stream, mode: 'record', source: endpoint, readAt, rows: [], replace: [scope] }],
    }
  }
  if (outcome.kind !== 'there') return { outcome, writes: [] }
  const { body, startedAt } = outcome.value
  work.counts.read += 1
  const { timeZone } = context.settings
  const projected = projectInto(work, stream, body, request, endpoint, timeZone)
  if (!projected.ok) return { outcome: { kind: 'there', value: { startedAt } }, writes: [] }
  if (stream.embeds !== undefined) work.holders.push({ stream, record: body, endpoint, readAt: startedAt })
  fillParent(work, stream, holderKey, body, startedAt)
  return {
    outcome: { kind: 'there', value: { startedAt } },
    writes: [{ stream, mode: 'record', source: endpoint, readAt: startedAt, rows: [projected.row], replace: [] }],
  }
}

const isEmpty = (body: Json): boolean => isObject(body) && Object.keys(body).length === 0

/** Columns of another stream that this read fills: a rental's resource and company. */
function fillParent(work: Work, stream: StreamDef, holderKey: string, body: Json, readAt: Date): void {
  for (const target of streams) {
    if (target.filledBy?.stream !== stream.name) continue
    const columns = target.filledBy.columns.map(({ column, path }) => {
      const converted = convertValue(columnType(streamNamed(target.name), column), valueAt(body, path), 'UTC')
      return [column, converted.ok ? converted.text : null] as const
    })
    work.filled.push({ stream: target, readAt, rows: [{ key: [holderKey], values: Object.fromEntries(columns) }] })
  }
}
