// A program that has just written reads what the API shows: until its change is settled, the mirror may be older.

import { streamNamed, withAncestors } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { Queryable } from '../../database/sql.ts'
import { inStates } from '../../outbox/states.ts'
import type { Caller } from '../types.ts'

/**
 * Whether the caller has changes that are not settled and may show in this record, or in this collection: those of the rental
 * or the user at the beginning of the key. A caller that may not write has none.
 * @param key the key of the record, or of the record above the collection
 */
export async function isUnsettled(
  db: Queryable,
  { token, write }: Pick<Caller, 'token' | 'write'>,
  stream: Pick<StreamDef, 'name'>,
  key: readonly string[],
): Promise<boolean> {
  const aggregate = withAncestors(streamNamed(stream.name))[0]?.aggregate
  if (!write || token === null || aggregate === undefined) return false
  const { rows } = await db.query<{ found: boolean }>(
    `select exists (select from outbox.requests r join outbox.queue q on q.id = r.change_id
       where r.token = $1 and q.aggregate = $2 and ${inStates('q.status', 'unsettled')}) as found`,
    [token.id, `${aggregate}:${key[0]}`],
  )
  return rows[0]?.found === true
}
