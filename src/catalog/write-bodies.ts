// The bodies of the write operations: fields, types, allowed values, and where they differ from what is read
// (docs/sources.md, 2.5, 2.6, 4.1, 4.4, and the `source` of each operation).

import type { BodyField } from './types.ts'

/** Operations whose result is an id: it may stand in a free text field of a later change. */
const anyId = [
  'rental.create',
  'rental_option.add',
  'rental_payment.add',
  'rental_crew_member.add',
  'user.create',
] as const

/** A country is written by its code, as `{"code": "FR"}`: how is not documented, but the code is its only key. */
const countryField = <const Name extends string>(name: Name, comment: string) =>
  ({
    name,
    type: 'object',
    comment,
    members: [{ name: 'code', type: 'string', required: true, comment: 'Country code: countries.code.' }],
  }) as const satisfies BodyField

export const userBody = [
  { name: 'civility', type: 'string', values: ['MS', 'MR', 'OTHER'], comment: 'Civility.' },
  { name: 'firstName', type: 'string', comment: 'First name.' },
  { name: 'lastName', type: 'string', comment: 'Last name.' },
  { name: 'birthDate', type: 'date', comment: 'Date of birth.' },
  { name: 'email', type: 'email', comment: 'Email.' },
  { name: 'landlinePhone', type: 'string', comment: 'Phone.' },
  { name: 'mobilePhone', type: 'string', comment: 'Phone.' },
  { name: 'addressStreet1', type: 'string', comment: 'Street 1 of residence.' },
  { name: 'addressStreet2', type: 'string', comment: 'Street 2 of residence.' },
  { name: 'addressPostalCode', type: 'string', comment: 'Postal code of residence.' },
  { name: 'addressCity', type: 'string', comment: 'City of residence.' },
  { name: 'addressState', type: 'string', comment: 'State of residence.' },
  countryField('addressCountry', 'Country of residence.'),
  countryField('nationality', 'Nationality.'),
  {
    name: 'language',
    type: 'object',
    comment: 'Language of the user.',
    members: [
      { name: 'code', type: 'string', required: true, comment: 'Standard language code.' },
      { name: 'name', type: 'string', comment: 'Name of the language.' },
    ],
  },
  {
    name: 'organizationType',
    type: 'string',
    values: ['INDIVIDUAL', 'SOCIETY', 'ASSOCIATION'],
    comment: 'What the user stands for.',
  },
  { name: 'organizationName', type: 'string', comment: 'Needed for an association or a society.' },
  { name: 'organizationVatNumber', type: 'string', comment: 'Needed for an association or a society.' },
] as const satisfies readonly BodyField[]

export const identityBody = [
  { name: 'number', type: 'string', required: true, comment: 'Number on the document.' },
  {
    name: 'type',
    type: 'string',
    required: true,
    values: ['CARD_ID', 'PASSEPORT', 'CAR_LICENSE'],
    comment: 'Kind of document.',
  },
] as const satisfies readonly BodyField[]

export const licenseBody = [
  countryField('country', 'Country of the license.'),
  { name: 'number', type: 'string', comment: 'Number on the license.' },
  {
    name: 'type',
    type: 'object',
    comment: 'Kind of boating license.',
    members: [
      { name: 'id', type: 'integer', required: true, comment: 'user_license_types.id.' },
      { name: 'name', type: 'string', comment: 'Name of the kind.' },
    ],
  },
  { name: 'year', type: 'integer', comment: 'Year obtained.' },
] as const satisfies readonly BodyField[]

export const paymentBody = [
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

export const crewMemberBody = [
  { name: 'email', type: 'email', comment: 'Email.' },
  { name: 'firstName', type: 'string', comment: 'First name.' },
  { name: 'lastName', type: 'string', comment: 'Last name.' },
  { name: 'type', type: 'string', values: ['ADULT', 'CHILD'], comment: 'Kind of crew member.' },
] as const satisfies readonly BodyField[]

const links = [
  { name: 'contractLink', type: 'string', comment: 'Link to the contract in the client system.' },
  { name: 'orderLink', type: 'string', comment: 'Link to the rental in the client system.' },
] as const satisfies readonly BodyField[]

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

export const identityUpdateBody = [
  { name: 'number', type: 'string', comment: 'Number on the document.' },
  { name: 'type', type: 'string', values: ['CARD_ID', 'PASSEPORT', 'CAR_LICENSE'], comment: 'Kind of document.' },
] as const satisfies readonly BodyField[]

/** What a rental's creation takes (docs/sources.md, resources/rental-creation-object). */
export const rentalCreateBody = [
  { name: 'resourceId', type: 'string', required: true, comment: 'Resource to rent: resources.id.' },
  { name: 'slotId', type: 'string', required: true, comment: 'Slot that fixes the schedule: resource_slots.id.' },
  { name: 'addMandatoryOptions', type: 'boolean', comment: 'Add mandatory options automatically.' },
  ...prices,
  { name: 'commissionCurrency', type: 'string', comment: 'Currency of the commission.' },
  ...links,
  { name: 'referenceId', type: 'string', result: anyId, comment: 'ID of the rental in the client system.' },
] as const satisfies readonly BodyField[]

/** The seven writable fields of a rental (docs/sources.md, 2.5). */
export const rentalUpdateBody = [
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
  { name: 'referenceId', type: 'string', result: anyId, comment: 'Reference ID of the rental in the client system.' },
] as const satisfies readonly BodyField[]

/** `optionId` is written, `option.id` is read (docs/sources.md, resources/rental-option). */
export const optionAddBody = [
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
] as const satisfies readonly BodyField[]

export const optionUpdateBody = [
  { name: 'quantity', type: 'integer', required: true, comment: 'Quantity.' },
] as const satisfies readonly BodyField[]

export const userAssignBody = [
  {
    name: 'userId',
    type: 'integer',
    required: true,
    result: ['user.create'],
    readPath: 'user.id',
    comment: 'User: users.id. Cannot be changed once set.',
  },
] as const satisfies readonly BodyField[]
