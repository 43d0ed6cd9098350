// Users (the address book) and their documents (docs/sources.md, 2.6, 4.1, resources/user,
// reference/user-management/list-users-in-your-addressbook-paginated).

import { bigint, boolean, date, fromRequest, reference, text, timestamp } from './columns.ts'
import type { BodyField, StreamDef } from './types.ts'

const personal = { personal: true } as const

/** A country is written by its code, as `{"code": "FR"}`: the form is undocumented, but the code is its only key. */
const countryField = <const Name extends string>(name: Name, comment: string) =>
  ({
    name,
    type: 'object',
    comment,
    members: [{ name: 'code', type: 'string', required: true, comment: 'Country code: countries.code.' }],
  }) as const satisfies BodyField

const userBody = [
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

export const users = {
  name: 'users',
  comment: 'Users: the customers in the address book, including deactivated ones.',
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
    single: { endpoint: 'GET /v3/users/{userId}', param: 'userId', repeats: 'GET /v3/users' },
    paged: true,
    extraPasses: [{ deactivated: 'true' }],
    filters: [
      { param: 'id', column: 'id' },
      {
        param: 'organizationType',
        column: 'organization_type',
        values: ['INDIVIDUAL', 'SOCIETY', 'ASSOCIATION'],
      },
      { param: 'deactivated', column: 'deactivated', values: ['true', 'false'], otherwise: 'false' },
    ],
  },
  freshness: 'detail',
  modified: 'lastModificationDatetime',
  every: '15m',
  alsoKnown: ['language.name', 'addressCountry.name', 'nationality.name'],
  aggregate: 'user',
  person: true,
  embeds: [
    { path: 'addressCountry', stream: 'countries' },
    { path: 'nationality', stream: 'countries' },
  ],
  writes: [
    {
      operation: 'user.create',
      endpoint: 'POST /v3/users',
      kind: 'create',
      body: userBody,
      identity: { shown: ['email', 'firstName', 'lastName'], kept: [['lastName', 'email'], ['birthDate']] },
      source: 'docs/sources.md, 2.6, 4.1, reference/user-management/add-a-new-user-to-your-addressbook',
    },
    {
      operation: 'user.update',
      endpoint: 'PUT /v3/users/{userId}',
      kind: 'update',
      body: userBody,
      source: 'docs/sources.md, 2.6, 4.1, reference/user-management/update-a-user-from-your-addressbook',
    },
    {
      operation: 'user.delete',
      endpoint: 'DELETE /v3/users/{userId}',
      kind: 'delete',
      body: [],
      source: 'docs/sources.md, 4.1',
    },
  ],
} as const satisfies StreamDef

const documentOfUser = {
  parent: 'users',
  parentParams: ['userId'],
  parentKey: ['user_id'],
  document: true,
  onlyWith: ['mirrorDocuments'],
} as const

const userId = fromRequest('user_id', 'bigint', 'User the document belongs to: users.id.')

const identityNumber = { name: 'number', type: 'string', comment: 'Number on the document.' } as const
const identityType = {
  name: 'type',
  type: 'string',
  values: ['CARD_ID', 'PASSEPORT', 'CAR_LICENSE'],
  comment: 'Kind of document.',
} as const

export const userIdentities = {
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
  writes: [
    {
      operation: 'user_identity.add',
      endpoint: 'POST /v3/users/{userId}/identity',
      kind: 'add',
      body: [
        { ...identityNumber, required: true },
        { ...identityType, required: true },
      ],
      source: 'docs/sources.md, 4.1, reference/user-documents-management/add-identity-document-to-an-existing-user',
    },
    {
      operation: 'user_identity.update',
      endpoint: 'PUT /v3/users/{userId}/identity',
      kind: 'update',
      body: [identityNumber, identityType],
      source: 'docs/sources.md, 4.1, reference/user-documents-management/update-identity-document-for-an-existing-user',
    },
    {
      operation: 'user_identity.remove',
      endpoint: 'DELETE /v3/users/{userId}/identity',
      kind: 'remove',
      body: [],
      source: 'docs/sources.md, 4.1',
    },
  ],
} as const satisfies StreamDef

const licenseBody = [
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

export const userLicenses = {
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
  writes: [
    {
      operation: 'user_license.add',
      endpoint: 'POST /v3/users/{userId}/license',
      kind: 'add',
      body: licenseBody,
      source: 'docs/sources.md, 4.1, reference/user-documents-management/add-license-document-to-an-existing-user',
    },
    {
      operation: 'user_license.update',
      endpoint: 'PUT /v3/users/{userId}/license',
      kind: 'update',
      body: licenseBody,
      source: 'docs/sources.md, 4.1, reference/user-documents-management/update-license-document-for-an-existing-user',
    },
    {
      operation: 'user_license.remove',
      endpoint: 'DELETE /v3/users/{userId}/license',
      kind: 'remove',
      body: [],
      source: 'docs/sources.md, 4.1',
    },
  ],
} as const satisfies StreamDef
