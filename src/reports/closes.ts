// Closes of a month: the rentals as report.rentals has them at that moment, stored, and what has changed since.

import { fillSql, identifier } from '../database/sql.ts'
import closeSql from './closes.sql'
import type { ReportView } from './pieces.ts'
import { isPending } from './rentals.ts'

/** What a close keeps of a rental (sync.closed_rentals), of no person: no name that others may change, no clock of a time zone. */
const kept: Readonly<Record<string, string>> = {
  rental_id: 'r.rental_id',
  reference_id: 'r.reference_id',
  status: 'r.status',
  takes_place: 'r.takes_place',
  company_id: 'r.company_id',
  resource_id: 'r.resource_id',
  boat_id: 'r.boat_id',
  departure_day: 'r.departure_date',
  arrival_day: 'r.arrival_date',
  rental_price: 'r.rental_price',
  discount_price: 'r.discount_price',
  commission_price: 'r.commission_price',
  total_to_pay: 'r.total_to_pay',
  total_paid: 'r.total_paid',
  currencies: `r.currencies collate "C"`,
  payments: `(select coalesce(jsonb_agg(jsonb_build_object('id', l.id, 'price', l.price, 'currency', report.currency_code(l.currency),
      'method_id', l.method_id) order by l.id), '[]')
    from mirror.rental_payments l where l.rental_id = r.rental_id and l._deleted_at is null)`,
}

export const closes: ReportView = {
  name: 'closes',
  comment:
    'Closes: the rentals as they were at a moment, kept until report.remove_close. report.close_totals adds one up, report.since_close says what has changed since.',
  columns: {
    name: ['c.name', 'Name of the close.'],
    company_id: ['c.company_id', 'mirror.companies.id of the company that it closes; null: all.'],
    closed_at: ['c.closed_at', 'When it was made.'],
    rentals: [
      '(select count(*) from sync.closed_rentals k where k.close_id = c.id)',
      'Number of its rentals, including canceled ones.',
    ],
  },
  source: 'from sync.closes c',
  functions: ['report.close(text, bigint)'],
  orderBy: 'closed_at, name',
}

/** Those that make, compare, add up and remove closes. */
export const closeFunctions = fillSql(closeSql, {
  columns: Object.keys(kept).map(identifier).join(', '),
  present: `${Object.values(kept).join(', ')} from report.rentals r
      where not ${isPending} and (of_company is null or r.company_id = of_company)`,
})
