// Links that are filled from another stream's reads (a rental's boat): which are empty, and what fills them.

import { streamNamed } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { identifier, isStub, keySql, type Queryable } from '../../database/sql.ts'

/**
 * Keys of the records that a list may be asked by, where its records whose own link was never read are more: then asking
 * so is cheaper than reading each of them.
 */
export async function linkKeys(db: Queryable, target: StreamDef): Promise<readonly string[]> {
  const { name, filledBy } = target
  if (filledBy?.filter === undefined) return []
  const by = streamNamed(filledBy.filter.stream)
  const open = `select from mirror.${identifier(name)} m
    left join lateral (select key from sync.records d where d.stream = '${filledBy.stream}' and d.key = ${keySql(target, 'm')}
      and d.detail_read_at is not null offset 0) d on true
    where m.${identifier(filledBy.columns[0]?.column ?? '')} is null and m._deleted_at is null and not ${isStub('m')} and d.key is null`
  const { rowCount } = await db.query(`${open} limit 1`)
  if (rowCount === 0) return []
  const { rows } = await db.query<{ key: string }>(
    `with asked as materialized (
       select ${keySql(by, 't')} as key from mirror.${by.name} t where t._deleted_at is null and not ${isStub('t')})
     select key from asked where (select count(*) from asked) < (
       select count(*) from (${open} limit (select count(*) + 1 from asked)) open)
     order by key`,
  )
  return rows.map(({ key }) => key)
}

/** A record that others belong to, and what fills their columns. */
export type Linked = { readonly key: string; readonly values: Readonly<Record<string, string | null>> }

/** The values to fill in from the records that these belong to, as far as those exist. */
export async function linkedValues(
  db: Queryable,
  { filledBy }: StreamDef,
  keys: readonly string[],
): Promise<readonly Linked[]> {
  if (filledBy?.filter === undefined) return []
  const by = streamNamed(filledBy.filter.stream)
  const values = filledBy.columns.map(({ column, from }) => `'${column}', t.${from}::text`)
  const { rows } = await db.query<Linked>(
    `select ${keySql(by, 't')} as key, json_build_object(${values.join(', ')}) as values
     from mirror.${by.name} t where t.${by.key[0]} = any($1) and t._deleted_at is null and not ${isStub('t')}`,
    [keys],
  )
  return rows
}
