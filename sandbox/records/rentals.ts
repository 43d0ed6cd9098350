// The rental and what hangs below it (docs/sources.md, 2.5, 3, resources/rental-option,
// reference/rental-payment-management/add-payment-line-to-a-rental,
// reference/rental-crew-management/add-a-crew-member-to-a-rental).

import { Harbour, RentalPaymentMethod } from './references.ts'
import { ResourceOption } from './resources.ts'
import { choice, embedded, formatted, integer, number, opaque, record, text } from './schema.ts'
import { User } from './users.ts'

/** The five values a client may write; a new rental is PENDING until one of them is set (docs/sources.md, differences). */
export const writableStatuses = [
  'VALIDATED',
  'CANCELED_BY_CLIENT',
  'CANCELED_BAD_WEATHER',
  'CANCELED_BREAKDOWN',
  'CANCELED_PAYMENT',
] as const
const depositStatuses = ['PENDING', 'RECEIVED', 'KEPT', 'RETURNED'] as const
export const crewTypes = ['ADULT', 'CHILD'] as const

export const Rental = record('Rental', 'A rental', {
  id: integer('Rental ID'),
  creationDatetime: formatted('date-time', 'Creation date-time'),
  lastModificationDatetime: formatted('date-time', 'Last update date-time'),
  departureDatetime: formatted('date-time', 'Departure date-time'),
  arrivalDatetime: formatted('date-time', 'Arrival date-time'),
  departureHarbour: embedded(Harbour, 'Harbour of departure'),
  arrivalHarbour: embedded(Harbour, 'Harbour of arrival'),
  crewAdults: integer('Number of adults'),
  crewChildren: integer('Number of children'),
  message: text('Client message for the company'),
  status: choice(['PENDING', ...writableStatuses], 'Status'),
  depositStatus: choice(depositStatuses, 'Deposit status'),
  depositPrice: number('Deposit the customer leaves before the rental starts'),
  depositCurrency: opaque('Deposit currency'),
  paymentProgress: integer('Amount paid relative to the total to pay, percent'),
  totalPaid: number('Amount already paid'),
  totalToPay: number('Total amount to pay'),
  rentalPrice: number('Price of the rental, excluding products; the initial price when unspecified'),
  discountPrice: number('Discount price; zero when unspecified'),
  commissionPrice: number('Commission taken by the client system'),
  contractLink: text('Link to the rental contract in the client system'),
  orderLink: text('Link to the rental in the client system'),
  referenceId: text('Reference ID of the rental in the client system'),
  user: embedded(User, 'Customer'),
})

export const RentalOption = record('RentalOption', 'An option of a rental', {
  id: integer('Rental option ID'),
  option: embedded(ResourceOption, 'Option, as booked'),
  fees: number('Fees'),
  downPaymentRate: integer('Down payment percent'),
  price: number('Price of one'),
  quantity: integer('Quantity'),
  vatRate: integer('VAT rate'),
})

export const RentalPayment = record('RentalPayment', 'A payment line', {
  id: integer('Payment line ID'),
  currency: text('Currency'),
  method: embedded(RentalPaymentMethod, 'Payment method'),
  price: number('Amount paid'),
  reference: text('Payment reference'),
})

export const RentalCrewMember = record('RentalCrewMember', 'A crew member', {
  id: integer('Crew member ID'),
  firstName: text('First name'),
  lastName: text('Last name'),
  email: formatted('email', 'Email'),
  type: choice(crewTypes, 'Kind of crew member'),
})
