// Slots of a resource: per day of the horizon and per duration, without mandatory options in the price
// (docs/sources.md, reference/retrieve-resource-slot-details/list-resource-slots).

import type { StreamDef } from '../../../catalog/types.ts'
import { addDays, dateIn } from '../../../clock.ts'
import type { Row, Scope, TableWrite } from '../../../mirror/rows.ts'
import type { SyncContext } from '../../context.ts'
import { projectInto, type Work } from '../../work.ts'
import { parentValues } from './collection.ts'
import type { DetailRead } from './detail.ts'
import { readItems } from './items.ts'

/** The days slots and availability are read for, today being the first. */
export function slotDates(context: SyncContext): readonly string[] {
  const today = dateIn(context.settings.timeZone, context.clock.now())
  return Array.from({ length: context.settings.slotDays }, (_, day) => addDays(today, day))
}

/** Reads the slots of one resource for the horizon and its first durations, as answered. */
export async function readSlots(
  context: SyncContext,
  stream: StreamDef,
  holderKey: string,
  durations: readonly string[],
  work: Work,
  signal: AbortSignal,
): Promise<DetailRead> {
  if (stream.reads.kind !== 'slots') throw new Error(`${stream.name} has no slots.`)
  const { list: endpoint } = stream.reads
  const { params, request, scope } = parentValues(stream, holderKey)
  const dates = slotDates(context)
  const rows = new Map<string, Row>()
  let startedAt = context.clock.now()
  let complete = true
  const received = (replace: readonly Scope[]): readonly TableWrite[] => [
    { stream, mode: 'record', source: endpoint, readAt: startedAt, rows: [...rows.values()], replace },
  ]
  for (const date of dates)
    for (const duration of durations) {
      const outcome = await readItems(context, work, { stream, endpoint, params, query: { date, duration }, signal })
      if (outcome.kind === 'gone' || outcome.kind === 'failed') return { outcome, writes: received([]) }
      if (outcome.kind === 'absent') continue
      if (outcome.value.startedAt < startedAt) startedAt = outcome.value.startedAt
      const { items } = outcome.value
      work.counts.read += items.length
      for (const item of items) {
        const projected = projectInto(
          work,
          stream,
          item,
          { ...request, date, duration },
          endpoint,
          context.settings.timeZone,
        )
        if (!projected.ok) complete = false
        else {
          const key = projected.row.key.join('\n')
          // A slot that is answered for several days or durations is one row.
          if (rows.has(key)) work.counts.unchanged += 1
          rows.set(key, projected.row)
        }
      }
    }
  const range = { ...scope, from: { column: 'date', value: dates[0] ?? '', to: dates.at(-1) ?? '' } }
  return { outcome: { kind: 'there', value: { startedAt } }, writes: received(complete ? [range] : []) }
}
