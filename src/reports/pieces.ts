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

/** What speaks of the money of rentals (alias `p`): their payment lines, and the currencies that their options name. */
export const moneyLines = `(select l.rental_id, report.currency_code(l.currency) as currency, l.price, true as is_payment
    from mirror.rental_payments l where l._deleted_at is null
    union all
    select o.rental_id, report.currency_code(c.named), null, false
    from mirror.rental_options o cross join lateral jsonb_path_query(o._payload, '$.**.currency') c (named)
    where o._deleted_at is null)`

const deposit = 'report.currency_code(r.deposit_currency)'

/**
 * Aggregates over the lines of a rental (alias `r`): what payments, options and deposit name, and what was paid. The usual single
 * currency needs no sorting.
 */
export const moneyFacts = `case when least(min(p.currency), ${deposit}) = greatest(max(p.currency), ${deposit})
      then array[least(min(p.currency), ${deposit})]
      else array(select distinct c.code collate "C" from unnest(array_agg(p.currency) || ${deposit}) c (code)
        where c.code is not null order by 1) end as currencies,
    bool_or(p.is_payment and p.price is null) as is_partly, coalesce(sum(p.price), 0) as in_lines`

/** The facts of the rental `r` alone: those of all would cost the rentals of one company as much as all rentals. */
const factsByKey = `(select ${moneyFacts} from ${moneyLines} p where p.rental_id = r.id)`

/** A from-item `m` with the facts of each rental `r`; Postgres skips it in a query that uses none. */
export const joinFacts = `left join lateral ${factsByKey} m on true`

export const agreedCurrency = 'case when cardinality(m.currencies) = 1 then m.currencies[1] end'

/** What the lines come to: unknown until they were read, where one has no amount, and where several currencies are named. */
export const paidInLines = `case when cardinality(m.currencies) < 2 and m.is_partly is not true and exists (select from sync.records d
    where d.stream = 'rental_payments' and d.key = r.id::text and d.detail_read_at is not null) then m.in_lines end`

/** What is paid of the rental `r`: what its record says, else what its lines come to, which is looked up only then. */
export const paid = `coalesce(r.total_paid, (select ${paidInLines} from ${factsByKey} m))`

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
