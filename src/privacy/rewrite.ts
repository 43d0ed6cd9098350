// A table whose rows `privacy apply` brings under new settings, batch after batch in the order of the key.

import type { ColumnType } from '../catalog/types.ts'
import { identifier, type Queryable } from '../database/sql.ts'

/** `next`: the position after which the table continues; null: it is done. */
export type Step = { readonly next: string | null; readonly changed: number }

export type Rewrite = {
  /** With its schema: `mirror.users`. */
  readonly table: string
  /** Changes the next rows of the table. */
  step(db: Queryable, options: StepOptions): Promise<Step>
}

export type StepOptions = {
  /** The place after which they begin; null: the first ones. */
  readonly after: string | null
  /** False: it only counts what would change. */
  readonly writes: boolean
  /** So many rows at most. */
  readonly most: number
}

/** Columns as texts, by name. */
export type Texts = Readonly<Record<string, string | null>>

type TypedColumn = { readonly name: string; readonly type: ColumnType }

export type RowsOptions = {
  readonly table: string
  readonly key: readonly TypedColumn[]
  /** What `change` sees and sets. */
  readonly columns: readonly TypedColumn[]
  /** Texts that it only sees. */
  readonly sees?: readonly string[]
  /** The new row; null: unchanged. Values besides key and columns are for `also`. */
  readonly change: (row: Texts) => Texts | null
  /** The names of these additional values. */
  readonly besides?: readonly string[]
  /** Further assignments of the update. */
  readonly set?: string
  /** Puts the update of the rows `t` by the given ones `g` into a statement that does more. */
  readonly also?: (update: string) => string
}

/** Rewrites rows by a function. The rows of a batch are locked while it decides about them. */
export function rowsRewrite(options: RowsOptions): Rewrite {
  const { table, key, columns, change, sees = [], besides = [], set, also } = options
  const own = key.map(({ name }) => `t.${identifier(name)}`).join(', ')
  const names = [...key, ...columns].map(({ name }) => name)
  const texts = [...names, ...sees].map((name) => `t.${identifier(name)}::text as ${identifier(name)}`).join(', ')
  const after = key.map(({ type }, index) => `$${index + 1}::${type}`).join(', ')
  const select = (isFirst: boolean, writes: boolean): string =>
    `select ${texts} from ${table} t ${isFirst ? '' : `where (${own}) > (${after})`} order by ${own} limit $${isFirst ? 1 : key.length + 1}
     ${writes ? 'for no key update' : ''}`
  const given = [...names, ...besides]
  const assignments = columns.map(({ name, type }) => `${identifier(name)} = g.${identifier(name)}::${type}`)
  const update = `update ${table} t set ${[...assignments, ...(set === undefined ? [] : [set])].join(', ')}
    from json_to_recordset($1::json) as g (${given.map((name) => `${identifier(name)} text`).join(', ')})
    where ${key.map(({ name, type }) => `t.${identifier(name)} = g.${identifier(name)}::${type}`).join(' and ')}`
  const statement = also?.(update) ?? update
  return {
    table,
    step: async (db, { after: place, writes, most }) => {
      const from = place === null ? [] : (JSON.parse(place) as string[])
      const { rows } = await db.query<Texts>(select(place === null, writes), [...from, most])
      const changed = rows.map(change).filter((row) => row !== null)
      if (writes && changed.length > 0) await db.query(statement, [JSON.stringify(changed)])
      const last = rows.length < most ? undefined : rows.at(-1)
      return {
        next: last === undefined ? null : JSON.stringify(key.map(({ name }) => last[name])),
        changed: changed.length,
      }
    },
  }
}

/** Deletes all rows of a table, some at a time. */
export const emptied = (table: string): Rewrite => ({
  table,
  step: async (db, { writes, most }) => {
    if (!writes) {
      const { rows } = await db.query<{ count: number }>(`select count(*)::int as count from ${table}`)
      return { next: null, changed: rows[0]?.count ?? 0 }
    }
    const some = `select ctid from ${table} limit $1`
    const { rowCount } = await db.query(`delete from ${table} where ctid = any(array(${some}))`, [most])
    return { next: rowCount === most ? '' : null, changed: rowCount ?? 0 }
  },
})
