// What each write operation accepts. Other fields are ignored, listed ones are checked for type and value; the keys
// of a body are the writable fields of its operation.

import Type, { type TProperties } from 'typebox'
import { crewTypes, writableStatuses } from './rentals.ts'
import { civilities, identityTypes, organizationTypes } from './users.ts'

const orNull = <Schema extends Type.TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
const oneOf = (values: readonly string[]) => Type.Enum([...values])
const body = <Fields extends TProperties>(title: string, fields: Fields) => Type.Object(fields, { title })

const text = orNull(Type.String())
const amount = orNull(Type.Number())
/** The code is the only key of a country (docs/sources.md, 2.1). */
const countryRef = orNull(Type.Object({ code: Type.String() }))
const idRef = Type.Object({ id: Type.Integer() })
const email = Type.String({ pattern: '^[^@\\s]+@[^@\\s]+$' })

/** POST and PUT of a user (docs/sources.md, 2.6, reference/user-management/update-a-user-from-your-addressbook). */
export const UserBody = body('UserBody', {
  addressCity: text,
  addressCountry: countryRef,
  addressPostalCode: text,
  addressState: text,
  addressStreet1: text,
  addressStreet2: text,
  birthDate: orNull(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' })),
  civility: orNull(oneOf(civilities)),
  email: orNull(email),
  firstName: text,
  landlinePhone: text,
  language: orNull(Type.Object({ code: Type.String(), name: text })),
  lastName: text,
  mobilePhone: text,
  nationality: countryRef,
  organizationName: text,
  organizationType: orNull(oneOf(organizationTypes)),
  organizationVatNumber: text,
})

export const UserIdentityBody = body('UserIdentityBody', { number: Type.String(), type: oneOf(identityTypes) })

export const UserLicenseBody = body('UserLicenseBody', {
  country: countryRef,
  number: Type.String(),
  type: orNull(idRef),
  year: orNull(Type.Integer()),
})

/** The rental creation object (docs/sources.md, resources/rental-creation-object). */
export const RentalCreationBody = body('RentalCreationBody', {
  resourceId: Type.String(),
  slotId: Type.String(),
  addMandatoryOptions: orNull(Type.Boolean()),
  rentalPrice: amount,
  discountPrice: amount,
  commissionPrice: amount,
  commissionCurrency: text,
  contractLink: text,
  orderLink: text,
  referenceId: orNull(Type.Union([Type.Integer(), Type.String()])),
})

/** PUT of a rental: the seven writable fields (docs/sources.md, 2.5). */
export const RentalUpdateBody = body('RentalUpdateBody', {
  commissionPrice: amount,
  contractLink: text,
  discountPrice: amount,
  orderLink: text,
  referenceId: text,
  rentalPrice: amount,
  status: orNull(oneOf(writableStatuses)),
})

export const RentalOptionBody = body('RentalOptionBody', {
  optionId: Type.Integer(),
  quantity: Type.Integer({ minimum: 1 }),
  commissionPrice: text,
})

export const RentalOptionQuantityBody = body('RentalOptionQuantityBody', { quantity: Type.Integer({ minimum: 1 }) })

export const RentalPaymentBody = body('RentalPaymentBody', {
  currency: Type.String(),
  method: idRef,
  price: Type.Number(),
  reference: text,
})

export const RentalUserBody = body('RentalUserBody', { userId: Type.Integer() })

export const RentalCrewMemberBody = body('RentalCrewMemberBody', {
  email: orNull(email),
  firstName: Type.String(),
  lastName: Type.String(),
  type: oneOf(crewTypes),
})
