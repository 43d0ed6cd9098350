// The report views that add rentals up: revenue and cancellations, by company, month and currency.

import type { ReportView } from './pieces.ts'
import { agreedCurrency, currencies, currencyNote, dayNote, localTime, namedCurrencies, paid } from './pieces.ts'
import { isCanceled, isPending } from './rentals.ts'

/** All live rentals but PENDING ones with what they are added up by, before names are looked up. */
const counted = `(select r.company_id, r.status, ${isCanceled} as canceled, date_trunc('month', ${localTime('departure')})::date as month,
    ${currencies} as currencies, ${paid} as total_paid, r.total_to_pay, r.rental_price, r.discount_price, r.commission_price
  from mirror.rentals r left join ${namedCurrencies} p on p.rental_id = r.id
  where r._deleted_at is null and not ${isPending} group by r.id)`

const dimensions: ReportView['columns'] = {
  company_id: ['g.company_id', 'mirror.companies.id; null until the resource of the rental has been read.'],
  company_name: ['c.company_brand_name', 'Brand name of the company.'],
  month: ['g.month', 'Month of departure, as its first day.'],
}

const currency: ReportView['columns'][string] = [
  agreedCurrency('g'),
  'Currency of the sums; amounts of different currencies, or of different sets of them, are never added.',
]

/** Last of both views. */
const unsure: ReportView['columns'] = {
  currencies: ['g.currencies', 'Every currency that each of the rentals names.'],
  paid_unknown: ['g.paid_unknown', 'Number of rentals of which it is unknown what was paid: sums of it exclude them.'],
}
const paidUnknown = 'count(*) filter (where r.total_paid is null) as paid_unknown'

const sums = (...names: readonly string[]): string => names.map((name) => `sum(r.${name}) as ${name}`).join(', ')

export const revenue: ReportView = {
  name: 'revenue',
  comment: `Revenue per company, month of departure and currency: rentals that take place, and their amounts. ${dayNote} ${currencyNote}`,
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
    ...unsure,
  },
  source: `from (select r.company_id, r.month, r.currencies, count(*) as rentals,
    sum(r.total_to_pay - r.total_paid) as balance, ${paidUnknown},
    ${sums('total_to_pay', 'total_paid', 'rental_price', 'discount_price', 'commission_price')}
  from ${counted} r where not r.canceled group by 1, 2, 3) g
  left join mirror.companies c on c.id = g.company_id`,
  orderBy: 'company_name, company_id, month, currency, currencies',
}

export const cancellations: ReportView = {
  name: 'cancellations',
  comment: `Canceled rentals per company, month of departure, kind and currency. ${dayNote} ${currencyNote}`,
  columns: {
    ...dimensions,
    status: [
      'g.status',
      'CANCELED_BY_CLIENT, CANCELED_BAD_WEATHER, CANCELED_BREAKDOWN, CANCELED_PAYMENT, CANCELED alone, or one of NOT_TAKING_PLACE, as the API writes it.',
    ],
    kind: [
      `coalesce(nullif(lower(replace(regexp_replace(report.status_word(g.status), '^CANCELED_?', ''), '_', ' ')), ''), 'not said')`,
      'The status in words: by client, bad weather, breakdown, payment, not said, or one of NOT_TAKING_PLACE.',
    ],
    currency,
    rentals: ['g.rentals', 'Number of canceled rentals.'],
    share: [
      'round(g.rentals / g.all_rentals, 4)',
      'Their share (0 to 1) of all rentals of that company and month, excluding PENDING ones. Do not average it: months without canceled rentals have no row.',
    ],
    total_to_pay: ['g.total_to_pay', 'Sum of the totals that would have been due.'],
    total_paid: ['g.total_paid', 'Sum of the amounts paid all the same.'],
    ...unsure,
  },
  source: `from (select r.company_id, r.month, r.canceled, r.currencies, case when r.canceled then r.status end as status,
    count(*) as rentals, ${paidUnknown}, sum(count(*)) over (partition by r.company_id, r.month) as all_rentals,
    ${sums('total_to_pay', 'total_paid')}
  from ${counted} r group by 1, 2, 3, 4, 5) g
  left join mirror.companies c on c.id = g.company_id
where g.canceled`,
  orderBy: 'company_name, company_id, month, status, currency, currencies',
}
