// What the mirror's tests share: a database opened as the program opens it, and rows made from records.

import type { PoolClient, QueryResultRow } from 'pg'
import { pino } from 'pino'
import { expect, vi } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { StreamDef } from '../../src/catalog/types.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import type { MirrorWrites, SourcedRow, TableWrite, WriteCounts } from '../../src/mirror/rows.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { createTestDatabase } from '../helpers/database.ts'

export const quiet = pino({ level: 'silent' })

export type Mirror = AsyncDisposable & {
  readonly url: string
  readonly db: Database
  /** Applies writes in a transaction of their own. */
  write(writes: MirrorWrites): Promise<ReadonlyMap<string, WriteCounts>>
  /** Rows of a query. */
  all<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>
}

/** A migrated database of its own. `statementTimeoutMs`: 0 where a test's own statements may take long on a busy machine. */
export async function openMirror(options: { readonly statementTimeoutMs?: number } = {}): Promise<Mirror> {
  const database = await createTestDatabase()
  const db = openDatabase({ url: database.url, applicationName: 'test', max: 8, log: quiet, ...options })
  return {
    url: database.url,
    db,
    write: (writes) => db.transaction(async (client: PoolClient) => (await applyWrites(client, writes)).counts),
    all: async (sql, values) => (await db.pool.query(sql, values)).rows,
    [Symbol.asyncDispose]: async () => {
      await db.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** A cursor as sync.consumers shows it: the mark of its entry is for readers who keep it elsewhere. */
export const placeOf = (cursor: string | undefined): string | undefined => cursor?.replace(/\.[0-9a-f]+$/, '')

/** Minute `n` of a day: reading times that are easy to compare. */
export const at = (n: number): Date => new Date(Date.UTC(2026, 6, 14, 0, n))

/** A row of a stream from values of its columns; omitted columns are null, the payload defaults to the values. */
export function rowOf(
  name: string,
  values: Readonly<Record<string, string | number | null>>,
  payload: unknown = values,
): SourcedRow {
  const stream = streamNamed(name)
  const textOf = (column: string): string | null => {
    const value = values[column]
    return value === undefined || value === null ? null : String(value)
  }
  return {
    key: stream.key.map((column) => textOf(column) ?? ''),
    values: stream.columns.map((column) => textOf(column.name)),
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  }
}

type Extra = Partial<Pick<TableWrite, 'mode' | 'source' | 'replace' | 'newKeys'>>

/** A write of one table, read at minute `minute`. */
export function tableOf(name: string, minute: number, rows: readonly SourcedRow[], extra: Extra = {}): TableWrite {
  const stream: StreamDef = streamNamed(name)
  return { stream, source: `GET /v3/${name}`, readAt: at(minute), rows, mode: 'record', ...extra }
}

export type LogRow = {
  stream: string
  key: Record<string, unknown>
  operation: string
  diff: Record<string, unknown[]>
}

/** The change log in order, without numbers and times. */
export const changeLog = (mirror: Mirror): Promise<LogRow[]> =>
  mirror.all<LogRow>('select stream, key, operation, diff from mirror.changes order by seq')

/**
 * Waits until no transaction older than the log's newest row is open: those of other databases count, too. Who holds it back
 * for too long is named.
 */
export const feedSettled = ({ all }: Pick<Mirror, 'all'>): Promise<void> =>
  vi.waitFor(
    async () => {
      const holders = await all(
        `select datname, age(clock_timestamp(), xact_start)::text as open, left(query, 200) as query from pg_stat_activity
         where backend_xid is not null order by age(backend_xid) desc limit 5`,
      )
      const [row] = await all<{ settled: boolean }>(
        `select not exists (select from mirror.change_log where epoch = mirror.feed_epoch()
           and xid >= pg_snapshot_xmin(pg_current_snapshot())) as settled`,
      )
      expect(row?.settled, `the feed is held back by ${JSON.stringify(holders)}`).toBe(true)
    },
    { timeout: 60_000, interval: 20 },
  )
