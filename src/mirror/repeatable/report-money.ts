// The report views that add rentals up: revenue and cancellations, by company, month and currency.

import { currencyNote, dayNote } from './report-pieces.ts'
import { isCanceled, takesPlace } from './report-rentals.ts'
import type { ReportView } from './report-view.ts'

const month = `date_trunc('month', r.departure_date::timestamp)::date`
const group = `r.company_id, r.company_name, ${month}, r.currency`

const dimensions: ReportView['columns'] = {
  company_id: ['r.company_id', 'mirror.companies.id; null until the resource of the rental was read.'],
  company_name: ['r.company_name', 'Brand name of the company.'],
  month: [month, 'Month of departure, as its first day.'],
  currency: ['r.currency', 'Currency of the sums; amounts of different currencies are never added.'],
}

export const revenue: ReportView = {
  name: 'revenue',
  comment: `Per company, month of departure and currency: rentals that take place (neither called off nor PENDING) and their money. ${dayNote} ${currencyNote}`,
  columns: {
    ...dimensions,
    rentals: ['count(*)', 'Rentals.'],
    total_to_pay: ['sum(r.total_to_pay)', 'Sum of the totals to pay.'],
    total_paid: ['sum(r.total_paid)', 'Sum of what is paid.'],
    balance: ['sum(r.balance)', 'Sum of what is still to pay.'],
    rental_price: ['sum(r.rental_price)', 'Sum of the prices without products.'],
    discount_price: ['sum(r.discount_price)', 'Sum of the discounts.'],
    commission_price: ['sum(r.commission_price)', 'Sum of the commissions.'],
  },
  source: `from report.rentals r where ${takesPlace} group by ${group}`,
  orderBy: 'company_name, company_id, month, currency',
}

export const cancellations: ReportView = {
  name: 'cancellations',
  comment: `Rentals that were called off, per company, month of departure, kind and currency. ${dayNote} ${currencyNote}`,
  columns: {
    company_id: ['g.company_id', dimensions.company_id?.[1] ?? ''],
    company_name: ['g.company_name', dimensions.company_name?.[1] ?? ''],
    month: ['g.month', dimensions.month?.[1] ?? ''],
    status: [
      'g.status',
      'CANCELED_BY_CLIENT, CANCELED_BAD_WEATHER, CANCELED_BREAKDOWN, CANCELED_PAYMENT, or CANCELED alone.',
    ],
    kind: [
      `coalesce(nullif(replace(lower(substr(g.status, 10)), '_', ' '), ''), 'not said')`,
      'The status in words: by client, bad weather, breakdown, payment, not said.',
    ],
    currency: ['g.currency', dimensions.currency?.[1] ?? ''],
    rentals: ['g.rentals', 'Rentals called off.'],
    share: [
      'round(g.rentals / g.all_rentals, 4)',
      'Their share (0 to 1) of all rentals of that company and month, PENDING ones left out.',
    ],
    total_to_pay: ['g.total_to_pay', 'Sum of what would have been to pay.'],
    total_paid: ['g.total_paid', 'Sum of what was paid nevertheless.'],
  },
  source: `from (select r.company_id, r.company_name, ${month} as month, r.currency, ${isCanceled} as canceled,
    case when ${isCanceled} then r.status end as status, count(*) as rentals,
    sum(count(*)) over (partition by r.company_id, ${month}) as all_rentals,
    sum(r.total_to_pay) as total_to_pay, sum(r.total_paid) as total_paid
  from report.rentals r where coalesce(r.status, '') <> 'PENDING'
  group by ${group}, 5, 6) g
where g.canceled`,
  orderBy: 'company_name, company_id, month, status, currency',
}
