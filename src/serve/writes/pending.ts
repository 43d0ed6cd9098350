// What a caller has asked for and the API has not taken yet: read by `Prefer: pending=include`, and to know which reads must
// ask the API itself.

import { isObject, type Json, type JsonObject } from '../../api/wire/json.ts'
import { streamNamed, withAncestors } from '../../catalog/catalog.ts'
import { writeNamed } from '../../catalog/writes.ts'
import type { Queryable } from '../../database/sql.ts'
import { referredChange } from '../../outbox/change.ts'
import { inStates } from '../../outbox/states.ts'
import type { Caller } from '../types.ts'

/** The aggregate that a record belongs to: that of the rental or user at the beginning of its key; null: there is none. */
function aggregateOf(stream: string, key: readonly string[]): string | null {
  const aggregate = withAncestors(streamNamed(stream))[0]?.aggregate
  return aggregate === undefined || key[0] === undefined ? null : `${aggregate}:${key[0]}`
}

const unsettledOf = `from outbox.requests r join outbox.queue q on q.id = r.change_id
  where r.token = $1 and q.aggregate = $2 and ${inStates('q.status', 'unsettled')}`

/**
 * Whether the caller has changes on their way that may show in this record, or in this collection: then the mirror's answer
 * may be older than what they did. `key`: that of the record, or of the record that the collection hangs below.
 */
export async function unsettledFor(
  db: Queryable,
  { token }: Pick<Caller, 'token'>,
  stream: string,
  key: readonly string[],
): Promise<boolean> {
  const aggregate = aggregateOf(stream, key)
  if (token === null || aggregate === null) return false
  const { rows } = await db.query<{ found: boolean }>(`select exists (select ${unsettledOf}) as found`, [
    token.id,
    aggregate,
  ])
  return rows[0]?.found === true
}

export type Pending = {
  /** The changes whose fields are laid over it, oldest first: what `X-Pending` names. */
  readonly changes: readonly string[]
  /** Lays their fields over the record as it would be served. */
  readonly over: (served: Json) => Json
}

type Row = { readonly id: string; readonly operation: string; readonly body: JsonObject }

/** The fields of a rental as the change wishes them; a value that is still the result of another change is left as it was. */
function wished({ operation, body }: Row): JsonObject {
  return Object.fromEntries(
    writeNamed(operation).body.flatMap(({ name, readPath }): [string, Json][] => {
      const value = body[name]
      if (value === undefined || referredChange(value) !== null) return []
      const [top = name, member] = (readPath ?? name).split('.')
      return [[top, member === undefined ? value : { [member]: value }]]
    }),
  )
}

/** The caller's changes of a rental's own fields, and of its user, that are not settled; null: there are none. */
export async function pendingOf(
  db: Queryable,
  { token }: Pick<Caller, 'token'>,
  rentalId: string,
): Promise<Pending | null> {
  if (token === null) return null
  const { rows } = await db.query<Row>(
    `select q.id, q.operation, q.body ${unsettledOf} and q.operation in ('rental.update', 'rental_user.assign')
       and q.body is not null order by q.id`,
    [token.id, `rental:${rentalId}`],
  )
  if (rows.length === 0) return null
  return {
    changes: rows.map(({ id }) => id),
    over: (served) => (isObject(served) ? Object.assign({}, served, ...rows.map(wished)) : served),
  }
}
