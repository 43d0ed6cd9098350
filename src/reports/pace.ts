// The report view of pace, and how its days are kept: sync.pace_days has what each day changed on the books, so that the sum of all days
// until one is what was on the books at its end. A day is kept once it has ended, as the change log shows it. Days before the first
// that the log shows whole are estimated: a rental was booked when it was created, and canceled when it was last modified.

import { type Database, withStatementTimeout } from '../database/database.ts'
import type { Queryable } from '../database/sql.ts'
import { agreedCurrency, currencyNote, dayNote, type ReportView, timeZone } from './pieces.ts'
import { isPending } from './rentals.ts'

const group = 'departure_month, company_id, currencies'
const figures = ['rentals', 'days', 'amount', 'canceled', 'lead_days', 'with_lead'] as const

const each = (text: (figure: string) => string): string => figures.map(text).join(', ')

/** What a rental (`r`, a row of report.rentals) adds to the books, `times` as one that takes place. */
const adds = (times: string, canceled: string): string =>
  `date_trunc('month', r.departure_date)::date as departure_month, r.company_id, r.currencies, ${times} as rentals,
    ${times} * greatest(r.arrival_date - r.departure_date, 1) as days, ${times} * r.total_to_pay as amount, ${canceled} as canceled,
    ${times} * (r.departure_date - r.creation_date) as lead_days, ${times} * (r.creation_date is not null)::int as with_lead`

const counts = `r.departure_date is not null and not ${isPending}`

const insertInto = `insert into sync.pace_days (as_of, ${group}, ${figures.join(', ')})`
const sums = each((figure) => `coalesce(sum(${figure}), 0)`)

/** Keeps the day $1: what the books were at its end, less what they were before. */
const keepDay = (rentals: string): string => `${insertInto}
  select $1::date, ${group}, ${sums}
  from (select ${adds('r.takes_place::int', '(not r.takes_place)::int')} from ${rentals} r where ${counts}
    union all select ${group}, ${each((figure) => `-${figure}`)} from sync.pace_days) b
  group by ${group} having (${sums}) <> (${each(() => '0')})`

/** Estimates the days before $1. */
const estimate = (rentals: string): string => `${insertInto}
  select e.day, ${group}, ${sums}
  from (select e.day, ${adds('e.times', 'e.canceled')}
    from ${rentals} r left join mirror.rentals m on m.id = r.rental_id
    cross join lateral (select coalesce(r.creation_date, least(r.departure_date, $1::date - 1))) c (booked)
    cross join lateral (values (c.booked, 1, 0),
      (least(greatest(c.booked, (m.last_modification_datetime at time zone ${timeZone})::date), $1::date - 1), -1, 1)) e (day, times, canceled)
    where ${counts} and c.booked < $1::date and (e.times = 1 or not r.takes_place)) e
  group by 1, ${group} having (${sums}) <> (${each(() => '0')})`

/** Streams that say what is on the books. */
const streams = ['rentals', 'rental_resources', 'rental_payments', 'rental_options']

type Next = {
  readonly day: string | null
  readonly isFirst: boolean
  /** Nothing has changed since its end: it has not come, or no entry is later. */
  readonly isPresent: boolean
}

const endOf = (day: string): string => `(${day} + 1)::timestamp at time zone ${timeZone}`

/** The next day to keep; null: not yet. The first is the one in which all was read completely that the log still shows. */
const nextDay = `select day::text as day, pace_until is null as "isFirst",
    (select c.changed_at from mirror.change_log c order by c.seq desc limit 1) >= ${endOf('day')} is not true as "isPresent"
  from (select s.pace_until, report.today() as today, greatest(s.pace_until + 1,
      (select max(f.day) from (select (min(r.finished_at) at time zone s.time_zone)::date as day from sync.runs r
        where r.stream = any($1) and r.status = 'done' and not r.hot and r.record_key is null group by r.stream) f)) as day
    from sync.settings s where not exists (select from sync.streams u where u.stream = any($1) and u.as_of is null)) n
  where pg_try_advisory_xact_lock(hashtext('boat-mirror.pace')) and (pace_until is null or day < today)`

/** Keeps the next day that has ended and is not kept yet, in a transaction. @returns `again` if it did: there may be another. */
export function keepPace(database: Database): Promise<'again' | undefined> {
  return database.transaction(async (client) => {
    const { rows } = await client.query<Next>(nextDay, [streams])
    const [{ day, isFirst, isPresent } = { day: null, isFirst: false, isPresent: false }] = rows
    if (day === null) return undefined
    const db: Queryable = await withStatementTimeout(client, 0)
    const rentals = isPresent ? 'report.rentals' : `report.rentals_as_of(${endOf('$1::date')})`
    await db.query(isFirst ? estimate(rentals) : keepDay(rentals), [day])
    const kept = isFirst ? 'pace_from = $1::date, pace_until = $1::date - 1' : 'pace_until = $1::date'
    await db.query(`update sync.settings set ${kept}`, [day])
    return 'again'
  })
}

const ofLastYear = (figure: string): string => `${figure}_last_year`
const both = (text: (figure: string) => string): string => [...figures, ...figures.map(ofLastYear)].map(text).join(', ')

const shown = (year: (figure: string) => string, when: string): ReportView['columns'] => ({
  [year('rentals')]: [`g.${year('rentals')}::bigint`, `Number of rentals that take place${when}.`],
  [year('days')]: [`g.${year('days')}::bigint`, `Sum of their days, at least one each${when}.`],
  [year('amount')]: [`g.${year('amount')}`, `Sum of their totals to pay${when}.`],
  [year('canceled')]: [`g.${year('canceled')}::bigint`, `Number of canceled rentals${when}.`],
  [year('lead_days')]: [
    `round(g.${year('lead_days')} / nullif(g.${year('with_lead')}, 0), 1)`,
    `Mean number of days from the booking to the departure${when}.`,
  ],
})

export const pace: ReportView = {
  name: 'pace',
  comment: `What was on the books for a month of departure at the end of each past day, until a year after that month, against the same day a year before. Days before the mirror began are estimated from when rentals were created. ${dayNote} ${currencyNote}`,
  columns: {
    departure_month: ['g.departure_month', 'Month of departure, as its first day.'],
    as_of: ['g.as_of + n', 'The day at whose end this was on the books.'],
    company_id: ['g.company_id', 'mirror.companies.id, as it was on that day.'],
    currency: [agreedCurrency('g'), 'Currency of the amounts; different currencies, or sets of them, are never added.'],
    ...shown((figure) => figure, ''),
    ...shown(ofLastYear, ', a year before'),
    company_name: ['c.company_brand_name', 'Brand name of the company.'],
    currencies: ['g.currencies', 'Every currency that each of the rentals names.'],
    estimated: ['g.as_of + n < s.pace_from', 'True: estimated, because the mirror did not have this day.'],
    estimated_last_year: [
      "(g.as_of + n - interval '1 year')::date < s.pace_from",
      'The same of the figures of a year before.',
    ],
  },
  source: `from (select ${group}, as_of, lead(as_of) over w as until, ${both((figure) => `sum(${figure}) over w as ${figure}`)}
    from (select ${group}, as_of, ${both((figure) => `sum(${figure}) as ${figure}`)}
      from (select ${group}, as_of, ${figures.join(', ')}, ${each((figure) => `0 as ${ofLastYear(figure)}`)} from sync.pace_days
        union all
        select (departure_month + interval '1 year')::date, company_id, currencies, (as_of + interval '1 year')::date, ${each(() => '0')},
          ${figures.join(', ')}
        from sync.pace_days) y
      group by ${group}, as_of) d
    window w as (partition by ${group} order by as_of)) g
  cross join sync.settings s
  cross join lateral generate_series(0, least(g.until - 1, s.pace_until, (g.departure_month + interval '13 months')::date - 1) - g.as_of) n
  left join mirror.companies c on c.id = g.company_id
where (g.rentals, g.canceled, g.rentals_last_year, g.canceled_last_year) <> (0, 0, 0, 0)`,
  orderBy: 'as_of desc, departure_month, company_name, company_id, currency, currencies',
}
