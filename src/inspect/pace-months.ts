// What is on the books for the coming months of departure, against a year before: what the pages plot.

import type { Queryable } from '../database/sql.ts'

export type PaceMonth = {
  /** `YYYY-MM`. */
  readonly month: string
  readonly rentals: number
  readonly lastYear: number
  readonly asOf: string
  /** Some of it is estimated. */
  readonly estimated: boolean
}

/** The last day that was kept; empty before the first. */
export async function lastPaceDay(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ day: string | null }>('select pace_until::text as day from sync.settings')
  return rows[0]?.day ?? ''
}

/** Twelve months from that of a day that was kept. */
export async function paceMonths(db: Queryable, day: string): Promise<readonly PaceMonth[]> {
  const { rows } = await db.query<PaceMonth>(
    `select to_char(m.month, 'YYYY-MM') as month, coalesce(sum(p.rentals), 0)::int as rentals,
       coalesce(sum(p.rentals_last_year), 0)::int as "lastYear", $1::date::text as "asOf", coalesce(bool_or(p.estimated or p.estimated_last_year), false) as estimated
     from generate_series(0, 11) n
     cross join lateral (select (date_trunc('month', $1::date) + make_interval(months => n))::date as month) m
     left join report.pace p on p.departure_month = m.month and p.as_of = $1::date
     group by m.month order by m.month`,
    [day],
  )
  return rows
}
