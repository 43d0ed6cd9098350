// Direct insert: rows whose keys nobody knew a moment ago go into their table by COPY, without staging or comparison. On a
// first sync that is nearly everything.

import type { PoolClient, QueryResult } from 'pg'
import { columnType } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import { copyFields, copyRows, copyText } from '../database/copy.ts'
import { identifier } from '../database/sql.ts'
import { isUniqueViolation } from '../database/sql-states.ts'
import { personColumn } from './feed.ts'
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

type Inserted = { readonly table: TableWrite; readonly row: SourcedRow }

/** The rows in the order of their keys, so that two writers meet in the same order. */
function inKeyOrder(stream: StreamDef, tables: readonly TableWrite[]): readonly Inserted[] {
  const isNumber = columnType(stream, stream.key[0] ?? '') === 'bigint'
  const compare = (a: string, b: string): number =>
    isNumber ? Number(BigInt(a) - BigInt(b)) : a < b ? -1 : a > b ? 1 : 0
  return tables
    .flatMap((table) => table.rows.map((row) => ({ table, row })))
    .sort((a, b) => compare(a.row.key[0] ?? '', b.row.key[0] ?? ''))
}

/** When the statement began, on the database's clock, the log's epoch, and whether row level security holds this role. */
type Beginning = { readonly now: Date; readonly epoch: string; readonly secured: boolean }

/** Lines of the rows. All that a row holds is given: for a default that calls a clock, Postgres would write each by itself. */
function* rowLines(rows: readonly Inserted[], places: readonly number[], { now }: Beginning): Generator<string> {
  for (const { table, row } of rows) {
    const told = row.readAt ?? table.readAt
    const readAt = told < now ? told : now // as `toldRead` says it
    const fields = places.length < row.values.length ? places.map((place) => row.values[place] ?? null) : row.values
    const times = `${readAt.toISOString()}\t${now.toISOString()}`
    yield `${copyFields(fields)}${copyText(row.payload)}\t${copyText(sourceOfRow(table, row))}\t${times}\n`
  }
}

const copyLog = 'copy mirror.change_log (epoch, stream, key, operation, changed_at, diff, whole) from stdin'

/** Lines of their first entries, as `firstEntry` has them of records without a parent: the key, and the person. */
function* logLines(stream: StreamDef, rows: readonly Inserted[], { now, epoch }: Beginning): Generator<string> {
  const json = (name: string, value: string): string =>
    columnType(stream, name) === 'bigint' ? value : JSON.stringify(value)
  const [key = ''] = stream.key
  const person = personColumn(stream)
  const place = stream.columns.findIndex(({ name }) => name === person)
  for (const { row } of rows) {
    const held = row.values[place] ?? null
    const diff = person === undefined || held === null ? '{}' : `{"${person}":[null,${json(person, held)}]}`
    const told = copyText(`{"${key}":${json(key, row.key[0] ?? '')}}`)
    yield `${epoch}\t${stream.name}\t${told}\tinsert\t${now.toISOString()}\t${copyText(diff)}\tf\n`
  }
}

/**
 * Inserts rows of one stream by COPY and logs them, in the caller's transaction.
 * @returns their number; null when one of them is there by now, or row level security holds this role, from which Postgres
 *   takes no COPY then: nothing was written, and they are to be merged.
 */
export async function insertDirectly(
  client: PoolClient,
  stream: StreamDef,
  tables: readonly TableWrite[],
): Promise<number | null> {
  const own = new Set(ownColumns(stream))
  const columns = stream.columns.map(({ name }, place) => ({ name, place })).filter(({ name }) => own.has(name))
  const names = [...columns.map(({ name }) => name), '_payload', '_source', '_read_at', '_changed_at'].map(identifier)
  const begun = await client.query(
    `savepoint direct_insert; select statement_timestamp() as now, mirror.feed_epoch() as epoch,
       row_security_active('mirror.change_log') as secured`,
  )
  // Of several statements pg gives several results, which its types do not say.
  const [, { rows: beginnings }] = begun as unknown as readonly [unknown, QueryResult<Beginning>]
  const beginning = beginnings[0] ?? { now: new Date(0), epoch: '0', secured: false }
  if (beginning.secured) {
    await client.query('release savepoint direct_insert')
    return null
  }
  const rows = inKeyOrder(stream, tables)
  try {
    const places = columns.map(({ place }) => place)
    const statement = `copy mirror.${identifier(stream.name)} (${names.join(', ')}) from stdin`
    await copyRows(client, statement, rowLines(rows, places, beginning))
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    await client.query('rollback to savepoint direct_insert')
    return null
  }
  await copyRows(client, copyLog, logLines(stream, rows, beginning))
  await client.query('release savepoint direct_insert')
  return rows.length
}
