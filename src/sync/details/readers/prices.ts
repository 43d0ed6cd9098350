// Price tables: per day and duration, asked in portions of a month
// (docs/sources.md, reference/retrieve-resource-details/get-the-resource-pricetable).

import { isObject, type Json } from '../../../api/wire/json.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import { addDays, dateIn } from '../../../clock.ts'
import type { TableWrite } from '../../../mirror/rows.ts'
import type { SyncContext } from '../../context.ts'
import { type JsonObject, valueAt } from '../../project.ts'
import { projectInto, type Work } from '../../work.ts'
import { readOutcome } from '../single.ts'
import { parentValues } from './collection.ts'
import type { DetailRead } from './detail.ts'

/** Days asked for at once. */
export const portionDays = 31

/** First and last days of the portions of a horizon of `days` days from `today`. Pure. */
export function pricePortions(today: string, days: number): readonly { readonly from: string; readonly to: string }[] {
  const result: { from: string; to: string }[] = []
  for (let start = 0; start < days; start += portionDays) {
    const end = Math.min(start + portionDays, days) - 1
    result.push({ from: addDays(today, start), to: addDays(today, end) })
  }
  return result
}

const without = (record: JsonObject, member: string): { [key: string]: Json } =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name !== member))

/** One flat record per day and duration; what stands beside the lists is kept with each. Null when the shape is not the published one. Pure. */
export function priceEntries(body: Json): readonly Json[] | null {
  const results = Array.isArray(body) ? body : valueAt(body, 'results')
  if (!Array.isArray(results)) return null
  const outer = isObject(body) ? without(body, 'results') : {}
  return results.flatMap((day): Json[] => {
    if (!isObject(day) || !Array.isArray(day.pricetable)) return [day]
    const of = without(day, 'pricetable')
    return day.pricetable.map((entry): Json => (isObject(entry) ? { ...outer, ...of, ...entry } : entry))
  })
}

/** Reads PRICE_DAYS of prices of one resource. */
export async function readPricetable(
  context: SyncContext,
  stream: StreamDef,
  holderKey: string,
  work: Work,
  signal: AbortSignal,
): Promise<DetailRead> {
  if (stream.reads.kind !== 'pricetable') throw new Error(`${stream.name} is no price table.`)
  const { endpoint } = stream.reads
  const { params, request, scope } = parentValues(stream, holderKey)
  const { timeZone, priceDays } = context.settings
  const writes: TableWrite[] = []
  let startedAt = context.clock.now()
  for (const { from, to } of pricePortions(dateIn(timeZone, context.clock.now()), priceDays)) {
    const outcome = await readOutcome(context, work, { endpoint, params, query: { from, to }, signal })
    if (outcome.kind === 'gone' || outcome.kind === 'failed') return { outcome, writes }
    if (outcome.kind === 'absent') continue
    if (outcome.value.startedAt < startedAt) startedAt = outcome.value.startedAt
    const entries = priceEntries(outcome.value.body)
    if (entries === null) {
      projectInto(work, stream, outcome.value.body, request, endpoint, timeZone)
      continue
    }
    const projected = entries.map((entry) => projectInto(work, stream, entry, request, endpoint, timeZone))
    const rows = projected.flatMap((each) => (each.ok ? [each.row] : []))
    work.counts.read += entries.length
    const range = { ...scope, from: { column: 'date', value: from, to } }
    writes.push({
      stream,
      mode: 'record',
      source: endpoint,
      readAt: outcome.value.startedAt,
      rows,
      replace: rows.length === entries.length ? [range] : [],
    })
  }
  return { outcome: { kind: 'there', value: { startedAt } }, writes }
}
