// Slots of a resource: per day of the horizon and per duration, without mandatory options in the price
// (docs/sources.md, reference/retrieve-resource-slot-details/list-resource-slots). And what only slots show:
// resources with several boats (`sync.fleets`).

import { addDays, dateIn } from '../../../clock.ts'
import { type Queryable, textArray } from '../../../database/sql.ts'
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

/**
 * Remembers resources of which a slot among what was read shows more than one boat free, until a complete reading of their slots
 * shows one in a slot that nothing takes a boat in. In the transaction that wrote these slots.
 */
export async function noteFleets(db: Queryable, tables: readonly TableWrite[]): Promise<void> {
  for (const { stream, rows, replace = [] } of tables) {
    if (stream.reads.kind !== 'slots') continue
    const place = stream.columns.findIndex(({ name }) => name === 'nb_resources_available')
    const free = ({ values }: Row): number => Number(values[place] ?? 0)
    const idsOf = (some: readonly Row[]): string[] => some.map(({ key }) => key[0] ?? '')
    const several = new Set(idsOf(rows.filter((row) => free(row) > 1)))
    const complete = new Set(replace.map(({ values }) => values[0] ?? ''))
    const single = rows.filter(
      (row) => free(row) === 1 && complete.has(row.key[0] ?? '') && !several.has(row.key[0] ?? ''),
    )
    if (several.size > 0)
      await db.query(
        `insert into sync.fleets (resource_id) select unnest($1::text[]) order by 1 on conflict do nothing`,
        [textArray([...several])],
      )
    if (single.length > 0)
      await db.query(endFleets, [textArray(idsOf(single)), textArray(single.map(({ key }) => key[1] ?? ''))])
  }
}

const endFleets = `delete from sync.fleets f using unnest($1::text[], $2::text[]) u (resource_id, id)
  join mirror.resource_slots s using (resource_id, id) join mirror.resources b on b.id = s.resource_id
  where f.resource_id = u.resource_id and not exists (select from mirror.rentals r join mirror.resources o on o.id = r.resource_id
      where (o.id = b.id or o.boat_id = b.boat_id) and r._deleted_at is null and r.departure_datetime < s.arrival_datetime
        and coalesce(r.arrival_datetime > s.departure_datetime, true))
    and not exists (select from mirror.resource_unavailabilities n where n.resource_id = s.resource_id and n._deleted_at is null
      and n.start_datetime < s.arrival_datetime and n.end_datetime > s.departure_datetime)`
