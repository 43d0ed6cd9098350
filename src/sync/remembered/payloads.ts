// The payloads of records: what lists and singles said, whole.

import type { StreamDef } from '../../catalog/types.ts'
import { isStub, keySql, type Queryable } from '../../database/sql.ts'
import { isErased } from '../../mirror/erasures.ts'
import { askedJoin, rememberedJoin } from '../../mirror/records.ts'

/** JSON text of a row's payload, exact, and where it came from. */
export type Payload = { readonly payload: string; readonly source: string }

/** The payloads of live records, without stubs. */
export async function readPayloads(
  db: Queryable,
  stream: StreamDef,
  keys: readonly string[],
): Promise<Map<string, Payload>> {
  if (keys.length === 0) return new Map()
  const { rows } = await db.query<{ key: string; payload: string; source: string }>(
    `select asked.key, t._payload::text as payload, t._source as source from ${askedJoin(stream)}
     where t._deleted_at is null and not ${isStub('t')}`,
    [[...new Set(keys)]],
  )
  return new Map(rows.map(({ key, payload, source }) => [key, { payload, source }]))
}

/** Some records as this list answered them. */
export async function listedPayloads(
  db: Queryable,
  stream: StreamDef,
  list: string,
  limit: number,
): Promise<readonly { readonly key: string; readonly payload: string }[]> {
  const { rows } = await db.query<{ key: string; payload: string }>(
    `select ${keySql(stream, 't')} as key, t._payload::text as payload from mirror.${stream.name} t
     where t._source = $1 and t._deleted_at is null and not ${isErased('t')} limit $2`,
    [list, limit],
  )
  return rows
}

/** The payload of a live record; `listed`: its list wrote the row, or found it so, after whatever else wrote it. */
export async function listedPayload(
  db: Queryable,
  stream: StreamDef,
  key: string,
): Promise<{ readonly payload: string; readonly listed: boolean } | null> {
  const { rows } = await db.query<{ payload: string; listed: boolean }>(
    `select t._payload::text as payload, coalesce(r.listed_at >= t._read_at, false) as listed
     from ${askedJoin(stream)} ${rememberedJoin} where t._deleted_at is null and not ${isStub('t')} and not ${isErased('t')}`,
    [[key], stream.name],
  )
  return rows[0] ?? null
}
