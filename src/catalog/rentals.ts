// Rentals and what belongs to them (docs/sources.md, 2.4, 2.5, 4.4, resources/rental).

import { bigint, fromRequest, json, numeric, reference, text, timestamp } from './columns.ts'
import type { StreamDef } from './types.ts'

const rentalId = fromRequest('rental_id', 'bigint', 'Rental: rentals.id.')
const belowRental = { parent: 'rentals', parentParams: ['rentalId'], parentKey: ['rental_id'] } as const

export const rentals: StreamDef = {
  name: 'rentals',
  comment: 'Rentals.',
  source: 'docs/sources.md, 2.5, 4.4',
  key: ['id'],
  columns: [
    bigint('id', 'Rental ID. Read only.'),
    timestamp('creationDatetime', 'Creation date-time. Read only.'),
    timestamp('lastModificationDatetime', 'Last update date-time. Read only.'),
    timestamp('departureDatetime', 'Departure date-time. Read only.'),
    timestamp('arrivalDatetime', 'Arrival date-time. Read only.'),
    reference('departureHarbour.id', 'Harbour of departure: harbours.id. Read only.'),
    reference('arrivalHarbour.id', 'Harbour of arrival: harbours.id. Read only.'),
    bigint('crewAdults', 'Number of adults. Read only.'),
    bigint('crewChildren', 'Number of children. Read only.'),
    text('message', 'Client message for the company. Read only.', { personal: true }),
    text(
      'status',
      'VALIDATED, CANCELED_BY_CLIENT, CANCELED_BAD_WEATHER, CANCELED_BREAKDOWN, CANCELED_PAYMENT; also PENDING and values not published.',
    ),
    text('depositStatus', "PENDING, RECEIVED, KEPT, RETURNED; depends on the company's usage. Read only."),
    numeric('depositPrice', 'Deposit the customer leaves before the rental starts. Read only.'),
    json('depositCurrency', 'Deposit currency, as text or as an object. Read only.'),
    numeric('paymentProgress', 'Amount paid relative to the total to pay. Read only.'),
    numeric('totalPaid', 'Amount already paid. Read only.'),
    numeric('totalToPay', 'Total amount to pay. Read only.'),
    numeric('rentalPrice', 'Price of the rental, excluding products. When unspecified, the initial price is applied.'),
    numeric('discountPrice', 'Discount price; zero when unspecified.'),
    numeric('commissionPrice', 'Commission taken by the client system.'),
    text('contractLink', 'Link to the rental contract in the client system.'),
    text('orderLink', 'Link to the rental in the client system.'),
    text('referenceId', 'Reference ID of the rental in the client system.'),
    reference('user.id', 'User: users.id. Read only.'),
    {
      ...fromRequest(
        'resource_id',
        'text',
        "Resource: resources.id. Filled from the rental's resource (the rental itself does not name it).",
      ),
      reference: true,
    },
    {
      ...fromRequest(
        'company_id',
        'bigint',
        "Company: companies.id. Filled from the rental's resource (the rental itself does not name it).",
      ),
      reference: true,
    },
  ],
  reads: {
    kind: 'list',
    list: 'GET /v3/rentals',
    single: { endpoint: 'GET /v3/rentals/{rentalId}', param: 'rentalId' },
    paged: true,
    query: { order: 'creationDateAsc' },
    related: [{ endpoint: 'GET /v3/rentals/{rentalId}/user', stream: 'users', path: 'user' }],
  },
  freshness: 'detail',
  eventful: { begin: 'departure_datetime', end: 'arrival_datetime' },
  every: '1m',
  aggregate: 'rental',
  embeds: [
    { path: 'departureHarbour', stream: 'harbours' },
    { path: 'arrivalHarbour', stream: 'harbours' },
    { path: 'user', stream: 'users' },
  ],
  filledBy: {
    stream: 'rental_resources',
    columns: [
      { column: 'resource_id', path: 'resource.id' },
      { column: 'company_id', path: 'resource.company.id' },
    ],
  },
}

export const rentalResources: StreamDef = {
  name: 'rental_resources',
  comment: "The rental's resource with its price, fees and down payment.",
  source: 'docs/sources.md, 2.4, 4.4, resources/rental-resource',
  key: ['rental_id'],
  ...belowRental,
  columns: [
    rentalId,
    bigint('id', 'Element ID. Read only.'),
    numeric('price', 'Resource price. Read only.'),
    numeric('fees', 'Full client fees price. Read only.'),
    numeric('vatRate', 'VAT rate applied, percent. Read only.'),
    numeric('downPaymentPrice', 'Resource down payment. Read only.'),
    numeric('downPaymentRate', 'Minimum accepted down payment, percent. Read only.'),
    text('resource.id', 'Resource: resources.id. Read only.', { reference: true }),
  ],
  reads: { kind: 'document', endpoint: 'GET /v3/rentals/{rentalId}/resource', optional: false },
  freshness: 'detail',
  every: '1m',
  embeds: [{ path: 'resource', stream: 'resources' }],
}

export const rentalOptions: StreamDef = {
  name: 'rental_options',
  comment: 'Options booked with a rental.',
  source: 'docs/sources.md, 4.4, resources/rental-option',
  key: ['rental_id', 'id'],
  ...belowRental,
  columns: [
    rentalId,
    bigint('id', 'Rental option ID. Read only.'),
    reference('option.id', 'Option: resource_options.id. Read only.'),
    numeric('price', 'Price.'),
    bigint('quantity', 'Quantity; changed by rental_option.update.'),
    numeric('fees', 'Fees. Read only.'),
    numeric('vatRate', 'VAT rate applied, percent.'),
    numeric('downPaymentRate', 'Minimum accepted down payment, percent. Read only.'),
  ],
  reads: {
    kind: 'collection',
    list: 'GET /v3/rentals/{rentalId}/options',
    single: { endpoint: 'GET /v3/rentals/{rentalId}/options/{optionId}', param: 'optionId', fallbackPath: 'option.id' },
  },
  freshness: 'detail',
  every: '1m',
  alsoKnown: ['option'],
}

export const rentalPayments: StreamDef = {
  name: 'rental_payments',
  comment: 'Payment lines of a rental: records of payments made elsewhere.',
  source: 'docs/sources.md, 4.4, reference/rental-payment-management/add-payment-line-to-a-rental',
  key: ['rental_id', 'id'],
  ...belowRental,
  columns: [
    rentalId,
    bigint('id', 'Payment line ID. Read only.'),
    json('currency', 'Currency, as text or as an object.'),
    json('method', 'Payment method; its contents are not published.'),
    reference('method.id', 'Payment method: rental_payment_methods.id, where the method names it.', { lenient: true }),
    numeric('price', 'Amount paid.'),
    text('reference', 'Payment reference.'),
  ],
  reads: {
    kind: 'collection',
    list: 'GET /v3/rentals/{rentalId}/payments',
    single: { endpoint: 'GET /v3/rentals/{rentalId}/payments/{paymentId}', param: 'paymentId' },
  },
  freshness: 'detail',
  every: '1m',
}

const personal = { personal: true } as const

export const rentalCrewMembers: StreamDef = {
  name: 'rental_crew_members',
  comment: 'Crew members of a rental.',
  source: 'docs/sources.md, 4.4, reference/rental-crew-management/add-a-crew-member-to-a-rental',
  key: ['rental_id', 'id'],
  ...belowRental,
  columns: [
    rentalId,
    bigint('id', 'Crew member ID. Read only.'),
    text('email', 'Email.', personal),
    text('firstName', 'First name.', personal),
    text('lastName', 'Last name.', personal),
    text('type', 'ADULT, CHILD.'),
  ],
  reads: {
    kind: 'collection',
    list: 'GET /v3/rentals/{rentalId}/crewMembers',
    single: { endpoint: 'GET /v3/rentals/{rentalId}/crewMembers/{crewMemberId}', param: 'crewMemberId' },
  },
  freshness: 'detail',
  every: '1m',
}
