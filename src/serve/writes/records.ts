// The records that writes are about, as the mirror has them.

import { get, isObject, type Json, textOf } from '../../api/wire/json.ts'
import { embeddedPerson, streamNamed } from '../../catalog/catalog.ts'
import { keyParts } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { writeNamed } from '../../catalog/writes.ts'
import { hasKey, identifier, type Queryable } from '../../database/sql.ts'
import { isErased } from '../../mirror/erasures.ts'
import type { WaitedChange } from './settled.ts'

/** The payload of a record; null: the mirror has none, a tombstone, or one without the values that `privacy apply` has erased. */
export async function payloadOf(db: Queryable, stream: StreamDef, key: readonly string[]): Promise<Json> {
  const { rows } = await db.query<{ payload: Json }>(
    `select _payload as payload from mirror.${identifier(stream.name)} t
     where ${hasKey(stream, 't', stream.key)} and _deleted_at is null and not ${isErased('t')}`,
    [...key],
  )
  return rows[0]?.payload ?? null
}

/** A record with the stream that it is of; null: nothing is known of it. */
export type Written = { readonly stream: StreamDef; readonly record: Json }

/**
 * What a change wrote, as the API answers a write of its kind: of an assignment the user. Where the mirror has no row, as of
 * documents that it does not keep, what the outbox kept of the API's answer.
 */
export async function writtenBy(db: Queryable, change: WaitedChange): Promise<Written> {
  const write = writeNamed(change.operation)
  const stream = streamNamed(write.stream)
  const { body = null } = change.response ?? {}
  const kept = Array.isArray(body) ? (body[0] ?? null) : body
  const answered = isObject(kept) ? kept : null
  if (write.kind === 'assign') {
    const users = streamNamed(stream.embeds?.find(({ path }) => path === embeddedPerson(stream)?.path)?.stream ?? '')
    const id = textOf(get(answered, 'id')) ?? textOf(change.body.userId)
    return { stream: users, record: id === undefined ? null : ((await payloadOf(db, users, [id])) ?? answered) }
  }
  const { recordKey } = change
  const record = recordKey === null ? null : await payloadOf(db, stream, keyParts(stream, recordKey))
  return { stream, record: record ?? answered }
}
