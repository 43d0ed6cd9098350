// The report views that add rentals up: revenue and cancellations, by company, month and currency.

import { agreedCurrency, currencyNote, dayNote, localTime, type ReportView } from './pieces.ts'
import { isCanceled } from './rentals.ts'

/** All live rentals but PENDING ones with what they are added up by, before names are looked up. */
const counted = `(select r.company_id, r.status, ${isCanceled} as canceled,
    date_trunc('month', ${localTime('departure')})::date as month,
    ${agreedCurrency} as currency, r.total_to_pay, r.total_paid, r.rental_price, r.discount_price, r.commission_price
  from mirror.rentals r left join mirror.rental_payments p on p.rental_id = r.id and p._deleted_at is null
  where r._deleted_at is null and coalesce(r.status, '') <> 'PENDING' group by r.id)`

const dimensions: ReportView['columns'] = {
  company_id: ['g.company_id', 'mirror.companies.id; null until the resource of the rental has been read.'],
  company_name: ['c.company_brand_name', 'Brand name of the company.'],
  month: ['g.month', 'Month of departure, as its first day.'],
}

const currency: ReportView['columns'][string] = [
  'g.currency',
  'Currency of the sums; amounts of different currencies are never added.',
]

const sums = (...names: readonly string[]): string => names.map((name) => `sum(r.${name}) as ${name}`).join(', ')

export const revenue: ReportView = {
  name: 'revenue',
  comment: `Revenue per company, month of departure and currency: rentals that are neither canceled nor PENDING, and their amounts. ${dayNote} ${currencyNote}`,
  columns: {
    ...dimensions,
    currency,
    rentals: ['g.rentals', 'Number of rentals.'],
    total_to_pay: ['g.total_to_pay', 'Sum of the totals to pay.'],
    total_paid: ['g.total_paid', 'Sum of the amounts paid.'],
    balance: ['g.balance', 'Sum of the totals minus the amounts paid.'],
    rental_price: ['g.rental_price', 'Sum of the prices without products.'],
    discount_price: ['g.discount_price', 'Sum of the discounts.'],
    commission_price: ['g.commission_price', 'Sum of the commissions.'],
  },
  source: `from (select r.company_id, r.month, r.currency, count(*) as rentals,
    sum(r.total_to_pay - coalesce(r.total_paid, 0)) as balance,
    ${sums('total_to_pay', 'total_paid', 'rental_price', 'discount_price', 'commission_price')}
  from ${counted} r where not r.canceled group by 1, 2, 3) g
  left join mirror.companies c on c.id = g.company_id`,
  orderBy: 'company_name, company_id, month, currency',
}

export const cancellations: ReportView = {
  name: 'cancellations',
  comment: `Canceled rentals per company, month of departure, kind and currency. ${dayNote} ${currencyNote}`,
  columns: {
    ...dimensions,
    status: [
      'g.status',
      'CANCELED_BY_CLIENT, CANCELED_BAD_WEATHER, CANCELED_BREAKDOWN, CANCELED_PAYMENT, or CANCELED alone.',
    ],
    kind: [
      `coalesce(nullif(replace(lower(substr(g.status, 10)), '_', ' '), ''), 'not said')`,
      'The status in words: by client, bad weather, breakdown, payment, not said.',
    ],
    currency,
    rentals: ['g.rentals', 'Number of canceled rentals.'],
    share: [
      'round(g.rentals / g.all_rentals, 4)',
      'Their share (0 to 1) of all rentals of that company and month, excluding PENDING ones. Do not average it: months without canceled rentals have no row.',
    ],
    total_to_pay: ['g.total_to_pay', 'Sum of the totals that would have been due.'],
    total_paid: ['g.total_paid', 'Sum of the amounts paid all the same.'],
  },
  source: `from (select r.company_id, r.month, r.canceled, r.currency, case when r.canceled then r.status end as status,
    count(*) as rentals, sum(count(*)) over (partition by r.company_id, r.month) as all_rentals,
    ${sums('total_to_pay', 'total_paid')}
  from ${counted} r group by 1, 2, 3, 4, 5) g
  left join mirror.companies c on c.id = g.company_id
where g.canceled`,
  orderBy: 'company_name, company_id, month, status, currency',
}
