// sync.pinned: what was probed once and is relied on (page base, envelope, summary lists), and what contradicted it.

import type { Queryable } from '../database/sql.ts'

export type Pin = {
  readonly key: string
  readonly value: unknown
  readonly probedAt: Date
  readonly contradictedAt: Date | null
  readonly contradiction: string | null
}

const columns = `key, value, probed_at as "probedAt", contradicted_at as "contradictedAt", contradiction`

/** What is relied on; null when it was never probed or has been contradicted since. */
export async function getPin(db: Queryable, key: string): Promise<Pin | null> {
  const { rows } = await db.query<Pin>(
    `select ${columns} from sync.pinned where key = $1 and (contradicted_at is null or contradicted_at < probed_at)`,
    [key],
  )
  return rows[0] ?? null
}

/** Pins a value anew; what contradicted the former one stays to be read. */
export async function setPin(db: Queryable, key: string, value: unknown): Promise<void> {
  await db.query(
    `insert into sync.pinned (key, value) values ($1, $2::jsonb) on conflict (key) do update
       set value = excluded.value, probed_at = clock_timestamp()`,
    [key, JSON.stringify(value)],
  )
}

/** Notes what speaks against a pinned value; it is then no longer relied on. */
export async function contradictPin(db: Queryable, key: string, contradiction: string): Promise<void> {
  await db.query(`update sync.pinned set contradicted_at = clock_timestamp(), contradiction = $2 where key = $1`, [
    key,
    contradiction,
  ])
}

/** Everything that was ever pinned, contradicted or not, by key. */
export async function listPins(db: Queryable): Promise<readonly Pin[]> {
  const { rows } = await db.query<Pin>(`select ${columns} from sync.pinned order by key`)
  return rows
}
