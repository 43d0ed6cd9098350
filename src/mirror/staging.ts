// The staging table: rows on their way into the mirror, all as text, brought in by COPY. One temporary table for all
// streams and one COPY for a whole batch; the statements of `merge-statements.ts` take their rows from it.

import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import { streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { copyRows, copyText } from '../database/copy.ts'
import { sourceOfRow, type TableWrite } from './rows.ts'

/** The staged column that holds the n-th catalog column, from 0. */
export const stagedColumn = (index: number): string => `c${index}`

const width = Math.max(...streams.map((stream) => stream.columns.length))
const valueColumns = Array.from({ length: width }, (_, index) => stagedColumn(index))

const shape = `batch int not null, stream text not null, stub boolean not null, source text not null,
    read_at timestamptz not null, payload text not null, ${valueColumns.map((name) => `${name} text`).join(', ')}`

// A pooler hands connections on, to another version of this program, too: the name tells the shape.
const name = `boat_mirror_stage_${createHash('sha256').update(shape).digest('hex').slice(0, 8)}`

/** The table, qualified so that no table of the same name on the search path is meant. */
export const stageTable = `pg_temp.${name}`

/** Statements before the COPY. The table lives as long as the connection; its rows end with the transaction. */
const prepare = `set local timezone = 'UTC'; set local work_mem = '32MB';
  create temp table if not exists ${name} (${shape}) on commit delete rows`

const copyStatement = `copy ${stageTable} from stdin`

/** Lines of the batch in COPY's text format. */
function* copyLines(batch: number, tables: readonly TableWrite[]): Generator<string> {
  for (const table of tables) {
    const stub = table.mode === 'stub' ? 't' : 'f'
    const filler = '\t\\N'.repeat(width - table.stream.columns.length)
    for (const row of table.rows) {
      const source = sourceOfRow(table, row)
      const readAt = (row.readAt ?? table.readAt).toISOString()
      const fixed = `${batch}\t${table.stream.name}\t${stub}\t${copyText(source)}\t${readAt}\t${copyText(row.payload)}`
      yield `${fixed}\t${row.values.map(copyText).join('\t')}${filler}\n`
    }
  }
}

let lastBatch = 0

/**
 * Stages the rows of some tables in the caller's transaction.
 * @returns the batch's number: statements select their rows by it and by the stream.
 */
export async function stageRows(client: PoolClient, tables: readonly TableWrite[]): Promise<number> {
  lastBatch = (lastBatch + 1) % 1_000_000_000
  const batch = lastBatch
  await client.query(prepare)
  if (tables.every((table) => table.rows.length === 0)) return batch
  await copyRows(client, copyStatement, copyLines(batch, tables))
  return batch
}

/** The columns a normal write may set: all but those that another stream's read fills. */
export function ownColumns(stream: StreamDef): readonly string[] {
  const filled = new Set((stream.filledBy?.columns ?? []).map(({ column }) => column))
  return stream.columns.map((column) => column.name).filter((name) => !filled.has(name))
}
