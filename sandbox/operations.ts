// The operations of the API (docs/sources.md, 4) as data: the routes and the comparison with the
// catalog are made from this table. Nothing here knows how an operation is carried out.

import type { TObject } from 'typebox'
import {
  Availability,
  AvailabilityYear,
  Pricetable,
  Slot,
  SlotOption,
  Tide,
  Unavailability,
} from './records/availability.ts'
import {
  RentalCreationBody,
  RentalCrewMemberBody,
  RentalOptionBody,
  RentalOptionQuantityBody,
  RentalPaymentBody,
  RentalUpdateBody,
  RentalUserBody,
  UserBody,
  UserIdentityBody,
  UserLicenseBody,
} from './records/bodies.ts'
import { references } from './records/references.ts'
import { Rental, RentalCrewMember, RentalOption, RentalPayment } from './records/rentals.ts'
import { Company, Duration, RentalResource, Resource, ResourceOption, ResourcePricing } from './records/resources.ts'
import { User, UserIdentity, UserLicense } from './records/users.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** What an operation answers with: one record, an array of them, a page of them, or nothing. */
type Shape = 'one' | 'array' | 'paginated' | 'none'

export interface Operation {
  readonly method: Method
  /** Path template from the root, `/v3` included, such as `/v3/users/{userId}`. */
  readonly path: string
  /** Purpose, in the words of the interface specification. */
  readonly operation: string
  /** Record type of the answer; null where nothing is answered. */
  readonly response: TObject | null
  readonly shape: Shape
  /** Query parameters that are read, paging apart; `!` marks a required one. */
  readonly query?: readonly string[]
  readonly body?: TObject
  /** Names of the writable fields. */
  readonly writable?: readonly string[]
}

const get = (
  path: string,
  operation: string,
  response: TObject,
  { shape = 'one', query = '' }: { readonly shape?: Shape; readonly query?: string } = {},
): Operation => ({
  method: 'GET',
  path: `/v3${path}`,
  operation,
  response,
  shape,
  ...(query && { query: query.split(' ') }),
})

const write =
  (method: 'POST' | 'PUT') =>
  (path: string, operation: string, response: TObject, body: TObject): Operation => ({
    method,
    path: `/v3${path}`,
    operation,
    response,
    shape: 'one',
    body,
    writable: Object.keys(body.properties),
  })
const post = write('POST')
const put = write('PUT')

const remove = (path: string, operation: string): Operation => ({
  method: 'DELETE',
  path: `/v3${path}`,
  operation,
  response: null,
  shape: 'none',
})

const user = '/users/{userId}'
const resource = '/resources/{resourceId}'
const rental = '/rentals/{rentalId}'

/** Every operation of the API. */
export const operations: readonly Operation[] = [
  get('/users', 'List users (paginated)', User, {
    shape: 'paginated',
    query: 'id name organizationType email deactivated',
  }),
  post('/users', 'Add a user', User, UserBody),
  get(user, 'Get a user', User),
  put(user, 'Update a user', User, UserBody),
  remove(user, 'Delete a user'),
  get(`${user}/identity`, 'Get the identity document', UserIdentity),
  post(`${user}/identity`, 'Add an identity document to an existing user', UserIdentity, UserIdentityBody),
  put(`${user}/identity`, 'Update the identity document', UserIdentity, UserIdentityBody),
  remove(`${user}/identity`, 'Delete the identity document'),
  get(`${user}/license`, 'Get the license document', UserLicense),
  post(`${user}/license`, 'Add a license document to an existing user', UserLicense, UserLicenseBody),
  put(`${user}/license`, 'Update the license document', UserLicense, UserLicenseBody),
  remove(`${user}/license`, 'Delete the license document'),

  get('/companies', 'List companies (paginated)', Company, { shape: 'paginated' }),
  get('/companies/{companyId}', 'Get a company', Company),

  get('/resources', 'List resources (paginated)', Resource, { shape: 'paginated', query: 'test' }),
  get(resource, 'Get a resource', Resource, { query: 'test' }),
  get(`${resource}/durations`, 'Get resource durations', Duration, { shape: 'array', query: 'date test' }),
  get(`${resource}/pricetable`, 'Get the resource price table', Pricetable, {
    query: 'from to duration_min duration_max',
  }),
  get(`${resource}/pricings`, 'Get resource pricings', ResourcePricing, { shape: 'array' }),
  get(`${resource}/options`, 'List resource options', ResourceOption, { shape: 'array' }),
  get(`${resource}/options/{optionId}`, 'Get a resource option', ResourceOption),
  get('/resources/availabilities', 'Get availabilities of resources', Availability, {
    shape: 'array',
    query: 'resourceIds! date! duration! test',
  }),
  get(`${resource}/availabilities`, 'Get availabilities of one resource', AvailabilityYear, {
    query: 'year test',
  }),
  get(`${resource}/availability`, 'Get availability of one resource', Availability, {
    query: 'date! duration! test',
  }),
  get(`${resource}/unavailabilities`, 'Get unavailabilities of one resource', Unavailability, { shape: 'array' }),
  get(`${resource}/slots`, 'List resource slots', Slot, {
    shape: 'array',
    query: 'date! duration! withMandatoryOptions test',
  }),
  get(`${resource}/slots/{slotId}/options`, 'Get slot options', SlotOption, { shape: 'array' }),
  get(`${resource}/slots/{slotId}/tides`, 'Get slot tides', Tide, { shape: 'array' }),

  get('/rentals', 'List rentals (paginated)', Rental, {
    shape: 'paginated',
    query:
      'id customerId resourceId companyId creationMinDate creationMaxDate departureMinDate departureMaxDate arrivalMinDate arrivalMaxDate status order',
  }),
  post('/rentals', 'Initiate the rental process', Rental, RentalCreationBody),
  get(rental, 'Get a rental', Rental),
  put(rental, 'Update a rental', Rental, RentalUpdateBody),
  remove(rental, 'Delete a rental'),
  get(`${rental}/resource`, "Get the rental's resource", RentalResource),
  get(`${rental}/options`, 'List rental options', RentalOption, { shape: 'array' }),
  post(`${rental}/options`, 'Add an option to a rental', RentalOption, RentalOptionBody),
  get(`${rental}/options/{optionId}`, 'Get a rental option', RentalOption),
  put(`${rental}/options/{optionId}`, 'Change the option quantity', RentalOption, RentalOptionQuantityBody),
  remove(`${rental}/options/{optionId}`, 'Remove the option from the rental'),
  get(`${rental}/payments`, 'List rental payment lines', RentalPayment, { shape: 'array' }),
  post(`${rental}/payments`, 'Add a payment line', RentalPayment, RentalPaymentBody),
  get(`${rental}/payments/{paymentId}`, 'Get a payment line', RentalPayment),
  put(`${rental}/payments/{paymentId}`, 'Update a payment line', RentalPayment, RentalPaymentBody),
  remove(`${rental}/payments/{paymentId}`, 'Remove a payment line'),
  get(`${rental}/user`, "Get the rental's user", User),
  post(`${rental}/user`, 'Assign a user to the rental', User, RentalUserBody),
  get(`${rental}/crewMembers`, 'List crew members', RentalCrewMember, { shape: 'array' }),
  post(`${rental}/crewMembers`, 'Add a crew member', RentalCrewMember, RentalCrewMemberBody),
  get(`${rental}/crewMembers/{crewMemberId}`, 'Get crew member details', RentalCrewMember),
  put(`${rental}/crewMembers/{crewMemberId}`, 'Update a crew member', RentalCrewMember, RentalCrewMemberBody),
  remove(`${rental}/crewMembers/{crewMemberId}`, 'Delete a crew member'),

  ...Object.values(references).flatMap(({ path, single, record }) => [
    get(`/${path}`, `List ${path}`, record, { shape: 'array' }),
    get(`/${single}`, `Get one of ${path}`, record),
  ]),
]
