// Links that are filled from another stream's reads (a rental's boat): which are empty, and what fills them.

import { streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { isStub, keySql, type Queryable } from '../database/sql.ts'

/**
 * Keys of the records that a list may be asked by, where its records whose own link was never read are more: then asking
 * so is cheaper than reading each of them.
 */
export async function linkKeys(db: Queryable, target: StreamDef): Promise<readonly string[]> {
  const { name, filledBy } = target
  if (filledBy?.filter === undefined) return []
  const by = streamNamed(filledBy.filter.stream)
  const { rows } = await db.query<{ key: string }>(
    `with asked as (select ${keySql(by, 't')} as key from mirror.${by.name} t where t._deleted_at is null and not ${isStub('t')})
     select key from asked where (select count(*) from asked) < (
       select count(*) from mirror.${name} m
       left join sync.records d on d.stream = $1 and d.key = ${keySql(target, 'm')} and d.detail_read_at is not null
       where m.${filledBy.columns[0]?.column} is null and m._deleted_at is null and not ${isStub('m')} and d.key is null)
     order by key`,
    [filledBy.stream],
  )
  return rows.map(({ key }) => key)
}

/** A record that others belong to, and what fills their columns. */
export type Linked = { readonly key: string; readonly values: Readonly<Record<string, string | null>> }

/** What the records that belong to these are filled with, as far as these are there. */
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
