// Users (the address book) and their documents (docs/sources.md, 2.6, 4.1, resources/user,
// reference/user-management/list-users-in-your-addressbook-paginated).

import { bigint, boolean, date, fromRequest, reference, text, timestamp } from './columns.ts'
import type { StreamDef } from './types.ts'

const personal = { personal: true } as const

export const users: StreamDef = {
  name: 'users',
  comment: 'Users: the customers in the address book, deactivated ones too.',
  source: 'docs/sources.md, 2.6, 4.1',
  key: ['id'],
  columns: [
    bigint('id', 'User ID. Read only.'),
    timestamp('creationDatetime', 'Creation date-time. Read only.'),
    timestamp('lastModificationDatetime', 'Last update date-time. Read only.'),
    boolean('deactivated', 'True if the profile is deactivated or blocked. Read only.'),
    text('civility', 'MS, MR, OTHER.', personal),
    text('firstName', 'First name.', personal),
    text('lastName', 'Last name.', personal),
    date('birthDate', 'Date of birth.', personal),
    text('email', 'Email.', personal),
    text('landlinePhone', 'Phone.', personal),
    text('mobilePhone', 'Phone.', personal),
    text('addressStreet1', 'Street 1 of residence.', personal),
    text('addressStreet2', 'Street 2 of residence. Optional.', personal),
    text('addressPostalCode', 'Postal code of residence.', personal),
    text('addressCity', 'City of residence.', personal),
    text('addressState', 'State of residence.', personal),
    text('addressCountry.code', 'Country of residence: countries.code.', { personal: true, reference: true }),
    text('nationality.code', 'Nationality: countries.code.', { personal: true, reference: true }),
    text('language.code', 'Standard code of the language of the user.'),
    text('organizationType', 'INDIVIDUAL, SOCIETY, ASSOCIATION.'),
    text('organizationName', 'Needed when the user represents an association or a society. Optional.', personal),
    text('organizationVatNumber', 'Needed when the user represents an association or a society. Optional.', personal),
  ],
  reads: {
    kind: 'list',
    list: 'GET /v3/users',
    single: { endpoint: 'GET /v3/users/{userId}', param: 'userId' },
    paged: true,
    extraPasses: [{ deactivated: 'true' }],
  },
  freshness: 'detail',
  every: '5m',
  alsoKnown: ['language.name', 'addressCountry.name', 'nationality.name'],
  aggregate: 'user',
  person: true,
  embeds: [
    { path: 'addressCountry', stream: 'countries' },
    { path: 'nationality', stream: 'countries' },
  ],
}

const documentOfUser = {
  parent: 'users',
  parentParams: ['userId'],
  parentKey: ['user_id'],
  document: true,
  onlyWith: ['mirrorDocuments'],
} as const

const userId = fromRequest('user_id', 'bigint', 'User the document belongs to: users.id.')

export const userIdentities: StreamDef = {
  name: 'user_identities',
  comment: 'Identity documents of users, at most one each.',
  source: 'docs/sources.md, 4.1, reference/user-documents-management/add-identity-document-to-an-existing-user',
  key: ['user_id'],
  ...documentOfUser,
  columns: [
    userId,
    text('number', 'Number on the document.', personal),
    text('type', 'Kind of document: CARD_ID, PASSEPORT, CAR_LICENSE.', personal),
  ],
  reads: { kind: 'document', endpoint: 'GET /v3/users/{userId}/identity', optional: true },
  freshness: 'detail',
  every: '5m',
}

export const userLicenses: StreamDef = {
  name: 'user_licenses',
  comment: 'Boating licenses of users, at most one each.',
  source: 'docs/sources.md, 4.1, resources/user-license',
  key: ['user_id'],
  ...documentOfUser,
  columns: [
    userId,
    text('country.code', 'Country of the license: countries.code.', { personal: true, reference: true }),
    text('number', 'Number on the license.', personal),
    reference('type.id', 'Kind of boating license: user_license_types.id.', { personal: true }),
    bigint('year', 'Year obtained.', personal),
  ],
  reads: { kind: 'document', endpoint: 'GET /v3/users/{userId}/license', optional: true },
  freshness: 'detail',
  every: '5m',
  alsoKnown: ['type.name', 'country.name'],
  embeds: [
    { path: 'country', stream: 'countries' },
    { path: 'type', stream: 'user_license_types' },
  ],
}
