// Runs the statements of a read as its caller, in one round trip: as one statement where the connection's own role reads; else in
// one read-only transaction, in which what is known of the reading is asked first and the rows then as the caller's role.

import type pg from 'pg'
import { type Database, queryPrepared } from '../../database/database.ts'
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

const shifted = (text: string, by: number): string => text.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + by}`)

const joinedTexts = new Map<string, string>()

/** Both as one statement. */
function joined({ name, facts, rows }: ReadStatement): string {
  const known = name === null ? undefined : joinedTexts.get(name)
  if (known !== undefined) return known
  const text = `select * from (${facts.text}) f left join (${shifted(rows.text, facts.values.length)}) r on true`
  if (name !== null) joinedTexts.set(name, text)
  return text
}

function run<R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  name: string | null,
  { text, values }: Part,
): Promise<pg.QueryResult<R>> {
  return name === null
    ? client.query<R>(text, [...values])
    : queryPrepared<R>(client, { name, text, values: [...values] })
}

/** Runs the statement as the caller. Columns of `rows` are null where there is no row, or the caller sees none. */
export async function readRow<R extends object>(
  database: Database,
  { role }: Pick<Caller, 'role'>,
  statement: ReadStatement,
): Promise<R> {
  const { name, facts, rows } = statement
  if (role === null) {
    const client = await database.pool.connect()
    let failed = true
    try {
      const values = [...facts.values, ...rows.values]
      const found = await run<R & pg.QueryResultRow>(client, name, { text: joined(statement), values })
      failed = false
      return found.rows[0] as R
    } finally {
      client.release(failed)
    }
  }
  const results = await readTogether(database.pool, [
    { ...facts, name: name === null ? null : `${name}:facts` },
    `set local role ${identifier(role)}`,
    { ...rows, name: name === null ? null : `${name}:rows` },
  ])
  const columns = results.flatMap(({ fields, rows: [row] }) =>
    fields.map(({ name: column }): [string, unknown] => [column, row?.[column] ?? null]),
  )
  return Object.fromEntries(columns) as R
}
