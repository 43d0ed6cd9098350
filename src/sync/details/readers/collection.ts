// A collection below one record: replaced from a complete answer, each element by its own single where there is one.

import type { Json } from '../../../api/wire/json.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import type { Row, Scope } from '../../../mirror/rows.ts'
import { keyParts } from '../../../state/records.ts'
import type { SyncContext } from '../../context.ts'
import { convertValue } from '../../convert.ts'
import { overlay } from '../../lists/summary.ts'
import { contentKeys, type RequestValues, valueAt } from '../../project.ts'
import { projectInto, type Work } from '../../work.ts'
import { readOutcome } from '../single.ts'
import type { DetailRead } from './detail.ts'
import { readItems } from './items.ts'

type CollectionReads = Extract<StreamDef['reads'], { kind: 'collection' }>

/** Path parameters and key columns that name the parent. */
export function parentValues(
  stream: StreamDef,
  holderKey: string,
): { readonly params: Record<string, string>; readonly request: Record<string, string>; readonly scope: Scope } {
  const columns = stream.parentKey ?? []
  const parts = columns.length === 1 ? [holderKey] : keyParts(stream, holderKey)
  return {
    params: Object.fromEntries((stream.parentParams ?? []).map((name, index) => [name, parts[index] ?? ''])),
    request: Object.fromEntries(columns.map((name, index) => [name, parts[index] ?? ''])),
    scope: { columns: [...columns], values: parts.slice(0, columns.length) },
  }
}

/** Reads a collection and its singles. */
export async function readCollection(
  context: SyncContext,
  stream: StreamDef,
  holderKey: string,
  work: Work,
  signal: AbortSignal,
  query: Record<string, string> = {},
): Promise<DetailRead> {
  const reads = stream.reads as CollectionReads
  const { params, request, scope } = parentValues(stream, holderKey)
  const listed = await readItems(context, work, { stream, endpoint: reads.list, params, query, signal })
  if (listed.kind !== 'there') return { outcome: listed, writes: [] }
  const { items, startedAt } = listed.value
  const records = await Promise.all(items.map((item) => withSingle(context, stream, reads, params, item, work, signal)))
  const keys = stream.keyed === 'content' ? contentKeys(records) : []
  const rows: Row[] = []
  let complete = true
  for (const [index, record] of records.entries()) {
    const values: RequestValues = { ...request, key: keys[index] ?? null, position: String(index) }
    const projected = projectInto(work, stream, record, values, reads.list, context.settings.timeZone)
    if (projected.ok) rows.push(projected.row)
    else complete = false
  }
  work.counts.read += records.length
  const source = reads.single?.endpoint ?? reads.list
  return {
    outcome: { kind: 'there', value: { startedAt } },
    writes: [{ stream, mode: 'record', source, readAt: startedAt, rows, replace: complete ? [scope] : [] }],
  }
}

/** The element's own single, laid over the element; the element itself where there is no single or it is not to be had. */
async function withSingle(
  context: SyncContext,
  stream: StreamDef,
  reads: CollectionReads,
  params: Record<string, string>,
  item: Json,
  work: Work,
  signal: AbortSignal,
): Promise<Json> {
  const { single } = reads
  if (single === undefined) return item
  const paths = single.fallbackPath === undefined ? ['id'] : ['id', single.fallbackPath]
  for (const path of paths) {
    const id = convertValue('text', valueAt(item, path), 'UTC')
    if (!id.ok || id.text === null || id.text === '') continue
    const outcome = await readOutcome(context, work, {
      endpoint: single.endpoint,
      params: { ...params, [single.param]: id.text },
      signal,
    })
    // Laid over the element, because "nothing is dropped" holds for what only the list says as well.
    if (outcome.kind === 'there') return overlay(item, outcome.value.body)
    if (outcome.kind === 'failed') {
      work.problems.push(`${stream.name}: ${outcome.reason}`)
      return item
    }
  }
  return item
}
