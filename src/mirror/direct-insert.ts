// Direct insert: rows whose keys nobody knew a moment ago go into their table by COPY, without staging or comparison. On a
// first sync that is nearly everything.

import type { PoolClient, QueryResult } from 'pg'
import { columnType } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import { copyFields, copyRows, copyText } from '../database/copy.ts'
import { identifier } from '../database/sql.ts'
import { isUniqueViolation } from '../database/sql-states.ts'
import { firstEntry, personColumn } from './feed.ts'
import { type SourcedRow, sourceOfRow, type TableWrite } from './rows.ts'
import { ownColumns } from './staging.ts'

/**
 * Takes out the rows that may be inserted directly: those of writes with new keys, whose key comes only once. Children
 * are compared with their parent and never inserted directly. Pure.
 */
export function splitDirect(tables: readonly TableWrite[]): {
  readonly direct: readonly TableWrite[]
  readonly others: readonly TableWrite[]
} {
  if (!tables.some(isNew)) return { direct: [], others: tables }
  const repeated = repeatedKeys(tables)
  const direct: TableWrite[] = []
  const others: TableWrite[] = []
  for (const table of tables) {
    const again = repeated.get(table.stream) ?? new Set()
    const isOnce = (row: SourcedRow): boolean => !again.has(row.key[0] ?? '')
    const once = isNew(table) ? table.rows.filter(isOnce) : []
    if (once.length > 0) direct.push({ ...table, rows: once })
    if (once.length === 0) others.push(table)
    else if (once.length < table.rows.length) others.push({ ...table, rows: table.rows.filter((row) => !isOnce(row)) })
  }
  return { direct, others }
}

/** First parts of the keys that come more than once, by stream. */
function repeatedKeys(tables: readonly TableWrite[]): ReadonlyMap<StreamDef, ReadonlySet<string>> {
  const seen = new Map<StreamDef, Set<string>>()
  const repeated = new Map<StreamDef, Set<string>>()
  for (const { stream, rows } of tables) {
    const before = seen.get(stream) ?? new Set()
    seen.set(stream, before)
    for (const {
      key: [part = ''],
    } of rows) {
      if (before.has(part)) repeated.set(stream, (repeated.get(stream) ?? new Set()).add(part))
      before.add(part)
    }
  }
  return repeated
}

const isNew = (table: TableWrite): boolean =>
  table.newKeys === true && table.stream.parent === undefined && (table.replace ?? []).length === 0

/** The rows in the order of their keys, so that two writers meet in the same order. */
function* linesOf(
  stream: StreamDef,
  places: readonly number[],
  tables: readonly TableWrite[],
  now: Date,
): Generator<string> {
  const type = stream.columns.find(({ name }) => name === stream.key[0])?.type
  const compare = (a: string, b: string): number =>
    type === 'bigint' ? Number(BigInt(a) - BigInt(b)) : a < b ? -1 : a > b ? 1 : 0
  const rows = tables
    .flatMap((table) => table.rows.map((row) => ({ table, row })))
    .sort((a, b) => compare(a.row.key[0] ?? '', b.row.key[0] ?? ''))
  for (const { table, row } of rows) {
    const told = row.readAt ?? table.readAt
    const readAt = told < now ? told : now // as `toldRead` says it
    const fields = places.length < row.values.length ? places.map((place) => row.values[place] ?? null) : row.values
    yield `${copyFields(fields)}${copyText(row.payload)}\t${copyText(sourceOfRow(table, row))}\t${readAt.toISOString()}\n`
  }
}

/** Logs rows that were just inserted. Parameters: an array of keys and, where the records hold a person, one of its ids. */
function logStatement(stream: StreamDef): string {
  const said = saidColumns(stream)
  const typed = said.map((column, index) => `$${index + 1}::text[]::${columnType(stream, column)}[]`)
  return `insert into mirror.change_log (epoch, stream, key, operation, diff, whole)
    select (select mirror.feed_epoch()), '${stream.name}', ${firstEntry(stream, ownColumns(stream), 't')}
    from unnest(${typed.join(', ')}) as t(${said.map(identifier).join(', ')}) order by t.${identifier(said[0] ?? '')}`
}

/** What their first entries say of records without a parent: the key, and the person. */
function saidColumns(stream: StreamDef): readonly string[] {
  const person = personColumn(stream)
  return [...stream.key, ...(person === undefined ? [] : [person])]
}

/**
 * Inserts rows of one stream by COPY and logs them, in the caller's transaction.
 * @returns their number; null when one of them is there by now: then nothing was written, and they are to be merged.
 */
export async function insertDirectly(
  client: PoolClient,
  stream: StreamDef,
  tables: readonly TableWrite[],
): Promise<number | null> {
  const own = new Set(ownColumns(stream))
  const columns = stream.columns.map(({ name }, place) => ({ name, place })).filter(({ name }) => own.has(name))
  const names = [...columns.map(({ name }) => name), '_payload', '_source', '_read_at'].map(identifier)
  const places = columns.map(({ place }) => place)
  const begun = await client.query('savepoint direct_insert; select statement_timestamp() as now')
  // Of several statements pg gives several results, which its types do not say.
  const [, { rows }] = begun as unknown as readonly [unknown, QueryResult<{ now: Date }>]
  try {
    const statement = `copy mirror.${identifier(stream.name)} (${names.join(', ')}) from stdin`
    await copyRows(client, statement, linesOf(stream, places, tables, rows[0]?.now ?? new Date(0)))
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    await client.query('rollback to savepoint direct_insert')
    return null
  }
  const inserted = tables.flatMap((table) => table.rows)
  const said = saidColumns(stream).map((column) => stream.columns.findIndex(({ name }) => name === column))
  const values = said.map((place) => inserted.map((row) => row.values[place] ?? null))
  await client.query(logStatement(stream), values)
  await client.query('release savepoint direct_insert')
  return inserted.length
}
