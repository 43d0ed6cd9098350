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

/** The wall clock of a rental's (alias `r`) departure or arrival where it happens, as `timestamp`; in TIME_ZONE where none was read. */
export const localTime = (event: 'departure' | 'arrival'): string =>
  `coalesce(r.${event}_local, r.${event}_datetime at time zone ${timeZone})`

/** The day of it, as `date`. */
export const localDay = (event: 'departure' | 'arrival'): string => `(${localTime(event)})::date`

/** The currency that payments (alias `p`) agree on, else the deposit's of their rental (alias `r`), else null. */
export const agreedCurrency = `coalesce(case when min(report.currency_code(p.currency)) = max(report.currency_code(p.currency))
  then min(report.currency_code(p.currency)) end, report.currency_code(r.deposit_currency))`

/** What every comment of a view with money says. */
export const currencyNote =
  "The API often names no currency: it is the one that a rental's payments agree on, else the deposit's, else null."

/** What every comment of a view with days says. */
export const dayNote = 'Days follow the offset in the date-time itself, else TIME_ZONE.'
