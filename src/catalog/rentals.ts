// Rentals and what belongs to them (docs/sources.md, 2.4, 2.5, 4.4, resources/rental).

import { bigint, currency, fromRequest, numeric, reference, text, timestamp, wallClock } from './columns.ts'
import type { BodyField, StreamDef } from './types.ts'

/** `rental_id`, first key column of everything below a rental. */
export const rentalId = fromRequest('rental_id', 'bigint', 'Rental: rentals.id.')

/** What every stream below a rental has in common. */
export const belowRental = { parent: 'rentals', parentParams: ['rentalId'], parentKey: ['rental_id'] } as const

/** Operations whose result is an id: it may be used in a free text field of a later change. */
export const anyId = [
  'rental.create',
  'rental_option.add',
  'rental_payment.add',
  'rental_crew_member.add',
  'user.create',
] as const

const prices = [
  {
    name: 'rentalPrice',
    type: 'number',
    whenLeftOut: 'reset',
    comment: 'Price of the rental, excluding products; initial price if omitted.',
  },
  { name: 'discountPrice', type: 'number', whenLeftOut: 'reset', comment: 'Discount; zero if omitted.' },
  { name: 'commissionPrice', type: 'number', comment: 'Commission kept by the client.' },
] as const satisfies readonly BodyField[]

const links = [
  { name: 'contractLink', type: 'string', comment: 'Link to the contract in the client system.' },
  { name: 'orderLink', type: 'string', comment: 'Link to the rental in the client system.' },
] as const satisfies readonly BodyField[]

const localNote = 'The clock of the date-time in its own offset; one without an offset is in TIME_ZONE.'

export const rentals = {
  name: 'rentals',
  comment: 'Rentals.',
  source: 'docs/sources.md, 2.5, 4.4',
  key: ['id'],
  companyColumn: 'company_id',
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
      'VALIDATED, CANCELED_BY_CLIENT, CANCELED_BAD_WEATHER, CANCELED_BREAKDOWN, CANCELED_PAYMENT; also PENDING and unpublished values.',
    ),
    text('depositStatus', "PENDING, RECEIVED, KEPT, RETURNED; depends on the company's usage. Read only."),
    numeric('depositPrice', 'Deposit the customer leaves before the rental starts. Read only.'),
    currency('depositCurrency', 'Deposit currency, as text or as an object. Read only.'),
    numeric('paymentProgress', 'Amount paid relative to the total to pay. Read only.'),
    numeric('totalPaid', 'Amount already paid. Read only.'),
    numeric('totalToPay', 'Total amount to pay. Read only.'),
    numeric(
      'rentalPrice',
      "Price of the rental, excluding products. If unspecified, the initial price applies. The API's documentation does not say whether it is before or after the discount. In the sandbox it is before.",
    ),
    numeric(
      'discountPrice',
      'Discount; zero if unspecified. In the sandbox total_to_pay is rental_price less this, plus the options.',
    ),
    numeric('commissionPrice', 'Commission taken by the client system.'),
    text('contractLink', 'Link to the rental contract in the client system.'),
    text('orderLink', 'Link to the rental in the client system.'),
    text('referenceId', 'Reference ID of the rental in the client system.'),
    reference('user.id', 'User: users.id. Read only.'),
    {
      ...fromRequest(
        'resource_id',
        'text',
        "Resource: resources.id. Taken from the rental's resource, because the rental itself does not name it.",
      ),
      reference: true,
    },
    {
      ...fromRequest(
        'company_id',
        'bigint',
        "Company: companies.id. Taken from the rental's resource, because the rental itself does not name it.",
      ),
      reference: true,
    },
    wallClock('departureDatetime', `Local time of departure. ${localNote}`, { name: 'departure_local', lenient: true }),
    wallClock('arrivalDatetime', `Local time of arrival. ${localNote}`, { name: 'arrival_local', lenient: true }),
  ],
  reads: {
    kind: 'list',
    list: 'GET /v3/rentals',
    single: { endpoint: 'GET /v3/rentals/{rentalId}', param: 'rentalId', repeats: 'GET /v3/rentals' },
    paged: true,
    query: { order: 'creationDateAsc' },
    windows: {
      newest: { column: 'creation_datetime', query: { order: 'creationDateDesc' } },
      soon: { column: 'departure_datetime', from: 'departureMinDate', to: 'departureMaxDate' },
    },
    filters: [
      { param: 'id', column: 'id' },
      { param: 'customerId', column: 'user_id' },
      { param: 'resourceId', column: 'resource_id' },
      { param: 'companyId', column: 'company_id' },
      // Whether CANCELED means all four values that begin so, nobody says.
      { param: 'status', column: 'status', values: ['PENDING', 'VALIDATED'] },
    ],
    related: [
      {
        endpoint: 'GET /v3/rentals/{rentalId}/user',
        stream: 'users',
        path: 'user',
        repeats: 'GET /v3/rentals#user',
      },
    ],
  },
  freshness: 'detail',
  modified: 'lastModificationDatetime',
  eventful: { begin: 'departure_datetime', end: 'arrival_datetime' },
  every: '1m',
  hotEvery: '1m',
  aggregate: 'rental',
  embeds: [
    { path: 'departureHarbour', stream: 'harbours' },
    { path: 'arrivalHarbour', stream: 'harbours' },
    { path: 'user', stream: 'users' },
  ],
  filledBy: {
    stream: 'rental_resources',
    columns: [
      { column: 'resource_id', path: 'resource.id', from: 'id' },
      { column: 'company_id', path: 'resource.company.id', from: 'company_id' },
    ],
    filter: { stream: 'resources', param: 'resourceId' },
  },
  writes: [
    {
      operation: 'rental.create',
      endpoint: 'POST /v3/rentals',
      kind: 'create',
      body: [
        { name: 'resourceId', type: 'string', required: true, comment: 'Resource to rent: resources.id.' },
        { name: 'slotId', type: 'string', required: true, comment: 'Slot that fixes the schedule: resource_slots.id.' },
        { name: 'addMandatoryOptions', type: 'boolean', comment: 'Add mandatory options automatically.' },
        ...prices,
        { name: 'commissionCurrency', type: 'string', comment: 'Currency of the commission.' },
        ...links,
        { name: 'referenceId', type: 'string', result: anyId, comment: 'ID of the rental in the client system.' },
      ],
      // Boat and departure distinguish rentals: the look-up filters by boat, and the slot contains the departure.
      identity: { shown: ['referenceId'], kept: [] },
      source:
        'docs/sources.md, 4.4, resources/rental-creation-object, reference/rental-management/initiate-the-rental-process',
    },
    {
      operation: 'rental.update',
      endpoint: 'PUT /v3/rentals/{rentalId}',
      kind: 'update',
      body: [
        {
          name: 'status',
          type: 'string',
          values: ['VALIDATED', 'CANCELED_BY_CLIENT', 'CANCELED_BAD_WEATHER', 'CANCELED_BREAKDOWN', 'CANCELED_PAYMENT'],
          clearable: false,
          whenLeftOut: 'kept',
          comment: 'VALIDATED confirms the rental.',
        },
        ...prices,
        ...links,
        {
          name: 'referenceId',
          type: 'string',
          result: anyId,
          comment: 'Reference ID of the rental in the client system.',
        },
      ],
      source: 'docs/sources.md, 2.5, 4.4, reference/rental-management/update-rental',
    },
    {
      operation: 'rental.delete',
      endpoint: 'DELETE /v3/rentals/{rentalId}',
      kind: 'delete',
      body: [],
      source: 'docs/sources.md, 4.4',
    },
    {
      operation: 'rental_user.assign',
      endpoint: 'POST /v3/rentals/{rentalId}/user',
      kind: 'assign',
      body: [
        {
          name: 'userId',
          type: 'integer',
          required: true,
          result: ['user.create'],
          readPath: 'user.id',
          comment: 'User: users.id. Cannot be changed once set.',
        },
      ],
      source: 'docs/sources.md, 4.4, reference/rental-user-management/assign-a-user-to-a-rental',
    },
  ],
} as const satisfies StreamDef

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
