// Direct insert: rows with new keys go into their table by COPY, without staging or comparison. On a first sync that
// is nearly everything.

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
    const { once, again } = isNew(table)
      ? parted(table.rows, repeated.get(table.stream) ?? new Set())
      : { once: [], again: table.rows }
    if (once.length > 0) direct.push({ ...table, rows: once })
    if (once.length === 0) others.push(table)
    else if (again.length > 0) others.push({ ...table, rows: again })
  }
  return { direct, others }
}

/** The rows whose key comes once, and the others. */
function parted(
  rows: readonly SourcedRow[],
  repeated: ReadonlySet<string>,
): { readonly once: readonly SourcedRow[]; readonly again: readonly SourcedRow[] } {
  const once: SourcedRow[] = []
  const again: SourcedRow[] = []
  for (const row of rows) (repeated.has(row.key[0] ?? '') ? again : once).push(row)
  return { once, again }
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

type Inserted = { readonly table: TableWrite; readonly row: SourcedRow; readonly rank: bigint | string }

/** The rows in the order of their keys, so that two writers meet in the same order. */
function inKeyOrder(stream: StreamDef, tables: readonly TableWrite[]): readonly Inserted[] {
  const isNumber = columnType(stream, stream.key[0] ?? '') === 'bigint'
  const all: Inserted[] = []
  for (const table of tables)
    for (const row of table.rows) {
      const key = row.key[0] ?? ''
      all.push({ table, row, rank: isNumber ? BigInt(key) : key })
    }
  return all.sort(byRank)
}

const byRank = (a: Inserted, b: Inserted): number => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0)

/** When the statement began, on the database's clock, the log's epoch, and whether row level security holds this role. */
type Beginning = { readonly now: Date; readonly epoch: string; readonly secured: boolean }

/**
 * Lines of the rows, in parts. Every column is given: for a default that reads a clock, Postgres would write row by
 * row.
 */
function* rowLines(rows: readonly Inserted[], places: readonly number[], { now }: Beginning): Generator<string> {
  const writtenAt = now.toISOString()
  for (const { table, row } of rows) {
    const told = row.readAt ?? table.readAt
    const readAt = told < now ? told.toISOString() : writtenAt // as `storableReadTime` says it
    const source = copyText(sourceOfRow(table, row))
    yield copyFields(row.values, places)
    yield '\t'
    yield copyText(row.payload)
    yield `\t${source}\t${readAt}\t${writtenAt}\n`
  }
}

const copyLog = 'copy mirror.change_log (epoch, stream, key, operation, changed_at, diff, whole) from stdin'

/** Lines of their first entries, as `firstEntry` has them of records without a parent: the key, and the person. */
function* logLines(stream: StreamDef, rows: readonly Inserted[], { now, epoch }: Beginning): Generator<string> {
  const [key = ''] = stream.key
  const isNumber = columnType(stream, key) === 'bigint'
  const person = personColumn(stream)
  const isPersonNumber = person !== undefined && columnType(stream, person) === 'bigint'
  const place = stream.columns.findIndex(({ name }) => name === person)
  const writtenAt = now.toISOString()
  for (const { row } of rows) {
    const held = row.values[place] ?? null
    const diff = person === undefined || held === null ? '{}' : `{"${person}":[null,${jsonText(held, isPersonNumber)}]}`
    const told = copyText(`{"${key}":${jsonText(row.key[0] ?? '', isNumber)}}`)
    yield `${epoch}\t${stream.name}\t${told}\tinsert\t${writtenAt}\t${copyText(diff)}\tf\n`
  }
}

const jsonText = (value: string, isNumber: boolean): string => (isNumber ? value : JSON.stringify(value))

/**
 * Inserts rows of one stream by COPY and logs them, in the caller's transaction.
 * @returns their number; null when one of them exists by now, or row level security applies to this role, from which
 * Postgres then accepts no COPY: nothing was written, and they must be merged.
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
