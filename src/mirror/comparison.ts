// Compares what was read with the mirror and changes nothing: `sync --check`.

import type { PoolClient } from 'pg'
import type { StreamDef } from '../catalog/types.ts'
import { groupScopes, scopeParameters, tombstoneCandidates } from './change-statements.ts'
import { compareStatement } from './merge-statements.ts'
import type { TableWrite } from './rows.ts'
import { type Batch, stageRows } from './staging.ts'

export type Difference = {
  readonly stream: string
  readonly key: readonly string[]
  /** `missing`: not (alive) in the mirror · `different` · `deleted`: in the mirror, not in a complete answer. */
  readonly kind: 'missing' | 'different' | 'deleted'
  /** Column → value in the mirror, value in the API; `_payload` only where no column differs. */
  readonly columns: Readonly<Record<string, readonly [unknown, unknown]>>
}

/** What a comparison found in one stream: how many, and the first of each kind. */
export type Comparison = {
  readonly stream: string
  readonly missing: number
  readonly different: number
  readonly deleted: number
  readonly samples: readonly Difference[]
}

const sampleSize = 20 // per stream and kind of statement; the counts are complete

type Compared = {
  readonly key: string[]
  readonly kind: 'missing' | 'different'
  readonly diff: Record<string, [unknown, unknown]>
  readonly missing: number
  readonly total: number
}

/**
 * Compares records and replaced scopes with the mirror, without stubs. Writes only temporary rows of the caller's
 * transaction, which may be rolled back. Returns one comparison for each stream that differs.
 */
export async function compareWrites(client: PoolClient, tables: readonly TableWrite[]): Promise<readonly Comparison[]> {
  const records = tables.filter((table) => table.mode === 'record')
  if (records.length === 0) return []
  const batch = await stageRows(client, records)
  const byName = new Map(records.map((table) => [table.stream.name, table.stream]))
  const found: Comparison[] = []
  for (const stream of byName.values()) {
    const { rows } = await client.query<Compared>(compareStatement(stream, batch.source), [
      batch.parameter(stream),
      sampleSize,
    ])
    const scopes = records.filter((table) => table.stream.name === stream.name)
    const deleted = await deletedRows(client, stream, scopes, batch)
    const missing = rows[0]?.missing ?? 0
    const comparison = {
      stream: stream.name,
      missing,
      different: (rows[0]?.total ?? 0) - missing,
      deleted: deleted.length,
      samples: [
        ...rows.map(({ key, kind, diff }) => ({ stream: stream.name, key, kind, columns: diff })),
        ...deleted
          .slice(0, sampleSize)
          .map((key) => ({ stream: stream.name, key, kind: 'deleted' as const, columns: {} })),
      ],
    }
    if (comparison.samples.length > 0) found.push(comparison)
  }
  return found
}

/** Keys of live rows in the replaced scopes that no answer brought. */
async function deletedRows(
  client: PoolClient,
  stream: StreamDef,
  tables: readonly TableWrite[],
  batch: Batch,
): Promise<readonly (readonly string[])[]> {
  const keys: (readonly string[])[] = []
  for (const scopes of groupScopes(tables)) {
    const parameters = [batch.parameter(stream), ...scopeParameters(scopes)]
    const statement = tombstoneCandidates(stream, scopes.shape, batch.source)
    const { rows } = await client.query<{ key: string[] }>(statement, parameters)
    keys.push(...rows.map((row) => row.key))
  }
  return keys
}
