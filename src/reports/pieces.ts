// What the report views share: their form, and pieces of SQL: today, the day and wall clock of a date-time, currencies.

import type { ViewDef } from '../database/repeatable-step.ts'

/** A view of schema `report`, as data. */
export type ReportView = Omit<ViewDef, 'schema' | 'columns'> & {
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

/** What payment lines and options say of the currency of their rental (alias `p`). */
export const namedCurrencies = `(select l.rental_id, report.currency_code(l.currency) collate "C" as currency
    from mirror.rental_payments l where l._deleted_at is null
    union all
    select o.rental_id, report.currency_code(c.named) collate "C"
    from mirror.rental_options o cross join lateral jsonb_path_query(o._payload, '$.**.currency') c (named)
    where o._deleted_at is null)`

/** What its deposit says of the currency of a rental `r`. */
export const deposit = `(report.currency_code(r.deposit_currency) collate "C")`

/** An aggregate over what is named (`p`) for a rental (`r`) with its deposit. One currency, the usual case, needs no list. */
export const currencies = `case when min(p.currency) is null then array_remove(array[${deposit}], null)
      when min(p.currency) = max(p.currency) and coalesce(${deposit}, min(p.currency)) = min(p.currency) then array[min(p.currency)]
      else report.currencies_of(r.id) end`

/** A from-item `m` with the currencies of each rental `r`, looked up by its key. Postgres skips it in a query that uses none. */
export const joinCurrencies = `left join lateral (select ${currencies} as currencies
    from ${namedCurrencies} p where p.rental_id = r.id) m on true`

/** The one of `currencies` (by its alias), if there is one. */
export const agreedCurrency = (alias: string): string =>
  `case when cardinality(${alias}.currencies) = 1 then ${alias}.currencies[1] end`

/** What the payment lines of the rental `r` come to. */
export const paidInLines = 'report.paid_in_lines(r.id)'

/** What is paid of the rental `r`: what its record says, else what its lines come to. */
export const paid = `coalesce(r.total_paid, ${paidInLines})`

/** What every comment of a view with money says. */
export const currencyNote =
  'The API often names no currency: it is the one that payments, deposit and options of a rental agree on, else null; currencies has all that they name.'

/** What every comment of a view with days says. */
export const dayNote = 'Days follow the offset in the date-time itself, else TIME_ZONE.'

/** Which boat a resource (by its alias) is of: those in several harbours share one, and one without boat_id is a separate boat. */
export const boatOf = (alias: string): string => `coalesce(${alias}.boat_id::text, 'resource ' || ${alias}.id)`

/** True for a resource (by its alias) whose boat stands for several, in whichever harbour its slots show that. */
export const isFleet = (alias: string): string =>
  `exists (select from sync.fleets f join mirror.resources o on o.id = f.resource_id where ${boatOf('o')} = ${boatOf(alias)})`
