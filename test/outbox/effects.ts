// How often the effect of a planned change shows, at the API and in the mirror.

import type { Sandbox } from '../../sandbox/index.ts'
import type { Database } from '../../src/database/database.ts'
import type { Fields, Planned } from './plans.ts'

/** Does a record show these fields? Objects within are compared by the fields that are named. */
export const matches = (wanted: unknown, shown: unknown): boolean =>
  typeof wanted === 'object' && wanted !== null
    ? typeof shown === 'object' &&
      shown !== null &&
      Object.entries(wanted).every(([key, value]) => matches(value, (shown as Fields)[key]))
    : wanted === shown

/** How often the effect of a planned change shows at the API: 1 is right, also for what must be gone. */
export function effects(sandbox: Sandbox, { stream, key, effect }: Planned): number {
  const rows = sandbox.truth({ only: [stream] })[stream] ?? []
  const here = rows.filter((row) => Object.entries(key).every(([name, value]) => row.key[name] === value))
  if (effect === null) return here.length === 0 ? 1 : 0
  return here.filter((row) => matches(effect, row.record)).length
}

/** The same question to the mirror, without tombstones. */
export async function mirroredEffects(database: Database, { stream, key, effect }: Planned): Promise<number> {
  const conditions = Object.keys(key).map((name, index) => `and ${name} = $${index + 1}`)
  const { rows } = await database.pool.query<{ _payload: unknown }>(
    `select _payload from mirror.${stream} where _deleted_at is null ${conditions.join(' ')}`,
    Object.values(key),
  )
  if (effect === null) return rows.length === 0 ? 1 : 0
  return rows.filter((row) => matches(effect, row._payload)).length
}
