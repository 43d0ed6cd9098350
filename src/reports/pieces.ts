// What the report views share: their form, and pieces of SQL: today, the day and wall clock of a date-time, currencies.

import type { ViewDef } from '../database/repeatable-step.ts'
import type { reportNames } from './names.ts'

/** A view of schema `report`, as data. */
export type ReportView = Omit<ViewDef, 'schema' | 'name' | 'columns'> & {
  readonly name: (typeof reportNames)[number]
  readonly columns: Readonly<Record<string, readonly [sql: string, comment: string]>>
  /** The order most useful to a reader. */
  readonly orderBy: string
}

/** TIME_ZONE as the last migrate stored it; a separate sub-select, so that it is evaluated once per query. */
export const timeZone = '(select s.time_zone from sync.settings s)'

/** The present day in TIME_ZONE. */
export const today = '(select (now() at time zone s.time_zone)::date from sync.settings s)'

/**
 * The wall clock of a date-time where it happens, as `timestamp`. `timestamptz` keeps the instant and forgets the offset,
 * so the clock is read from the text as the API wrote it: a cast to `timestamp` ignores the offset. A text without offset
 * is in TIME_ZONE, so it is right as it stands.
 * @param text SQL of the date-time as written, null if it is not known. @param instant SQL of the same as `timestamptz`.
 */
export const localTime = (text: string, instant: string): string =>
  `case when ${instant} is not null then coalesce(${text}::timestamp, ${instant} at time zone ${timeZone}) end`

/** The day of a date-time where it happens, as `date`; see {@link localTime}. */
export const localDay = (text: string, instant: string): string => `(${localTime(text, instant)})::date`

/**
 * First day of the month of {@link localDay}. No offset exceeds 16 hours, so it decides only near the end of a month,
 * and only then is the text read: unpacking the payload of every rental would take most of a query's time.
 */
export const localMonth = (text: string, instant: string): string =>
  `(case when date_trunc('month', ${instant} at time zone 'UTC' - interval '16 hours')
      = date_trunc('month', ${instant} at time zone 'UTC' + interval '16 hours')
    then date_trunc('month', ${instant} at time zone 'UTC')
    else date_trunc('month', ${localDay(text, instant)}::timestamp) end)::date`

/** The currency that payments (alias `p`) agree on, else the deposit's of their rental (alias `r`), else null. */
export const agreedCurrency = `coalesce(case when min(report.currency_code(p.currency)) = max(report.currency_code(p.currency))
  then min(report.currency_code(p.currency)) end, report.currency_code(r.deposit_currency))`

/** What every comment of a view with money says. */
export const currencyNote =
  "The API often names no currency: it is the one that a rental's payments agree on, else the deposit's, else null."

/** What every comment of a view with days says. */
export const dayNote = 'Days follow the offset in the date-time itself, else TIME_ZONE.'
