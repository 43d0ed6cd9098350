// The keys of calendars: `sync.calendar_keys`, one for each resource. Only hashes are stored.

import type { Queryable } from '../../database/sql.ts'
import { hashOf, isSecretOf, newSecret } from './secrets.ts'

/**
 * Creates a new key for a resource; the one before it no longer opens anything. @returns null: the resource does not
 * exist.
 */
export async function createCalendarKey(db: Queryable, resourceId: string): Promise<string | null> {
  const key = newSecret()
  const { rowCount } = await db.query(
    `insert into sync.calendar_keys (resource_id, hash)
     select r.id, $2 from mirror.resources r where r.id = $1 and r._deleted_at is null
     on conflict (resource_id) do update set hash = excluded.hash, created_at = clock_timestamp()`,
    [resourceId, hashOf(key)],
  )
  return rowCount === 1 ? key : null
}

/** Revokes the key of a resource. @returns false where there was none. */
export async function revokeCalendarKey(db: Queryable, resourceId: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from sync.calendar_keys where resource_id = $1', [resourceId])
  return rowCount === 1
}

/** Does a key open the calendar of a resource? */
export async function opensCalendar(db: Queryable, resourceId: string, key: string): Promise<boolean> {
  const { rows } = await db.query<{ hash: Buffer }>('select hash from sync.calendar_keys where resource_id = $1', [
    resourceId,
  ])
  const [known] = rows
  return known !== undefined && isSecretOf(key, known.hash)
}
