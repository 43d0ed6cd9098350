// What runs SQL, Kysely on it, and small pieces of SQL that several folders share.

import { Kysely, PostgresDialect, type PostgresPoolClient, type QueryCreator, type RawBuilder, sql } from 'kysely'
import pg, { type QueryResult, type QueryResultRow } from 'pg'
import { columnType } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { MirrorDatabase } from './schema.generated.ts'

/** A pool, or a client inside a transaction: what runs one statement. */
export type Queryable = {
  query<R extends QueryResultRow = QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<R>>
}

const builders = new WeakMap<Queryable, QueryCreator<MirrorDatabase>>()

/** Kysely on a pool or on a client, which stays the caller's. */
export function kyselyOn<D>(db: Queryable): Kysely<D> {
  const client = {
    query: <R>(text: string, values: readonly unknown[]) => db.query<R & QueryResultRow>(text, [...values]),
    release: () => {},
  }
  const pool = { connect: async () => client as unknown as PostgresPoolClient, end: async () => {} }
  return new Kysely<D>({ dialect: new PostgresDialect({ pool }) })
}

/** Kysely's queries on a pool or on a client; those of a client belong to the transaction it is in. */
export function on(db: Queryable): QueryCreator<MirrorDatabase> {
  const builder = builders.get(db) ?? kyselyOn<MirrorDatabase>(db)
  builders.set(db, builder)
  return builder
}

/** The database's clock now, whenever its transaction began. */
export const now: RawBuilder<Date> = sql`clock_timestamp()`

/** So many milliseconds from now. */
export const inMs = (ms: number): RawBuilder<Date> => sql`clock_timestamp() + ${ms} * interval '1 ms'`

/**
 * A condition that is always true. The transaction of its statement is on disk once its commit has returned, whatever role,
 * database and session say, also behind a pooler. Only `off` is raised, and to `local`: that survives a crash, and does not
 * wait for a standby that `off` never waited for.
 */
export const durably = `(select case current_setting('synchronous_commit')
  when 'off' then set_config('synchronous_commit', 'local', true) else '' end) is not null`

/** Rows as arrays of their columns, for `unnest`. */
export const columnsOf = <T>(rows: readonly (readonly T[])[], count: number): T[][] =>
  Array.from({ length: count }, (_, column) => rows.map((row) => row[column] as T))

/** A text as a SQL literal. */
export const literal = (text: string): string => pg.escapeLiteral(text)

/** A name as a SQL identifier. */
export const identifier = (name: string): string => pg.escapeIdentifier(name)

const placeholder = /\{\{([a-z_]+)\}\}/g

/**
 * The text of a `.sql` file with its placeholders, written `{{name}}`, replaced by pieces of SQL.
 * @throws Error for a placeholder without a value, and for a value without a placeholder.
 */
export function fillSql(text: string, values: Readonly<Record<string, string>>): string {
  const unused = new Set(Object.keys(values))
  const filled = text.replace(placeholder, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`Nothing was given for the placeholder {{${name}}}.`)
    unused.delete(name)
    return value
  })
  if (unused.size > 0) throw new Error(`No such placeholder: ${[...unused].join(', ')}.`)
  return filled
}

/** Part of the source of a stub, before its place inside the record that names it: `GET /v3/rentals#user`. */
const stubMark = '#'

/** Texts as one parameter of type text[]. A thousand take half as long as in pg, which checks the type of each. */
export const textArray = (texts: readonly string[]): string =>
  texts.length === 0 ? '{}' : `{"${texts.map(escapedElement).join('","')}"}`

const escapedElement = (text: string): string => (/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text)

/** The source of a stub: a record known only from this place inside another one. */
export const stubSource = (endpoint: string, place: string): string => `${endpoint}${stubMark}${place}`

/** Is this the source of a stub? */
export const isStubSource = (source: string): boolean => source.includes(stubMark)

/** The same as SQL, of a row of the mirror by its alias; null where there is no row. */
export const isStub = (alias: string): string => `(position('${stubMark}' in ${alias}._source) > 0)`

/** A key as one text from SQL expressions, as `keyText` makes it: a single column as it is, several as a JSON array. */
export function keyTextSql(expressions: readonly string[]): string {
  const [first] = expressions
  if (first !== undefined && expressions.length === 1) return `(${first})::text`
  return `('[' || ${expressions.map((part) => `to_json((${part})::text)::text`).join(` || ',' || `)} || ']')`
}

/** SQL that a row of `stream`, by its alias, has these key columns: parameters from `first` on, in their order. */
export const hasKey = (stream: StreamDef, alias: string, columns: readonly string[], first = 1): string =>
  columns
    .map((column, index) => `${alias}.${identifier(column)} = $${first + index}::${columnType(stream, column)}`)
    .join(' and ')

/** The key of a stream's row as one text; `alias` is the table's alias. */
export const keySql = (stream: StreamDef, alias: string): string =>
  keyTextSql(stream.key.map((name) => `${alias}.${name}`))

// Reading times: none is stored later than the database's own clock, and one that is later all the same (that clock was set
// back) says nothing, or every later read would be dropped as older.

const statementNow = 'statement_timestamp()'

/**
 * A reading time received from outside, in the form to store; null (never read) stays null, which `least` would turn
 * into now.
 */
export const storableReadTime = (expression: string): string =>
  `case when ${expression} > ${statementNow} then ${statementNow} else ${expression} end`

/** True for a row whose reading time lies ahead of the database's clock. */
export const isReadAhead = (row: string): string => `${row}._read_at > ${statementNow}`

/** When a stored row was read, for a comparison with a later read. */
export const knownRead = (row: string): string =>
  `case when ${isReadAhead(row)} then '-infinity' else ${row}._read_at end`
