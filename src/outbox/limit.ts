// OUTBOX_LIMIT where outbox.enqueue finds it.

import { on, type Queryable } from '../database/sql.ts'

/** Stores how many open changes a role may have, null for any number; writes nothing when it is what it was. */
export async function saveOutboxLimit(db: Queryable, limit: number | null): Promise<void> {
  await on(db)
    .updateTable('sync.settings')
    .set({ outbox_limit: limit })
    .where('outbox_limit', 'is distinct from', limit)
    .execute()
}
