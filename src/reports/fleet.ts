// The report views about boats: the fleet, how full it was and will be, and its calendar day by day.

import { selectOf } from '../database/repeatable-step.ts'
import { fillSql } from '../database/sql.ts'
import calendarSql from './calendar.sql'
import { type ReportView, today } from './pieces.ts'

const calendarNote = 'From the yearly calendars of the API, which show whether each day is full or free, but not why.'

/** One character of a year's calendar → true: full, false: free, null: not known. */
const isFull = (days: string, dayOfYear: string): string =>
  `case substr(${days}, ${dayOfYear}, 1) when '1' then true when '0' then false end`

/** Columns that name a resource (alias `b`) in every view. */
const resource: ReportView['columns'] = {
  resource_id: ['b.id', 'mirror.resources.id: a boat in a harbour.'],
  resource_name: ['b.name', 'Name of the boat.'],
  boat_id: ['b.boat_id', 'The boat; resources in several harbours may share one.'],
  company_id: ['b.company_id', 'mirror.companies.id.'],
  company_name: ['c.company_brand_name', 'Brand name of the company.'],
  harbour_id: ['b.harbour_id', 'mirror.harbours.id.'],
  harbour_name: ['h.name', 'Name of the harbour.'],
}

const names = `left join mirror.companies c on c.id = b.company_id
  left join mirror.harbours h on h.id = b.harbour_id`

export const fleet: ReportView = {
  name: 'fleet',
  comment:
    'Every live resource with the names of what it refers to. The currency of the price is that of its price table, else null.',
  columns: {
    ...resource,
    city_name: ['y.name', 'City of the harbour.'],
    country_code: ['coalesce(a1.country_code, n.country_code)', 'Country of the harbour.'],
    type_name: ['t.name', 'Type of boat.'],
    subtype_name: ['s.name', 'Subtype of boat.'],
    builder_name: ['b.builder_name', 'Builder.'],
    model_name: ['b.model_name', 'Model.'],
    version_name: ['b.version_name', 'Version of the model.'],
    is_rentable: ['b.is_rentable', 'False: not available for rental.'],
    is_license_mandatory: ['b.is_license_mandatory', 'True: a boat license is needed.'],
    is_skipper_available: ['b.is_skipper_available', 'True: a skipper is available.'],
    is_skipper_mandatory: ['b.is_skipper_mandatory', 'True: a skipper is mandatory.'],
    min_price: ['b.min_price', 'Lowest price; it varies with the duration.'],
    currency: [
      `(select report.currency_code(p.currency) from mirror.resource_pricetable p
      where p.resource_id = b.id and p._deleted_at is null and p.date >= ${today} order by p.date limit 1)`,
      'Currency of the price table from today onwards.',
    ],
    is_full_today: [isFull('k.days', `extract(doy from ${today})::int`), 'True: not free today; null: unknown.'],
  },
  source: `from mirror.resources b
  ${names}
  left join mirror.cities y on y.id = h.city_id
  left join mirror.navigation_areas n on n.id = y.navigation_area_id
  left join mirror.administrative_area_level2 a2 on a2.id = y.administrative_area_level2_id
  left join mirror.administrative_area_level1 a1 on a1.id = a2.administrative_area_level1_id
  left join mirror.types t on t.id = b.type_id
  left join mirror.subtypes s on s.id = b.subtype_id
  left join mirror.resource_availability_years k on k.resource_id = b.id and k._deleted_at is null
    and k.year = extract(year from ${today})::bigint
where b._deleted_at is null`,
  orderBy: 'company_name, resource_name, resource_id',
}

export const occupancy: ReportView = {
  name: 'occupancy',
  comment: `How full each resource is, per month. ${calendarNote} Resources that share a boat have the same boat_id and one row each. A day on which the boat is out may be full in all of them, so add up only one of them.`,
  columns: {
    ...resource,
    boat_resources: ['coalesce(o.resources, 1)', 'Number of live resources that offer this boat.'],
    month: ['m.first_day', 'First day of the month.'],
    days: ['length(m.days)', 'Days of the month that the calendar covers.'],
    full_days: ['m.full_days', 'Days that are full.'],
    free_days: ['length(m.days) - m.full_days', 'Days that are free.'],
    occupancy: ['round(m.full_days::numeric / length(m.days), 4)', 'Share of full days, 0 to 1.'],
  },
  source: `from mirror.resources b
  ${names}
  left join (select boat_id, count(*) as resources from mirror.resources where _deleted_at is null group by boat_id) o
    on o.boat_id = b.boat_id
  join mirror.resource_availability_years k on k.resource_id = b.id and k._deleted_at is null
  cross join lateral (select d.first_day, d.days, length(replace(d.days, '0', '')) as full_days
    from (select f.first_day, substr(k.days, extract(doy from f.first_day)::int,
        (f.first_day + interval '1 month')::date - f.first_day) as days
      from (select make_date(k.year::int, n, 1) as first_day from generate_series(1, 12) n) f) d offset 0) m
where b._deleted_at is null and m.days <> ''`,
  orderBy: 'company_name, resource_name, resource_id, month',
}

/** One row for each live resource and day, from a first day on (SQL of type `date`), for some days more (SQL of type `int`). */
const calendarFrom = (firstDay: string, daysMore: string): Pick<ReportView, 'columns' | 'source'> => ({
  columns: {
    date: ['d.day', 'The day.'],
    ...resource,
    is_rentable: ['b.is_rentable', 'False: never available for rental.'],
    is_full: [isFull('k.days', 'extract(doy from d.day)::int'), 'True: full; false: free; null: unknown.'],
  },
  source: `from (select ${firstDay} + n as day from generate_series(0, ${daysMore}) n) d
  cross join mirror.resources b
  ${names}
  left join mirror.resource_availability_years k on k.resource_id = b.id and k._deleted_at is null
    and k.year = extract(year from d.day)::bigint
where b._deleted_at is null`,
})

export const calendar: ReportView = {
  name: 'calendar',
  comment: `One row for each live resource and day, for 100 days from today (of TIME_ZONE). Other days: report.calendar(from, to), a function with the same columns. ${calendarNote}`,
  ...calendarFrom(today, '99'),
  functions: ['report.calendar(date, date)'],
  orderBy: 'resource_id, date',
}

/** The same for given days: a new column goes last, as it does in the view. */
export const calendarFunction = fillSql(calendarSql, {
  calendar: selectOf(calendarFrom('$1', 'coalesce($2 - $1, 0)')),
})
