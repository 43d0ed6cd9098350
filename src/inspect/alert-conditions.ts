// sync.alerts: the conditions that need attention, and which of them were sent.

import { on, type Queryable } from '../database/sql.ts'

export type StoredCondition = {
  readonly kind: string
  readonly about: string
  readonly since: Date
  readonly told: boolean
  readonly goneSince: Date | null
}

/** All stored conditions, the oldest first. */
export async function storedConditions(db: Queryable): Promise<readonly StoredCondition[]> {
  return await on(db)
    .selectFrom('sync.alerts')
    .select(['kind', 'about', 'since', 'told', 'gone_since as goneSince'])
    .orderBy('since')
    .orderBy('kind')
    .orderBy('about')
    .execute()
}

/** Stores these conditions and deletes all others. */
export async function saveConditions(db: Queryable, conditions: readonly StoredCondition[]): Promise<void> {
  await on(db).deleteFrom('sync.alerts').execute()
  if (conditions.length === 0) return
  await on(db)
    .insertInto('sync.alerts')
    .values(conditions.map(({ goneSince, ...condition }) => ({ ...condition, gone_since: goneSince })))
    .execute()
}
