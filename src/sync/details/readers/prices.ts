// Price tables: per day and duration, asked a month at a time
// (docs/sources.md, reference/retrieve-resource-details/get-the-resource-pricetable).

import { isObject, type Json } from '../../../api/wire/json.ts'
import { addDays, dateIn } from '../../../clock.ts'
import type { TableWrite } from '../../../mirror/rows.ts'
import { type Found, projectedAll } from '../../change-set.ts'
import type { Reading } from '../../context.ts'
import { type JsonObject, valueAt } from '../../records/project.ts'
import { readOutcome } from '../single.ts'
import { type DetailRead, detailRead, notRead, parentValues } from './children.ts'

/** Days asked for at once. */
const rangeDays = 31

/** First and last days of the ranges that make up a horizon of `days` days from `today`. Pure. */
export function priceRanges(today: string, days: number): readonly { readonly from: string; readonly to: string }[] {
  const result: { from: string; to: string }[] = []
  for (let start = 0; start < days; start += rangeDays) {
    const end = Math.min(start + rangeDays, days) - 1
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
export async function readPricetable(reading: Reading<'pricetable'>, parentKey: string): Promise<DetailRead> {
  const { context, stream, reads } = reading
  const { endpoint } = reads
  const { params, request, scope } = parentValues(stream, parentKey)
  const { timeZone, priceDays } = context.settings
  const writes: TableWrite[] = []
  const findings: Found[] = []
  let startedAt = context.clock.now()
  for (const { from, to } of priceRanges(dateIn(timeZone, context.clock.now()), priceDays)) {
    const { outcome, found } = await readOutcome(reading, { endpoint, params, query: { from, to } })
    findings.push(found)
    if (outcome.kind === 'gone' || outcome.kind === 'failed') return notRead(outcome, findings, writes)
    if (outcome.kind === 'absent') continue
    const { body, startedAt: readAt } = outcome.value
    if (readAt < startedAt) startedAt = readAt
    const entries = priceEntries(body)
    const all = projectedAll((entries ?? [body]).map((record) => ({ stream, record, request, endpoint, timeZone })))
    findings.push(all.found)
    if (entries === null) continue
    findings.push({ counts: { read: entries.length } })
    const replace = all.complete ? [{ ...scope, from: { column: 'date', value: from, to } }] : []
    writes.push({ stream, mode: 'record', source: endpoint, readAt, rows: all.rows, replace })
  }
  return detailRead(startedAt, writes, findings)
}
