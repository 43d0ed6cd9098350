// Rows on their way into the mirror, all as text. Many come by COPY into a staging table: one temporary table for all
// streams, one COPY for a whole batch. Few are sent with each statement that takes them, as one JSON parameter: a row that
// is merged this way costs a sixth. The statements of `merge-statements.ts` and `change-statements.ts` take either.

import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import { streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { copyFields, copyRows, copyText } from '../database/copy.ts'
import { sourceOfRow, type TableWrite } from './rows.ts'

/** The staged column that holds the n-th catalog column, from 0. */
export const stagedColumn = (index: number): string => `c${index}`

const width = Math.max(...streams.map((stream) => stream.columns.length))
const valueColumns = Array.from({ length: width }, (_, index) => stagedColumn(index))

const shape = `batch int not null, stream text not null, stub boolean not null, source text not null,
    read_at timestamptz not null, payload text not null, ${valueColumns.map((name) => `${name} text`).join(', ')}`

// A pooler may give this connection to another version of the program, so the name depends on the shape.
const name = `boat_mirror_stage_${createHash('sha256').update(shape).digest('hex').slice(0, 8)}`

/** The table, qualified so that no table of the same name on the search path is meant. */
const stageTable = `pg_temp.${name}`

/** How a statement comes to its rows. */
export type RowSource = 'staged' | 'sent'

/** The rows of some tables, and what the first parameter of a statement on those of one stream is. */
export type Batch = { readonly source: RowSource; readonly parameter: (stream: StreamDef) => number | string }

/**
 * A from-item `alias` with the rows that a statement's first parameter stands for, and the condition that selects them:
 * columns stub, source, read_at, payload, and `stagedColumn` for each column of the catalog.
 */
export function rowsFrom(source: RowSource, stream: StreamDef, alias: string): { from: string; where: string } {
  if (source === 'staged')
    return { from: `${stageTable} ${alias}`, where: `${alias}.batch = $1 and ${alias}.stream = '${stream.name}'` }
  const columns = stream.columns.map((_, index) => `${stagedColumn(index)} text`)
  const shape = ['stream text', 'stub boolean', 'source text', 'read_at timestamptz', 'payload text', ...columns]
  return {
    from: `json_to_recordset($1::json) as ${alias}(${shape.join(', ')})`,
    where: `${alias}.stream = '${stream.name}'`,
  }
}

/** Statements before the COPY. The table lives as long as the connection; its rows end with the transaction. */
const prepare = `set local timezone = 'UTC'; set local work_mem = '32MB';
  create temp table if not exists ${name} (${shape}) on commit delete rows`

const copyStatement = `copy ${stageTable} from stdin`

/** Lines of the batch in COPY's text format. */
function* copyLines(batch: number, tables: readonly TableWrite[]): Generator<string> {
  for (const table of tables) {
    const fixed = `${batch}\t${table.stream.name}\t${table.mode === 'stub' ? 't' : 'f'}\t`
    const filler = Array.from({ length: width - table.stream.columns.length }, () => '\t\\N').join('')
    for (const row of table.rows) {
      const read = `${copyText(sourceOfRow(table, row))}\t${(row.readAt ?? table.readAt).toISOString()}\t`
      yield `${fixed}${read}${copyText(row.payload)}\t${copyFields(row.values)}${filler}\n`
    }
  }
}

/** The rows of one stream as `rowsFrom` takes them: a JSON array without null members. */
function rowsText(tables: readonly TableWrite[]): string {
  const rows = tables.flatMap((table) =>
    table.rows.map((row) => {
      const text: Record<string, unknown> = {
        stream: table.stream.name,
        stub: table.mode === 'stub',
        source: sourceOfRow(table, row),
        read_at: row.readAt ?? table.readAt,
        payload: row.payload,
      }
      for (const [index, value] of row.values.entries()) if (value !== null) text[stagedColumn(index)] = value
      return text
    }),
  )
  return JSON.stringify(rows)
}

/** Up to so many rows are sent with the statements, more are staged. */
export const mostSentRows = 50

let lastBatch = 0

/** Makes the rows of some tables available to statements of the caller's transaction. */
export async function stageRows(client: PoolClient, tables: readonly TableWrite[]): Promise<Batch> {
  const count = tables.reduce((sum, table) => sum + table.rows.length, 0)
  if (count <= mostSentRows) {
    const own = (stream: StreamDef): TableWrite[] => tables.filter((table) => table.stream.name === stream.name)
    return { source: 'sent', parameter: (stream) => rowsText(own(stream)) }
  }
  lastBatch = (lastBatch + 1) % 1_000_000_000
  const batch = lastBatch
  await client.query(prepare)
  await copyRows(client, copyStatement, copyLines(batch, tables))
  return { source: 'staged', parameter: () => batch }
}

/** The columns a normal write may set: all but those that another stream's read fills. */
export function ownColumns(stream: StreamDef): readonly string[] {
  const filled = new Set((stream.filledBy?.columns ?? []).map(({ column }) => column))
  return stream.columns.map((column) => column.name).filter((name) => !filled.has(name))
}
