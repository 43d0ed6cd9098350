// src/database/schema.generated.ts is what a migrated database holds; `npm run types` writes it anew.

import { expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'

type Column = {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly optional: boolean
  readonly identity: boolean
  /** The texts that a check allows. */
  readonly allowed: readonly string[] | null
}

const columnsSql = `select n.nspname || '.' || c.relname as "table", a.attname as name, format_type(a.atttypid, null) as type,
    not a.attnotnull as nullable, a.atthasdef or a.attidentity = 'd' as optional, a.attidentity = 'a' as identity,
    (select array(select m[1] from regexp_matches(pg_get_constraintdef(k.oid), $$'([^']+)'::text$$, 'g') m)
     from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
       and pg_get_constraintdef(k.oid) like '% = ANY (ARRAY[%') as allowed
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('live', 'mirror', 'mirror_views', 'outbox', 'report', 'sync') and c.relkind in ('r', 'p', 'v', 'm')
    and a.attnum > 0 and not a.attisdropped
  order by n.nspname, c.relname, a.attnum`

const types: Readonly<Record<string, string>> = {
  bigint: 'Int8',
  'bigint[]': 'string[]',
  boolean: 'boolean',
  bytea: 'Buffer',
  'character varying': 'string',
  date: 'string',
  'double precision': 'number',
  integer: 'number',
  interval: 'Interval',
  jsonb: 'Json',
  name: 'string',
  numeric: 'Numeric',
  oid: 'number',
  pg_snapshot: 'string',
  smallint: 'number',
  text: 'string',
  'text[]': 'string[]',
  'timestamp with time zone': 'Timestamp',
  'timestamp without time zone': 'Timestamp',
  xid8: 'string',
}

function typeOf({ table, name, type, nullable, optional, identity, allowed }: Column): string {
  const known = allowed?.map((value) => `'${value}'`).join(' | ') ?? types[type]
  if (known === undefined) throw new Error(`${table}.${name} is ${type}: say in this file what pg makes of that.`)
  const base = nullable ? `${known} | null` : known
  if (identity) return 'GeneratedAlways<string>'
  return optional ? `Generated<${base}>` : base
}

const recordColumns = [
  ['_payload', 'Json'],
  ['_source', 'string'],
  ['_read_at', 'Timestamp'],
  ['_changed_at', 'Generated<Timestamp>'],
  ['_deleted_at', 'Timestamp | null'],
] as const

const header =
  (): string => `// The tables and views as Kysely sees them. Made by \`npm run types\` from a migrated database; a test holds it current.

import type { ColumnType, GeneratedAlways } from 'kysely'

/** pg returns bigint and numeric as text, so that no digit is lost. */
type Int8 = ColumnType<string, string | number | bigint, string | number | bigint>
type Numeric = ColumnType<string, string | number, string | number>
type Timestamp = ColumnType<Date, Date | string, Date | string>
type Interval = ColumnType<{ years?: number; months?: number; days?: number; hours?: number; minutes?: number; seconds?: number; milliseconds?: number }, string, string>
/** Read as a value, written as JSON text. */
type Json = ColumnType<unknown, string, string>
/** Optional in an insert. */
type Generated<T> = T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>

/** What every table of records has beside its own columns. */
type RecordColumns = {
${lines(recordColumns)}}
/** The columns of a table but the hidden ones, in a view. Those of views count as nullable, because Postgres does not record more. */
type View<T extends keyof Records, Hidden extends keyof Records[T]> = { [C in Exclude<keyof Records[T], Hidden>]: Records[T][C] | null }

`

/** The types of a table, by column. */
type Columns = ReadonlyMap<string, string>

const lines = (columns: Iterable<readonly [string, string]>, indent = '  '): string =>
  [...columns].map(([name, type]) => `${indent}${name}: ${type}\n`).join('')

async function databaseTypes({ pool }: TestDatabase): Promise<string> {
  const { rows } = await pool.query<Column>(columnsSql)
  const tables = new Map<string, Map<string, string>>()
  for (const column of rows)
    tables.set(column.table, (tables.get(column.table) ?? new Map()).set(column.name, typeOf(column)))
  const records = new Map(
    [...tables].filter(([, columns]) => recordColumns.every(([name, type]) => columns.get(name) === type)),
  )
  const nullable = (type = ''): string => `${type.replace(/^Generated<(.*)>$/, '$1').replace(/ \| null$/, '')} | null`
  const written = ([table, columns]: readonly [string, Columns]): string => {
    const shown = table.replace(/^(live|mirror_views)\./, 'mirror.')
    const from = shown === table ? undefined : records.get(shown)
    if (from !== undefined && [...columns].every(([name, type]) => nullable(from.get(name)) === type)) {
      const hidden = [...from.keys()].filter((name) => !columns.has(name)).map((name) => `'${name}'`)
      return `  '${table}': View<'${shown}', ${hidden.join(' | ') || 'never'}>\n`
    }
    const isRecord = records.has(table)
    const own = [...columns].filter(([name]) => !isRecord || recordColumns.every(([known]) => known !== name))
    return `  '${table}': ${isRecord ? 'RecordColumns & ' : ''}{\n${lines(own, '    ')}  }\n`
  }
  const others = [...tables].filter(([table]) => !records.has(table))
  return `${header()}/** The tables of records. */
type Records = {
${[...records].map(written).join('')}}

/** Every table and view of the schemas live, mirror, mirror_views, outbox, report and sync. */
export type MirrorDatabase = Records & {
${others.map(written).join('')}}
`
}

it('the types of the tables are up to date (npm run types)', async () => {
  await using database = await createTestDatabase()
  await expect(await databaseTypes(database)).toMatchFileSnapshot('../../src/database/schema.generated.ts')
})
