// Reads of the views of schema report: for `report`, and for what in them needs attention.

import type { PoolClient } from 'pg'
import { type Database, withStatementTimeout } from '../database/database.ts'
import { identifier, type Queryable } from '../database/sql.ts'

/** What `report` asks for: a view as it is, or the calendar on other days. */
export type ReportRequest = {
  /** Name of a view of schema report. */
  readonly view: string
  readonly orderBy: string
  /** Columns in order. */
  readonly columns: readonly string[]
  readonly days?: { readonly from: string; readonly to: string }
  /** Rows at most; null: all. */
  readonly limit: number | null
}

/** Rows are handed over in portions of this size: a calendar of 5,000 boats is half a million rows. */
const portion = 2_000

/**
 * Hands the rows of a report over, portion by portion, all from one snapshot.
 * @param as `text`: an object of texts as Postgres writes them. `json`: `{json: text}`, exact.
 */
export async function readReport(
  database: Database,
  request: ReportRequest,
  as: 'text' | 'json',
  onRows: (rows: readonly Readonly<Record<string, string | null>>[]) => Promise<void>,
): Promise<void> {
  const select = reportSelect(request, as)
  await database.transaction(
    async (client: PoolClient) => {
      // The reader waits, and may stop it. Compiling takes longer than it saves on views of this kind.
      const patient = await withStatementTimeout(client, 0)
      await client.query('set local jit = off')
      await client.query(`declare report no scroll cursor for ${select.text}`, select.values)
      for (;;) {
        const { rows } = await patient.query<Record<string, string | null>>(`fetch ${portion} from report`)
        if (rows.length > 0) await onRows(rows)
        if (rows.length < portion) return
      }
    },
    { readOnly: true },
  )
}

function reportSelect(request: ReportRequest, as: 'text' | 'json'): { text: string; values: unknown[] } {
  const { view, orderBy, columns, days, limit } = request
  const source = days === undefined ? `report.${identifier(view)}` : `report.${identifier(view)}($1, $2)`
  const list =
    as === 'json' ? 'row_to_json(v)::text as json' : columns.map((c) => `v.${identifier(c)}::text`).join(', ')
  const rows = `select * from ${source} order by ${orderBy}${limit === null ? '' : ` limit ${limit}`}`
  return { text: `select ${list} from (${rows}) v`, values: days === undefined ? [] : [days.from, days.to] }
}

type Overlaps = { readonly rentals: number; readonly boats: number }

/**
 * Changes when the double bookings may have: a row that they are made of, which resources are several boats, or the minute. Looked up
 * in a fortieth of the time: the ends of every unavailability are parsed to find what overlaps.
 */
const overlapsVersion = `select concat_ws(' ', (select max(_changed_at) from mirror.rentals),
  (select max(_changed_at) from mirror.resource_unavailabilities), (select max(_changed_at) from mirror.resources),
  (select count(*) from sync.fleets), date_trunc('minute', now())) as version`

const countedOverlaps = new WeakMap<Queryable, { readonly version: string; readonly overlaps: Overlaps }>()

/**
 * Double bookings of which neither part has ended: how many rentals, and of how many boats. Counted again after a change, and once
 * a minute.
 */
export async function overlapsToCome(db: Queryable): Promise<Overlaps> {
  const [{ version } = { version: '' }] = (await db.query<{ version: string }>(overlapsVersion)).rows
  const counted = countedOverlaps.get(db)
  if (counted?.version === version) return counted.overlaps
  const { rows } = await db.query<Overlaps>(
    `select count(distinct rental_id)::int as rentals, count(distinct coalesce(boat_id::text, resource_id))::int as boats
     from report.overlaps where arrival_datetime > now() and other_to > now()`,
  )
  const overlaps = rows[0] ?? { rentals: 0, boats: 0 }
  countedOverlaps.set(db, { version, overlaps })
  return overlaps
}
