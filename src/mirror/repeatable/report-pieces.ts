// Pieces of SQL that several report views share: today, the day and wall clock of a date-time, currencies.

/** TIME_ZONE as the last migrate stored it; a sub-select of its own, so that it is evaluated once per query. */
const timeZone = '(select s.time_zone from sync.settings s)'

/** The present day in TIME_ZONE. */
export const today = '(select (now() at time zone s.time_zone)::date from sync.settings s)'

/**
 * The calendar day of a date-time where it happens. `timestamptz` keeps the instant and forgets the offset, so the day is
 * read from the date-time as the API wrote it; a text without offset is in TIME_ZONE, so its day is right as it stands.
 * @param alias a table with the column and `_payload`.
 */
export const localDay = (alias: string, column: string, field: string): string =>
  `coalesce(substring(${alias}._payload ->> '${field}' from '^\\d{4}-\\d{2}-\\d{2}')::date,
    (${alias}.${column} at time zone ${timeZone})::date)`

/** The wall clock of a date-time where it happens, as `timestamp`; see {@link localDay}. */
export const localTime = (alias: string, column: string, field: string): string =>
  `coalesce(substring(${alias}._payload ->> '${field}' from '^\\d{4}-\\d{2}-\\d{2}[T ]\\d{2}:\\d{2}(?::\\d{2})?')::timestamp,
    ${alias}.${column} at time zone ${timeZone})`

/**
 * The code of a currency, which comes as text or as an object with `code`, `iso` or `id`
 * [upstream-api section 12, row 23]. Inlined by the planner.
 */
export const currencyFunction = `create or replace function report.currency_code(currency jsonb) returns text
  language sql immutable parallel safe as $$
    select nullif(btrim(case jsonb_typeof(currency) when 'string' then currency #>> '{}'
      when 'object' then coalesce(currency ->> 'code', currency ->> 'iso', currency ->> 'id') end), '')
  $$;
comment on function report.currency_code(jsonb) is
  'The code of a currency that is a text, or an object with code, iso or id; null for anything else.';`

/** The currency of a rental (alias `r`): what its payments agree on, else the deposit's, else null. */
export const rentalCurrency = `coalesce((select case when min(report.currency_code(p.currency)) = max(report.currency_code(p.currency))
    then min(report.currency_code(p.currency)) end
  from mirror.rental_payments p where p.rental_id = r.id and p._deleted_at is null),
  report.currency_code(r.deposit_currency))`

/** What every comment of a view with money says. */
export const currencyNote =
  "The API often names no currency: it is the one a rental's payments agree on, else the deposit's, else null."

/** What every comment of a view with days says. */
export const dayNote = 'Days are those of the offset in the date-time itself, else of TIME_ZONE.'
