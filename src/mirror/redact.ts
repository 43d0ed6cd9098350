// Redacts persons: when a user is deleted upstream, their data elsewhere in the mirror is erased. The tombstones of
// the user and of the documents drop their own columns; the outbox redacts itself.

import { type EmbeddedPerson, embeddedPerson, isOfPerson, streamNamed, streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { literal, type Queryable, textArray } from '../database/sql.ts'
import { quote } from './erasures.ts'
import { redactLog } from './feed.ts'
import { askedJoin } from './records.ts'

/** Which of these users are gone: whatever still embeds them must not bring them back. Ids as text. */
export async function tombstonedUsers(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const { rows } = await db.query<{ id: string }>(
    `select asked.key as id from ${askedJoin(streamNamed('users'))} where t._deleted_at is not null`,
    [textArray(ids)],
  )
  return new Set(rows.map((row) => row.id))
}

/** The streams whose rows are the person's own: the user and the documents; their keys are the user's id. */
export const ownStreams = streams.filter(isOfPerson)

/** Statements that redact persons in records of other streams, such as rentals. */
function redactionOf(stream: StreamDef, { path, column, texts }: EmbeddedPerson) {
  const [id = ''] = stream.key
  const columns = texts.map((text) => text.column)
  const fields = `array[${texts.map(({ field }) => literal(field)).join(', ')}]`
  // Where a record holds only an id in place of the person, that id.
  const idIn = (payload: string): string =>
    `case when jsonb_typeof(${payload} -> '${path}') = 'object' then ${payload} #> '{${path},id}'
      when ${payload} ->> '${path}' ~ '^[0-9]{1,18}$' then ${payload} -> '${path}' end`
  // Members that nobody published may hold anything.
  const known = [...stream.columns, ...(stream.embeds ?? [])].flatMap((each) => each.path?.split('.', 1) ?? [])
  const keepId = (payload: string): string =>
    `jsonb_set((select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(${payload} - ${fields})
      where key = any(array[${known.map(literal).join(', ')}])), '{${path}}', jsonb_build_object('id', ${idIn(payload)}), false)`
  const filled = columns.map((name) => `case when ${name} is not null then ${literal(name)} end`)
  return {
    stream,
    columns: [...columns, '_payload'],
    /** Ids of all records that hold one of the persons or ever did, within the change log. */
    related: `select ${id}::text as id from mirror.${stream.name} where ${column} = any($1::bigint[])
  union select key ->> '${id}' from mirror.change_log
    where stream = '${stream.name}' and diff ? '${column}' and diff -> '${column}' -> 1 = any($2::jsonb[])
  union select key ->> '${id}' from mirror.change_log
    where stream = '${stream.name}' and diff -> '${column}' -> 0 <> 'null' and diff -> '${column}' -> 0 = any($2::jsonb[])`,
    /**
     * They lose the texts, and the person inside the payload keeps the id only. The log quotes nothing, and says nothing of
     * records that are gone: who follows it has dropped them, and an update would bring them back.
     */
    rows: `with redacted as (
    update mirror.${stream.name} r set ${columns.map((name) => `${name} = null`).join(', ')}, _changed_at = clock_timestamp(),
      _payload = ${keepId('r._payload')}
    from (select ${id}, array_remove(array[${filled.join(', ')}], null) as filled, _deleted_at is null as alive
      from mirror.${stream.name} where ${column} = any($1::bigint[]) and (num_nonnulls(${columns.join(', ')}) > 0
        or _payload ?| ${fields} or _payload -> '${path}' is distinct from jsonb_build_object('id', ${idIn('_payload')}))
      order by ${id} for no key update) locked
    where r.${id} = locked.${id} returning r.${id}, locked.filled, locked.alive
  )
  insert into mirror.change_log (epoch, stream, key, operation, diff)
  select (select mirror.feed_epoch()), '${stream.name}', jsonb_build_object('${id}', ${id}), 'update',
    (select jsonb_object_agg(name, '[null, null]'::jsonb) from unnest(coalesce(nullif(filled, '{}'), '{_payload}')) name)
  from redacted where alive`,
    /**
     * Records that belong to another person by now keep their texts, which redacting has taken from the log. An entry
     * repeats them, for consumers that have not read the others.
     */
    passedOn: `insert into mirror.change_log (epoch, stream, key, operation, diff)
  select (select mirror.feed_epoch()), '${stream.name}', jsonb_build_object('${id}', ${id}), 'update',
    jsonb_build_object(${columns.map((name) => `${literal(name)}, jsonb_build_array(null, ${name})`).join(', ')})
  from mirror.${stream.name} where ${id} = any (array(select (key ->> '${id}')::bigint from unnest($1::jsonb[]) key))
    and (${column} = any($2::bigint[])) is not true and _deleted_at is null`,
    /** Of records that are gone the log has no such entry, so they lose the texts, even if these are another person's by now. */
    gone: `update mirror.${stream.name} set ${columns.map((name) => `${name} = null`).join(', ')}
  where ${id} = any (array(select (key ->> '${id}')::bigint from unnest($1::jsonb[]) key))
    and _deleted_at is not null and num_nonnulls(${columns.join(', ')}) > 0`,
    /**
     * Quarantined records lose only the person. A payload that jsonb could not hold is a text, and is removed whole.
     */
    quarantine: `update sync.quarantine set
    payload = case when jsonb_typeof(payload) = 'object' then ${keepId('payload')} else '{}'::jsonb end,
    reason = regexp_replace(reason, '${quote}', '')
  where stream = '${stream.name}' and (key = any($1::text[]) or (${idIn('payload')}) #>> '{}' = any($2::text[]))`,
  }
}

const redactions = streams.flatMap((stream) => {
  const person = embeddedPerson(stream)
  return person === undefined ? [] : [redactionOf(stream, person)]
})

/**
 * Redacts persons everywhere except in their own rows: records that embed them, diffs of the change log, quarantine,
 * hashes, the stored message of the webhook. Runs in the caller's transaction, after the tombstones.
 * @param userIds ids as text.
 */
export async function redactPersons(client: Queryable, userIds: readonly string[]): Promise<void> {
  const ids = [...userIds]
  const keysOf = ({ key }: StreamDef, each: readonly string[]) => each.map((id) => `{"${key[0]}":${id}}`)
  for (const { stream, columns, related, rows, passedOn, gone, quarantine } of redactions) {
    const found = await client.query<{ id: string }>(related, [ids, ids]) // a number's text is its JSON text
    const relatedIds = found.rows.map((row) => row.id)
    // The log first: what redacting the rows adds to it quotes nothing.
    const redacted = await client.query<{ key: string }>(`${redactLog} returning key::text as key`, [
      stream.name,
      keysOf(stream, relatedIds),
      columns,
    ])
    await client.query(rows, [ids])
    const redactedKeys = [...new Set(redacted.rows.map(({ key }) => key))]
    await client.query(passedOn, [redactedKeys, ids])
    await client.query(gone, [redactedKeys])
    await client.query(quarantine, [relatedIds, ids])
  }
  for (const stream of ownStreams) {
    const personal = stream.columns.filter((column) => column.personal === true).map((column) => column.name)
    await client.query(redactLog, [stream.name, keysOf(stream, ids), [...personal, '_payload']])
  }
  // A webhook's message that waits to be sent again may quote them: another is made of what the log now says.
  await client.query(`select from sync.senders where name = 'webhook' for update`)
  await client.query('delete from sync.webhook_batch')
  const own = [ownStreams.map((stream) => stream.name), ids]
  await client.query('delete from sync.quarantine where stream = any($1) and key = any($2)', own)
  await client.query(
    'update sync.records set list_hash = null, detail_hash = null where stream = any($1) and key = any($2)',
    own,
  )
}
