// Rows put into the mirror by hand, so that a report's answer can be worked out by hand too.

import type { Pool, QueryResultRow } from 'pg'
import type { Json } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { projectRecord } from '../../src/sync/records/project.ts'
import { createTestDatabase } from '../helpers/database.ts'

type Value = string | number | boolean | null | object

export type Reports = AsyncDisposable & {
  readonly pool: Pool
  readonly url: string
  /** Inserts rows of one mirror table; `_payload` is `{}` unless given, `_deleted_at` makes a tombstone. */
  add(table: string, ...rows: readonly Readonly<Record<string, Value>>[]): Promise<void>
  /** Says that the payment lines of these rentals were read. */
  readLines(...rentals: readonly number[]): Promise<void>
  /** Rows of a query; numbers as Postgres writes them. */
  rows<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>
  /** The present day in TIME_ZONE as stored, moved by some days, `YYYY-MM-DD`. */
  day(offset: number): Promise<string>
}

/** A migrated database of its own. */
export async function openReports(): Promise<Reports> {
  const database = await createTestDatabase()
  const { pool } = database
  const rows: Reports['rows'] = async (sql, values) => (await pool.query(sql, values)).rows
  return {
    pool,
    url: database.url,
    add: async (table, ...records) => {
      for (const record of records) {
        const read = dateTimesIn(table, record._payload ?? {})
        const row = { _payload: {}, _source: `GET /v3/${table}`, _read_at: '2026-01-01T00:00:00Z', ...read, ...record }
        const values = Object.values(row).map((value) => (isPlain(value) ? value : JSON.stringify(value)))
        const places = values.map((_, index) => `$${index + 1}`)
        await pool.query(`insert into mirror.${table} (${Object.keys(row).join(', ')}) values (${places})`, values)
      }
    },
    readLines: async (...rentals) => {
      await pool.query(
        `insert into sync.records (stream, key, detail_read_at) select 'rental_payments', unnest($1::text[]), now()`,
        [rentals],
      )
    },
    rows,
    day: async (offset) => {
      const [found] = await rows<{ day: string }>(
        `select ((now() at time zone time_zone)::date + $1::int)::text as day from sync.settings`,
        [offset],
      )
      return found?.day ?? ''
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

/** What the sync reads of date-times in a record, in a mirror whose TIME_ZONE is UTC. */
function dateTimesIn(table: string, payload: Value): Record<string, string | null> {
  const stream = streamNamed(table)
  const request = Object.fromEntries(stream.key.map((name) => [name, '1']))
  const projected = projectRecord(stream, { id: 1, ...(payload as Record<string, Json>) }, request, 'UTC')
  if (!projected.ok) return {}
  const isRead = stream.columns.map(({ moment, type }) => moment !== undefined || type === 'timestamp')
  return Object.fromEntries(
    stream.columns.flatMap(({ name }, index) => (isRead[index] ? [[name, projected.row.values[index] ?? null]] : [])),
  )
}

const isPlain = (value: Value): boolean => value === null || typeof value !== 'object'

/** A rental as the API writes its departure: the column holds the instant, the payload the text. */
export function departing(text: string | null): Record<string, Value> {
  return { departure_datetime: text, _payload: { departureDatetime: text } }
}
