// Slots of a resource: per day of the horizon and per duration, without mandatory options in the price
// (docs/sources.md, reference/retrieve-resource-slot-details/list-resource-slots).

import { addDays, dateIn } from '../../../clock.ts'
import type { Row, Scope, TableWrite } from '../../../mirror/rows.ts'
import { type Found, projectedAll } from '../../change-set.ts'
import type { Reading, SyncContext } from '../../context.ts'
import { type DetailRead, detailRead, notRead, parentValues, readItems } from './children.ts'

/** The days slots and availability are read for, today being the first. */
export function slotDates(context: SyncContext): readonly string[] {
  const today = dateIn(context.settings.timeZone, context.clock.now())
  return Array.from({ length: context.settings.slotDays }, (_, day) => addDays(today, day))
}

/** Reads the slots of one resource for the horizon and its first durations, as answered. */
export async function readSlots(
  reading: Reading<'slots'>,
  parentKey: string,
  durations: readonly string[],
): Promise<DetailRead> {
  const { context, stream, reads } = reading
  const { list: endpoint } = reads
  const { timeZone } = context.settings
  const { params, request, scope } = parentValues(stream, parentKey)
  const dates = slotDates(context)
  const rows = new Map<string, Row>()
  const findings: Found[] = []
  let startedAt = context.clock.now()
  let complete = true
  const received = (replace: readonly Scope[]): readonly TableWrite[] => [
    { stream, mode: 'record', source: endpoint, readAt: startedAt, rows: [...rows.values()], replace },
  ]
  for (const date of dates)
    for (const duration of durations) {
      const { outcome, found } = await readItems(reading, { endpoint, params, query: { date, duration } })
      findings.push(found)
      if (outcome.kind === 'gone' || outcome.kind === 'failed') return notRead(outcome, findings, received([]))
      if (outcome.value.startedAt < startedAt) startedAt = outcome.value.startedAt
      const { items } = outcome.value
      const of = { stream, request: { ...request, date, duration }, endpoint, timeZone }
      const all = projectedAll(items.map((record) => ({ ...of, record })))
      if (!all.complete) complete = false
      const before = rows.size
      for (const row of all.rows) rows.set(row.key.join('\n'), row)
      // A slot that is answered for several days or durations is one row.
      const unchanged = all.rows.length - (rows.size - before)
      findings.push(all.found, { counts: { read: items.length, unchanged } })
    }
  const range = { ...scope, from: { column: 'date', value: dates[0] ?? '', to: dates.at(-1) ?? '' } }
  return detailRead(startedAt, received(complete ? [range] : []), findings)
}
