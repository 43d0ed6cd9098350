// Resources with several boats: `sync.fleets`. Slots show it, and are deleted when their day has passed.

import { type Queryable, textArray } from '../database/sql.ts'

/** Remembers resources of which a slot showed more than one boat free. */
export async function noteFleets(db: Queryable, resourceIds: readonly string[]): Promise<void> {
  if (resourceIds.length === 0) return
  await db.query(
    `insert into sync.fleets (resource_id) select distinct unnest($1::text[]) order by 1 on conflict do nothing`,
    [textArray(resourceIds)],
  )
}
