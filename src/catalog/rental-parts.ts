// What is booked, paid and listed with a rental: options, payments, crew (docs/sources.md, 4.4).

import { bigint, currency, json, numeric, reference, text } from './columns.ts'
import { anyId, belowRental, rentalId } from './rentals.ts'
import type { BodyField, StreamDef } from './types.ts'

export const rentalOptions = {
  name: 'rental_options',
  comment: 'Options booked with a rental.',
  source: 'docs/sources.md, 4.4, resources/rental-option',
  key: ['rental_id', 'id'],
  ...belowRental,
  columns: [
    rentalId,
    bigint('id', 'Rental option ID. Read only.'),
    reference('option.id', 'Option: resource_options.id. Read only.'),
    numeric(
      'price',
      "Price. The API's documentation does not say whether it is per unit or in total. In the sandbox it is per unit: price times quantity is charged.",
    ),
    bigint('quantity', 'Quantity; changed by rental_option.update.'),
    numeric('fees', 'Fees. Read only.'),
    numeric('vatRate', 'VAT rate applied, percent.'),
    numeric('downPaymentRate', 'Minimum accepted down payment, percent. Read only.'),
  ],
  reads: {
    kind: 'collection',
    list: 'GET /v3/rentals/{rentalId}/options',
    single: {
      endpoint: 'GET /v3/rentals/{rentalId}/options/{optionId}',
      param: 'optionId',
      fallbackPath: 'option.id',
      repeats: 'GET /v3/rentals/{rentalId}/options',
    },
  },
  freshness: 'detail',
  every: '1m',
  alsoKnown: ['option'],
  writes: [
    {
      operation: 'rental_option.add',
      endpoint: 'POST /v3/rentals/{rentalId}/options',
      kind: 'add',
      body: [
        {
          name: 'optionId',
          type: 'integer',
          required: true,
          readPath: 'option.id',
          comment: 'Option: resource_options.id.',
        },
        { name: 'quantity', type: 'integer', required: true, comment: 'Quantity.' },
        {
          name: 'commissionPrice',
          type: 'number',
          sendAs: 'string',
          readPath: null,
          comment: 'Commission; sent as text, not shown when read.',
        },
      ],
      identity: { kept: [['optionId']] },
      source: 'docs/sources.md, 4.4, reference/rental-option-management/add-an-option-to-a-rental',
    },
    {
      operation: 'rental_option.update',
      endpoint: 'PUT /v3/rentals/{rentalId}/options/{optionId}',
      kind: 'update',
      body: [{ name: 'quantity', type: 'integer', required: true, comment: 'Quantity.' }],
      source: 'docs/sources.md, 4.4',
    },
    {
      operation: 'rental_option.remove',
      endpoint: 'DELETE /v3/rentals/{rentalId}/options/{optionId}',
      kind: 'remove',
      body: [],
      source: 'docs/sources.md, 4.4',
    },
  ],
} as const satisfies StreamDef

const paymentBody = [
  { name: 'currency', type: 'string', comment: 'Currency.' },
  {
    name: 'method',
    type: 'object',
    comment: 'Payment method.',
    members: [{ name: 'id', type: 'integer', required: true, comment: 'rental_payment_methods.id.' }],
  },
  { name: 'price', type: 'number', comment: 'Amount paid.' },
  { name: 'reference', type: 'string', result: anyId, comment: 'Payment reference.' },
] as const satisfies readonly BodyField[]

export const rentalPayments = {
  name: 'rental_payments',
  comment: 'Payment lines of a rental: records of payments made elsewhere.',
  source: 'docs/sources.md, 4.4, reference/rental-payment-management/add-payment-line-to-a-rental',
  key: ['rental_id', 'id'],
  ...belowRental,
  columns: [
    rentalId,
    bigint('id', 'Payment line ID. Read only.'),
    currency('currency', 'Currency, as text or as an object.'),
    json('method', 'Payment method; its content is not published.'),
    reference('method.id', 'Payment method: rental_payment_methods.id, if the method names it.', { lenient: true }),
    numeric('price', 'Amount paid.'),
    text('reference', 'Payment reference.'),
  ],
  reads: {
    kind: 'collection',
    list: 'GET /v3/rentals/{rentalId}/payments',
    single: {
      endpoint: 'GET /v3/rentals/{rentalId}/payments/{paymentId}',
      param: 'paymentId',
      repeats: 'GET /v3/rentals/{rentalId}/payments',
    },
  },
  freshness: 'detail',
  every: '1m',
  writes: [
    {
      operation: 'rental_payment.add',
      endpoint: 'POST /v3/rentals/{rentalId}/payments',
      kind: 'add',
      body: paymentBody,
      identity: { filled: ['currency', 'method', 'price'], kept: [['price', 'method']] },
      source: 'docs/sources.md, 4.4, reference/rental-payment-management/add-payment-line-to-a-rental',
    },
    {
      operation: 'rental_payment.update',
      endpoint: 'PUT /v3/rentals/{rentalId}/payments/{paymentId}',
      kind: 'update',
      body: paymentBody,
      source: 'docs/sources.md, 4.4, reference/rental-payment-management/update-rental-payment-line',
    },
    {
      operation: 'rental_payment.remove',
      endpoint: 'DELETE /v3/rentals/{rentalId}/payments/{paymentId}',
      kind: 'remove',
      body: [],
      source: 'docs/sources.md, 4.4',
    },
  ],
} as const satisfies StreamDef

const personal = { personal: true } as const

const crewMemberBody = [
  { name: 'email', type: 'email', comment: 'Email.' },
  { name: 'firstName', type: 'string', comment: 'First name.' },
  { name: 'lastName', type: 'string', comment: 'Last name.' },
  { name: 'type', type: 'string', values: ['ADULT', 'CHILD'], comment: 'Kind of crew member.' },
] as const satisfies readonly BodyField[]

export const rentalCrewMembers = {
  name: 'rental_crew_members',
  crew: true,
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
    single: {
      endpoint: 'GET /v3/rentals/{rentalId}/crewMembers/{crewMemberId}',
      param: 'crewMemberId',
      repeats: 'GET /v3/rentals/{rentalId}/crewMembers',
    },
  },
  freshness: 'detail',
  every: '1m',
  writes: [
    {
      operation: 'rental_crew_member.add',
      endpoint: 'POST /v3/rentals/{rentalId}/crewMembers',
      kind: 'add',
      body: crewMemberBody,
      identity: { filled: ['type'], kept: [['firstName', 'lastName']] },
      source: 'docs/sources.md, 4.4, reference/rental-crew-management/add-a-crew-member-to-a-rental',
    },
    {
      operation: 'rental_crew_member.update',
      endpoint: 'PUT /v3/rentals/{rentalId}/crewMembers/{crewMemberId}',
      kind: 'update',
      body: crewMemberBody,
      source: 'docs/sources.md, 4.4',
    },
    {
      operation: 'rental_crew_member.remove',
      endpoint: 'DELETE /v3/rentals/{rentalId}/crewMembers/{crewMemberId}',
      kind: 'remove',
      body: [],
      source: 'docs/sources.md, 4.4',
    },
  ],
} as const satisfies StreamDef
