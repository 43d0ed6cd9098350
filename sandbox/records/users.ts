// The user and the two documents of a user (docs/sources.md, 2.6, resources/user-license,
// reference/user-documents-management/add-identity-document-to-an-existing-user).

import { Country, UserLicenseType } from './references.ts'
import { choice, embedded, flag, formatted, integer, record, text } from './schema.ts'

export const civilities = ['MS', 'MR', 'OTHER'] as const
export const organizationTypes = ['INDIVIDUAL', 'SOCIETY', 'ASSOCIATION'] as const
export const identityTypes = ['CARD_ID', 'PASSEPORT', 'CAR_LICENSE'] as const

const Language = record('Language', 'A language', {
  code: text('Standard language code'),
  name: text('Language name'),
})

export const User = record('User', 'A customer in the address book', {
  id: integer('User ID'),
  creationDatetime: formatted('date-time', 'Creation date-time'),
  lastModificationDatetime: formatted('date-time', 'Last update date-time'),
  deactivated: flag('True if the profile is deactivated or blocked'),
  civility: choice(civilities, 'Civility'),
  firstName: text('First name'),
  lastName: text('Last name'),
  birthDate: formatted('date', 'Date of birth'),
  email: formatted('email', 'Email'),
  landlinePhone: text('Phone'),
  mobilePhone: text('Phone'),
  addressStreet1: text('Street 1 of residence'),
  addressStreet2: text('Street 2 of residence'),
  addressPostalCode: text('Postal code of residence'),
  addressCity: text('City of residence'),
  addressState: text('State of residence'),
  addressCountry: embedded(Country, 'Country of residence'),
  nationality: embedded(Country, 'Nationality'),
  language: embedded(Language, 'Language of the customer'),
  organizationType: choice(organizationTypes, 'Kind of customer'),
  organizationName: text('Needed when the user represents an association or a society'),
  organizationVatNumber: text('Needed when the user represents an association or a society'),
})

export const UserIdentity = record('UserIdentity', 'Identity document', {
  number: text('Number on the document'),
  type: choice(identityTypes, 'Kind of document'),
})

export const UserLicense = record('UserLicense', 'Boating license', {
  country: embedded(Country, 'Country of the license'),
  number: text('Number on the license'),
  type: embedded(UserLicenseType, 'Kind of boating license'),
  year: integer('Year obtained'),
})
