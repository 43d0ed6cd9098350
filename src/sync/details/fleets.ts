// Resources with several boats: `sync.fleets`. Slots show it, and are deleted when their day has passed.

import { type Queryable, textArray } from '../../database/sql.ts'
import type { Row, TableWrite } from '../../mirror/rows.ts'

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
