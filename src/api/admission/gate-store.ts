// sync.gate: where workers share the breaker and the pauses of one API. Implements the store that the API's gate asks for.

import { on, type Queryable } from '../../database/sql.ts'
import { stringifyJson } from '../../json/plain.ts'

/** The gate's state as the API's gate keeps it: instants in milliseconds since 1970. */
type StoredGate = {
  readonly pausedUntil: number
  readonly opened: number
  readonly probeAt: number
  readonly changedAt: number
}

const fields = ['pausedUntil', 'opened', 'probeAt', 'changedAt'] as const satisfies readonly (keyof StoredGate)[]

const isStoredGate = (value: unknown): value is StoredGate => {
  if (typeof value !== 'object' || value === null) return false
  const members: Record<string, unknown> = { ...value }
  return fields.every((field) => Number.isFinite(members[field]))
}

/** @param id which API: its address. */
export function createGateStore(
  db: Queryable,
  id: string,
): { load(): Promise<StoredGate | null>; save(state: StoredGate): Promise<void> } {
  return {
    load: async () => {
      const row = await on(db).selectFrom('sync.gate').select('state').where('id', '=', id).executeTakeFirst()
      const state = row?.state
      return isStoredGate(state) ? state : null
    },
    // Another worker may have stored something since we looked: the longer pause and the newer breaker stand.
    save: async (state) => {
      await db.query(
        `insert into sync.gate as g (id, state) values ($1, $2::jsonb) on conflict (id) do update
           set updated_at = clock_timestamp(), state = case
             when (g.state ->> 'changedAt')::numeric > (excluded.state ->> 'changedAt')::numeric then g.state
             else excluded.state end || jsonb_build_object('pausedUntil',
               greatest((g.state ->> 'pausedUntil')::numeric, (excluded.state ->> 'pausedUntil')::numeric))`,
        [id, stringifyJson(state)],
      )
    },
  }
}
