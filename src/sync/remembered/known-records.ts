// What is known of records when a page or a detail arrives.

import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { identifier, isStub, type Queryable, textArray } from '../../database/sql.ts'
import { askedJoin, rememberedJoin } from '../../mirror/records.ts'
import { oldAt } from '../due/ages.ts'

export type KnownRecord = {
  readonly key: string
  readonly listHash: string | null
  readonly detailHash: string | null
  readonly detailReadAt: Date | null
  /** 0: never projected. */
  readonly projection: number
  /** A row is there. */
  readonly exists: boolean
  /** A row exists and is not a tombstone. */
  readonly alive: boolean
  /** The row is known only from inside another record. */
  readonly stub: boolean
  /** Time to compare the row with its list again, because its single is skipped. */
  readonly aged: boolean
}

/**
 * What is known of these keys, in one query. Keys of which nothing is known are there too, with `exists: false`.
 * @param listAgeMs rows that were compared with list and single longer ago than this are `aged`; null: none is.
 */
export async function knownRecords(
  db: Queryable,
  stream: StreamDef,
  keys: readonly string[],
  listAgeMs: number | null = null,
): Promise<Map<string, KnownRecord>> {
  if (keys.length === 0) return new Map()
  const { rows } = await db.query<KnownRecord>(
    `select asked.key, r.list_hash as "listHash", r.detail_hash as "detailHash", r.detail_read_at as "detailReadAt",
       coalesce(r.projection, 0) as projection, t._read_at is not null as exists,
       t._read_at is not null and t._deleted_at is null as alive,
       coalesce(${isStub('t')}, false) as stub,
       $3::float8 is not null and coalesce(${oldAt('greatest(r.detail_read_at, r.listed_at)', stream, { row: 't', key: 'asked.key', maxAgeMs: '$3::float8' })} < now(), true) as aged
     from ${askedJoin(stream)} ${rememberedJoin}`,
    [textArray([...new Set(keys)]), stream.name, listAgeMs],
  )
  const known = new Map<string, KnownRecord>()
  for (const row of rows) known.set(row.key, row)
  return known
}

/**
 * Which of these keys have a row, alive or a tombstone, and whether it comes from its own read (`direct`: a stub
 * changes nothing there) or from inside another record (`stub`). By stream name and key.
 */
export async function knownSources(
  db: Queryable,
  asked: readonly { readonly stream: StreamDef; readonly keys: readonly string[] }[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, 'direct' | 'stub'>>> {
  const found = new Map<string, Map<string, 'direct' | 'stub'>>(asked.map(({ stream }) => [stream.name, new Map()]))
  if (asked.length === 0) return found
  const selects = asked.map(({ stream }, index) => {
    const [key = ''] = stream.key
    return `select '${stream.name}' as stream, a.key, ${isStub('t')} as stub
      from unnest($${index + 1}::text[]) as a(key)
      cross join lateral (select _source from mirror.${identifier(stream.name)} t where t.${identifier(key)} = a.key::${columnType(stream, key)} offset 0) t`
  })
  const { rows } = await db.query<{ stream: string; key: string; stub: boolean }>(
    selects.join(' union all '),
    asked.map(({ keys }) => textArray(keys)),
  )
  for (const { stream, key, stub } of rows) found.get(stream)?.set(key, stub ? 'stub' : 'direct')
  return found
}
