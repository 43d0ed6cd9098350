// Erasing persons: when a user is gone upstream, what the mirror still holds about them elsewhere goes too. The
// tombstones of the user and of the documents drop their own columns; the outbox looks after itself.

import { streamNamed, streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Queryable } from '../database/sql.ts'
import { askedJoin } from '../state/records.ts'

/** Which of these users are gone: whatever still embeds them must not bring them back. Ids as text. */
export async function tombstonedUsers(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const { rows } = await db.query<{ id: string }>(
    `select asked.key as id from ${askedJoin(streamNamed('users'))} where t._deleted_at is not null`,
    [[...ids]],
  )
  return new Set(rows.map((row) => row.id))
}

const personalColumns = (stream: StreamDef): readonly string[] => [
  ...stream.columns.filter((column) => column.personal === true).map((column) => column.name),
  '_payload',
]

/** The streams whose rows are the person's own: the user and the documents; their keys are the user's id. */
const ownStreams = streams.filter((stream) => stream.name === 'users' || stream.document === true)

/**
 * Rentals of the persons lose the message, and the user inside the payload keeps its id only. The log quotes nothing, and
 * says nothing of rentals that are gone: who follows it has dropped them, and an update would bring them back.
 */
const scrubRentals = `with scrubbed as (
    update mirror.rentals r set message = null, _changed_at = clock_timestamp(),
      _payload = jsonb_set(r._payload - 'message', '{user}', jsonb_build_object('id', r._payload #> '{user,id}'), false)
    from (select id, message is not null as had_message, _deleted_at is null as alive from mirror.rentals where user_id = any($1::bigint[])
      and (message is not null or _payload ? 'message'
        or _payload -> 'user' is distinct from jsonb_build_object('id', _payload #> '{user,id}'))
      order by id for no key update) held
    where r.id = held.id returning r.id, held.had_message, held.alive
  )
  insert into mirror.change_log (epoch, stream, key, operation, diff)
  select (select mirror.feed_epoch()), 'rentals', jsonb_build_object('id', id), 'update',
    jsonb_build_object(case when had_message then 'message' else '_payload' end, jsonb_build_array(null, null))
  from scrubbed where alive`

/** Ids of all rentals that hold one of the persons or ever did, as far as the change log goes back. */
const relatedRentals = `select id::text as id from mirror.rentals where user_id = any($1::bigint[])
  union select key ->> 'id' from mirror.change_log
    where stream = 'rentals' and diff ? 'user_id' and diff -> 'user_id' -> 1 = any($2::jsonb[])
  union select key ->> 'id' from mirror.change_log
    where stream = 'rentals' and diff -> 'user_id' -> 0 <> 'null' and diff -> 'user_id' -> 0 = any($2::jsonb[])`

/** Drops columns from the diffs of some records. Parameters: stream, keys (jsonb[]), columns. */
const scrubLog = `update mirror.change_log set diff = diff - $3::text[]
  where stream = $1 and key = any($2::jsonb[]) and diff ?| $3::text[]`

/** Quarantined rentals keep everything but the person. What jsonb could not hold is a text and goes whole. */
const scrubQuarantinedRentals = `update sync.quarantine set
    payload = case when jsonb_typeof(payload) = 'object'
      then jsonb_set(payload - 'message', '{user}', jsonb_build_object('id', payload #> '{user,id}'), false)
      else '{}'::jsonb end,
    reason = split_part(reason, ', got ', 1)
  where stream = 'rentals' and (key = any($1::text[]) or payload #>> '{user,id}' = any($2::text[]))`

/**
 * Erases persons everywhere but in their own rows: rentals that embed them, diffs of the change log, quarantine, hashes.
 * Runs in the caller's transaction, after the tombstones.
 * @param userIds ids as text.
 */
export async function erasePersons(client: Queryable, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return
  const ids = [...userIds]
  const { rows } = await client.query<{ id: string }>(relatedRentals, [ids, ids]) // a number's text is its JSON text
  const rentalIds = rows.map((row) => row.id)
  // The log first: what scrubbing the rentals adds to it quotes nothing.
  await client.query(scrubLog, ['rentals', rentalIds.map((id) => `{"id":${id}}`), ['message', '_payload']])
  await client.query(scrubRentals, [ids])
  for (const stream of ownStreams) {
    const keys = ids.map((id) => `{"${stream.key[0]}":${id}}`)
    await client.query(scrubLog, [stream.name, keys, [...personalColumns(stream)]])
  }
  const ownNames = ownStreams.map((stream) => stream.name)
  await client.query('delete from sync.quarantine where stream = any($1) and key = any($2)', [ownNames, ids])
  await client.query(scrubQuarantinedRentals, [rentalIds, ids])
  await client.query(
    'update sync.records set list_hash = null, detail_hash = null where stream = any($1) and key = any($2)',
    [ownNames, ids],
  )
}

/** Erases one person; see {@link erasePersons}. */
export const erasePerson = (client: Queryable, userId: string): Promise<void> => erasePersons(client, [userId])
