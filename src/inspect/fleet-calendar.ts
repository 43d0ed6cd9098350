// The fleet's availability by day, from the calendars of its resources.

import { addDays } from '../clock.ts'
import type { Queryable } from '../database/sql.ts'

export type CalendarYear = {
  readonly year: number
  /** One character per day from 1 January: 0 free, 1 full. */
  readonly days: string
}

/** Changes whenever calendars were read again: the last run of their stream. */
export async function calendarVersion(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ run: string | null }>(
    `select last_run_id as run from sync.streams where stream = 'resource_availability_years'`,
  )
  return rows[0]?.run ?? ''
}

/** The calendars of all resources for these years. */
export async function calendarYears(db: Queryable, years: readonly number[]): Promise<readonly CalendarYear[]> {
  const { rows } = await db.query<CalendarYear>(
    `select year::int as year, days from mirror.resource_availability_years
     where _deleted_at is null and days is not null and year = any($1)`,
    [years],
  )
  return rows
}

export type FleetDay = {
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly free: number
  /** Resources whose calendar says something about this day. */
  readonly known: number
}

/** First day of the present month, and first day after the twelfth month shown. */
export function shownRange(today: string): { readonly from: string; readonly to: string } {
  const year = Number(today.slice(0, 4))
  const month = Number(today.slice(5, 7))
  return { from: `${today.slice(0, 7)}-01`, to: `${year + 1}-${String(month).padStart(2, '0')}-01` }
}

/** The years a range touches. */
export const yearsOf = ({ from, to }: { readonly from: string; readonly to: string }): readonly number[] => [
  ...new Set([Number(from.slice(0, 4)), Number(addDays(to, -1).slice(0, 4))]),
]

const dayMs = 86_400_000

/** Counts free resources for each day of the range, excluding its end. Characters other than 0 and 1 are ignored. */
export function countFleet(
  calendars: readonly CalendarYear[],
  { from, to }: { readonly from: string; readonly to: string },
): readonly FleetDay[] {
  const free = new Map<number, number[]>()
  const known = new Map<number, number[]>()
  for (const { year, days } of calendars) {
    const freeDays = free.get(year) ?? new Array<number>(366).fill(0)
    const knownDays = known.get(year) ?? new Array<number>(366).fill(0)
    for (let index = 0; index < Math.min(days.length, 366); index++) {
      const code = days.charCodeAt(index)
      if (code !== 48 && code !== 49) continue
      knownDays[index] = (knownDays[index] ?? 0) + 1
      if (code === 48) freeDays[index] = (freeDays[index] ?? 0) + 1
    }
    free.set(year, freeDays)
    known.set(year, knownDays)
  }
  const result: FleetDay[] = []
  for (let date = from; date < to; date = addDays(date, 1)) {
    const year = Number(date.slice(0, 4))
    const index = Math.round((Date.parse(date) - Date.parse(`${year}-01-01`)) / dayMs)
    result.push({ date, free: free.get(year)?.[index] ?? 0, known: known.get(year)?.[index] ?? 0 })
  }
  return result
}
