// Runs the statements of a read in one round trip and one read-only transaction: what is known of the reading is asked first, and
// then the rows, as the caller's role.

import type { Database } from '../../database/database.ts'
import { identifier } from '../../database/sql.ts'
import { readTogether } from '../../database/together.ts'
import type { Caller } from '../types.ts'

/** A statement with its parameters, `$1` and so on. */
export type Part = { readonly text: string; readonly values: readonly (string | null)[] }

export type ReadStatement = {
  /** Names the prepared statement; the texts follow from it. Null: its best plan depends on the values. */
  readonly name: string | null
  /** What is known of the reading, from `sync`; one row. */
  readonly facts: Part
  /** The data to serve, from `mirror`; at most one row, whose columns have other names. */
  readonly rows: Part
}

/** Runs the statement as the caller. Columns of `rows` are null where there is no row, or the caller sees none. */
export async function readRow<R extends object>(
  database: Database,
  { role }: Pick<Caller, 'role'>,
  statement: ReadStatement,
): Promise<R> {
  const { name, facts, rows } = statement
  const results = await readTogether(database.pool, [
    { ...facts, name: name === null ? null : `${name}:facts` },
    ...(role === null ? [] : [`set local role ${identifier(role)}`]),
    { ...rows, name: name === null ? null : `${name}:rows` },
  ])
  const columns = results.flatMap(({ fields, rows: [row] }) =>
    fields.map(({ name: column }): [string, unknown] => [column, row?.[column] ?? null]),
  )
  return Object.fromEntries(columns) as R
}
