// sync.quarantine: records that cannot be mirrored, whole, with the reason; never silently dropped.

import type { PoolClient } from 'pg'
import { isContentKeySql } from '../catalog/keys.ts'
import { on, type Queryable, textArray } from '../database/sql.ts'
import { isDataError } from '../database/sql-states.ts'
import { stringifyJson } from '../json/plain.ts'
import { hashOf } from './records/project.ts'

/** A record that cannot be mirrored. */
export type BadRecord = {
  readonly stream: string
  readonly key: string
  readonly endpoint: string
  /** JSON text, whole as received. */
  readonly payload: string
  /** Names the field, what was expected and what came. */
  readonly reason: string
  /** Values of columns that come from the request: a retry needs them besides the payload. */
  readonly request: Readonly<Record<string, string | null>>
}

/** An entry; `payload` and `request` are JSON text, so that no digit is lost. */
export type QuarantineEntry = QuarantineFacts & { readonly payload: string; readonly request: string }

export type QuarantineFacts = {
  readonly id: number
  readonly stream: string
  readonly key: string
  readonly endpoint: string
  readonly reason: string
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  readonly times: number
}

/** A key as it is stored: one that is too long for an index is cut and made unique with a hash. */
export const indexedKey = (key: string): string => (key.length <= 500 ? key : `${key.slice(0, 200)}…#${hashOf(key)}`)

/** `jsonb` cannot hold a number beyond numeric's range: the payload is then stored as a JSON string of its text. */
const upsert = (
  payload: string,
): string => `insert into sync.quarantine as q (stream, key, endpoint, payload, reason, request, times)
  select g.stream, g.key, g.endpoint, ${payload}, g.reason, g.request::jsonb, g.times
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
    as g(stream, key, endpoint, payload, reason, request, times) order by g.stream, g.key
  on conflict (stream, key) do update set endpoint = excluded.endpoint, payload = excluded.payload,
    reason = excluded.reason, request = excluded.request, last_seen_at = clock_timestamp(), times = q.times + excluded.times`

const asJson = upsert('g.payload::jsonb')
const asText = upsert('to_jsonb(g.payload)')

/** A record, and how many like it came together. */
type Counted = BadRecord & { readonly times: number }

const parameters = (records: readonly Counted[]): unknown[] => [
  records.map((record) => record.stream),
  records.map((record) => record.key),
  records.map((record) => record.endpoint),
  records.map((record) => record.payload),
  records.map((record) => record.reason),
  records.map((record) => stringifyJson(record.request)),
  records.map((record) => record.times),
]

/**
 * Puts records into quarantine; one that is there already is replaced and counted. In the caller's transaction, because
 * a payload that jsonb refuses is tried under a savepoint.
 */
export async function quarantineRecords(client: PoolClient, records: readonly BadRecord[]): Promise<void> {
  const byKey = new Map<string, Counted>()
  for (const record of records) {
    const key = indexedKey(record.key)
    const id = JSON.stringify([record.stream, key])
    byKey.set(id, { ...record, key, times: (byKey.get(id)?.times ?? 0) + 1 })
  }
  const distinct = [...byKey.values()]
  if (distinct.length === 0 || (await isStored(client, asJson, distinct))) return
  for (const record of distinct)
    if (!(await isStored(client, asJson, [record]))) await client.query(asText, parameters([record]))
}

/** Stores under a savepoint; false when Postgres refused the data. */
async function isStored(client: PoolClient, statement: string, records: readonly Counted[]): Promise<boolean> {
  await client.query('savepoint quarantine')
  try {
    await client.query(statement, parameters(records))
    await client.query('release savepoint quarantine')
    return true
  } catch (error) {
    if (!isDataError(error)) throw error
    await client.query('rollback to savepoint quarantine')
    return false
  }
}

/** Removes entries of which a good version came. */
export async function clearQuarantine(
  db: Queryable,
  good: readonly { readonly stream: string; readonly keys: readonly string[] }[],
): Promise<void> {
  const streams: string[] = []
  const entries: string[] = []
  for (const { stream, keys } of good)
    for (const key of keys) {
      streams.push(stream)
      entries.push(indexedKey(key))
    }
  if (entries.length === 0) return
  await db.query(
    `delete from sync.quarantine q using unnest($1::text[], $2::text[]) as g(stream, key)
     where q.stream = g.stream and q.key = g.key`,
    [textArray(streams), textArray(entries)],
  )
}

/**
 * Removes the records without a key that a list no longer answers: of them no good version is ever known to come, and one
 * whose content changes would leave a row behind with each change. Call it after a sweep that is proven complete.
 */
export async function clearUnseen(db: Queryable, stream: string, endpoint: string, since: Date): Promise<void> {
  await db.query(
    `delete from sync.quarantine where stream = $1 and endpoint = $2 and last_seen_at < $3 and ${isContentKeySql('key')}`,
    [stream, endpoint, since],
  )
}

const selectFacts = (db: Queryable) =>
  on(db)
    .selectFrom('sync.quarantine as q')
    .select((eb) => [eb.cast<number>('q.id', 'float8').as('id'), eb.cast<number>('q.times', 'float8').as('times')])
    .select(['stream', 'key', 'endpoint', 'reason', 'first_seen_at as firstSeenAt', 'last_seen_at as lastSeenAt'])

const selectEntries = (db: Queryable) =>
  selectFacts(db).select((eb) => [
    eb.cast<string>('payload', 'text').as('payload'),
    eb.cast<string>('request', 'text').as('request'),
  ])

/** Entries without their payloads, the one seen last first; of one stream, if one is named. */
export async function quarantineFacts(
  db: Queryable,
  { stream, limit }: { readonly stream?: string; readonly limit: number },
): Promise<readonly QuarantineFacts[]> {
  const found = selectFacts(db).orderBy('q.last_seen_at', 'desc').orderBy('q.id', 'desc').limit(limit)
  return await (stream === undefined ? found : found.where('stream', '=', stream)).execute()
}

/** The entry of this key; null when there is none. */
export async function quarantinedRecord(db: Queryable, stream: string, key: string): Promise<QuarantineFacts | null> {
  return (await selectFacts(db).where('stream', '=', stream).where('key', '=', key).executeTakeFirst()) ?? null
}

/** Entries with their payloads, oldest first; of one stream, if one is named. */
export async function listQuarantine(
  db: Queryable,
  { stream, limit }: { readonly stream?: string; readonly limit: number },
): Promise<readonly QuarantineEntry[]> {
  const entries = selectEntries(db).orderBy('q.id').limit(limit)
  return await (stream === undefined ? entries : entries.where('stream', '=', stream)).execute()
}

export async function getQuarantined(db: Queryable, id: string): Promise<QuarantineEntry | null> {
  return (await selectEntries(db).where('q.id', '=', id).executeTakeFirst()) ?? null
}

/** When the oldest entry was first seen; null when there is none. */
export async function quarantinedSince(db: Queryable): Promise<Date | null> {
  const { rows } = await db.query<{ since: Date | null }>('select min(first_seen_at) as since from sync.quarantine')
  return rows[0]?.since ?? null
}

/** Entries per stream; streams without any are missing. */
export async function quarantineTotals(db: Queryable): Promise<Readonly<Record<string, number>>> {
  const { rows } = await db.query<{ stream: string; count: number }>(
    'select stream, count(*)::int as count from sync.quarantine group by 1 order by 1',
  )
  return Object.fromEntries(rows.map(({ stream, count }) => [stream, count]))
}
