// The report views about rentals one by one: all of them, those that depart, those that are still to be paid.

import {
  agreedCurrency,
  currencyNote,
  dayNote,
  joinCurrencies,
  localDay,
  localTime,
  paid,
  type ReportView,
  timeZone,
  today,
} from './pieces.ts'

/** A status as it is compared: it is text that may grow (docs/sources.md, differences). */
const word = "coalesce(report.status_word(r.status), '')"

/** True for a rental that is an option which expires after 15 minutes. */
export const isPending = `${word} = 'PENDING'`

const isNamed = (statuses: string): string => `${word} = any ((select ${statuses} from sync.settings s)::text[])`

/** True for a cancelled rental, and for one with a status of NOT_TAKING_PLACE. */
export const isCanceled = `(${word} like 'CANCELED%' or ${isNamed('s.not_taking_place')})`

/** True for a rental that takes place: neither cancelled nor an option. */
export const takesPlace = `not (${word} like 'CANCELED%' or ${isNamed(`s.not_taking_place || '{PENDING}'`)})`

export const rentals: ReportView = {
  name: 'rentals',
  comment: `Every live rental with the names of what it refers to (also names of records that have been deleted since). ${dayNote} ${currencyNote}`,
  columns: {
    rental_id: ['r.id', 'mirror.rentals.id.'],
    status: [
      'r.status',
      'VALIDATED, PENDING, CANCELED_BY_CLIENT, CANCELED_BAD_WEATHER, CANCELED_BREAKDOWN, CANCELED_PAYMENT, or what else the API says.',
    ],
    reference_id: ['r.reference_id', 'Reference of the rental in the client system.'],
    creation_datetime: ['r.creation_datetime', 'When it was booked.'],
    departure_datetime: ['r.departure_datetime', 'Departure, as an instant.'],
    departure_date: [localDay('departure'), 'Local date of departure.'],
    departure_local: [localTime('departure'), 'Local time of departure.'],
    arrival_datetime: ['r.arrival_datetime', 'Arrival, as an instant.'],
    arrival_date: [localDay('arrival'), 'Local date of arrival.'],
    arrival_local: [localTime('arrival'), 'Local time of arrival.'],
    resource_id: ['r.resource_id', 'mirror.resources.id; null until the resource of the rental has been read.'],
    resource_name: ['b.name', 'Name of the boat.'],
    boat_id: ['b.boat_id', 'The boat; resources in several harbours may share one.'],
    company_id: ['r.company_id', 'mirror.companies.id; null until the resource of the rental has been read.'],
    company_name: ['c.company_brand_name', 'Brand name of the company.'],
    departure_harbour_id: ['r.departure_harbour_id', 'mirror.harbours.id.'],
    departure_harbour_name: ['dh.name', 'Harbour of departure.'],
    arrival_harbour_id: ['r.arrival_harbour_id', 'mirror.harbours.id.'],
    arrival_harbour_name: ['ah.name', 'Harbour of arrival.'],
    user_id: ['r.user_id', 'mirror.users.id: the customer, by number only.'],
    crew_adults: ['r.crew_adults', 'Adults.'],
    crew_children: ['r.crew_children', 'Children.'],
    currency: [agreedCurrency('m'), 'Currency of all prices of the row, if known.'],
    rental_price: [
      'r.rental_price',
      "Price of the rental without products; the API's documentation does not say whether before or after the discount; in the sandbox before.",
    ],
    discount_price: ['r.discount_price', 'Discount; see rental_price for whether that includes it.'],
    commission_price: ['r.commission_price', 'Commission of the client system.'],
    total_to_pay: ['r.total_to_pay', 'Total to pay.'],
    total_paid: [
      paid,
      'Paid so far: what the record says, else the sum of its payment lines. Null: unknown, because they have not been read, or several currencies are named.',
    ],
    balance: [`r.total_to_pay - ${paid}`, 'Total to pay minus what is paid; negative: overpaid; null: unknown.'],
    deposit_status: ['r.deposit_status', 'PENDING, RECEIVED, KEPT, RETURNED.'],
    deposit_price: ['r.deposit_price', 'Deposit.'],
    deposit_currency: ['report.currency_code(r.deposit_currency)', 'Currency of the deposit.'],
    takes_place: [takesPlace, 'False: canceled, or PENDING, which expires after 15 minutes.'],
    creation_date: [
      `(r.creation_datetime at time zone ${timeZone})::date`,
      'Day on which it was booked, in TIME_ZONE.',
    ],
    currencies: ['m.currencies', 'Every currency that its payments, deposit and options name, in capitals.'],
    status_known: [
      `${isCanceled} or ${word} in ('VALIDATED', 'PENDING')`,
      'False: the status is missing or not known; takes_place is true until NOT_TAKING_PLACE names it.',
    ],
  },
  source: `from mirror.rentals r
  ${joinCurrencies}
  left join mirror.resources b on b.id = r.resource_id
  left join mirror.companies c on c.id = r.company_id
  left join mirror.harbours dh on dh.id = r.departure_harbour_id
  left join mirror.harbours ah on ah.id = r.arrival_harbour_id
where r._deleted_at is null`,
  functions: ['report.rentals_as_of(timestamptz)'],
  orderBy: 'rental_id desc',
}

/** The same columns in a view over report.rentals. */
const taken = (...names: readonly (keyof typeof rentals.columns)[]): ReportView['columns'] =>
  Object.fromEntries(names.map((name) => [name, [`r.${name}`, rentals.columns[name]?.[1] ?? '']]))

export const departures: ReportView = {
  name: 'departures',
  comment: `Rentals that depart today or later and are not canceled, including PENDING ones. ${dayNote} Today is the current day in TIME_ZONE.`,
  columns: {
    ...taken('departure_date', 'departure_local', 'departure_datetime', 'rental_id', 'status', 'reference_id'),
    ...taken('resource_id', 'resource_name', 'boat_id', 'company_id', 'company_name'),
    ...taken('departure_harbour_id', 'departure_harbour_name', 'arrival_local', 'arrival_harbour_name'),
    ...taken('user_id', 'crew_adults', 'crew_children'),
    crew_members: [
      `(select count(*) from mirror.rental_crew_members m where m.rental_id = r.rental_id and m._deleted_at is null)`,
      'Crew members that are listed by name.',
    ],
    ...taken('currency', 'balance', 'deposit_status', 'takes_place', 'currencies'),
  },
  // The first condition finds the beginning in the index: a day that is today somewhere began less than three days ago.
  source: `from report.rentals r
where r.departure_datetime >= now() - interval '3 days' and r.departure_date >= ${today} and not ${isCanceled}`,
  orderBy: 'departure_datetime, rental_id',
}

export const balances: ReportView = {
  name: 'balances',
  comment: `Amounts still to pay: one row for each rental that takes place and has a balance above zero, or of which it is unknown what was paid. ${currencyNote}`,
  columns: {
    ...taken('rental_id', 'status', 'reference_id', 'departure_date', 'departure_datetime'),
    ...taken('resource_id', 'resource_name', 'company_id', 'company_name', 'user_id'),
    ...taken('currency', 'total_to_pay', 'total_paid', 'balance'),
    days_to_departure: [`r.departure_date - ${today}`, 'Days until departure; negative: departed, but not fully paid.'],
    ...taken('currencies'),
  },
  source: `from report.rentals r where r.takes_place and (r.balance > 0 or r.total_paid is null)`,
  orderBy: 'balance is null, departure_datetime, rental_id',
}
