// The four paginated lists with their filters, and the reference lists with their singles.

import {
  type Answer,
  badField,
  type Call,
  choiceQuery,
  dateQuery,
  type Handler,
  type Handlers,
  notFound,
  recordAnswer,
} from '../call.ts'
import { references, referenceTables } from '../records/references.ts'
import { writableStatuses } from '../records/rentals.ts'
import { organizationTypes } from '../records/users.ts'
import { byKey, type Compare, type Ordered, viewOf } from '../world/collection.ts'
import type { Entity, Rental, User } from '../world/entity.ts'
import { byCreation } from '../world/world.ts'

type Test<E> = (entity: E) => boolean

function listAnswer<E extends Entity>(
  order: Ordered<E>,
  tests: readonly Test<E>[],
  summary: readonly string[],
): Answer {
  // Items and their order come from the same collection, so the comparison only ever meets records of that kind.
  const compare = order.compare as Compare<Entity>
  return { kind: 'list', items: order.select({ name: '', tests }), compare, summary, paging: 'paginated' }
}

/** A test on an integer id in the query. */
function idQuery({ query }: Call, name: string): string | undefined {
  const value = query[name] || undefined
  if (value !== undefined && !/^-?\d+$/.test(value)) throw badField(name, 'must be an integer')
  return value
}

const contains = (value: unknown, part: string): boolean =>
  typeof value === 'string' && value.toLowerCase().includes(part)

/** Without `deactivated` (not documented) only active users are listed; with `true` only deactivated ones. */
function listUsers(call: Call): Answer {
  const { world, query } = call
  const deactivated = choiceQuery(call, 'deactivated', ['true', 'false'])
  const organizationType = choiceQuery(call, 'organizationType', organizationTypes)
  const id = idQuery(call, 'id')
  const name = query.name?.toLowerCase()
  const email = query.email?.toLowerCase()
  const tests: Test<User>[] = []
  if (id) tests.push((user) => user.key === id)
  if (name) tests.push(({ own }) => contains(own.firstName, name) || contains(own.lastName, name))
  if (email) tests.push(({ own }) => String(own.email).toLowerCase() === email)
  if (organizationType) tests.push(({ own }) => own.organizationType === organizationType)
  const order = deactivated === 'true' ? world.deactivatedUsers : world.activeUsers
  return listAnswer(order, tests, ['id', 'firstName', 'lastName', 'email', 'deactivated', 'lastModificationDatetime'])
}

const rangeFields = {
  creation: 'creationDatetime',
  departure: 'departureDatetime',
  arrival: 'arrivalDatetime',
} as const

/** Tests for the three date ranges, both bounds included, on the date as written in the record. */
function rangeTests(call: Call): Test<Rental>[] {
  return Object.entries(rangeFields).flatMap(([name, field]) => {
    const min = dateQuery(call, `${name}MinDate`)
    const max = dateQuery(call, `${name}MaxDate`)
    if (!min && !max) return []
    return [
      ({ own }: Rental) => {
        const date = String(own[field]).slice(0, 10)
        return (!min || date >= min) && (!max || date <= max)
      },
    ]
  })
}

const filters = [
  'id',
  'customerId',
  'companyId',
  'resourceId',
  'status',
  ...Object.keys(rangeFields).flatMap((name) => [`${name}MinDate`, `${name}MaxDate`]),
]

const companyKey = (rental: Rental): string | undefined => {
  const { company } = rental.resource.links
  return typeof company === 'object' ? company?.key : undefined
}

/**
 * Filters of GET /rentals (docs/sources.md, reference/rental-management/list-rentals-paginated); there is none for the
 * client's own reference.
 */
function listRentals(call: Call): Answer {
  const { world, query } = call
  const id = idQuery(call, 'id')
  const customerId = idQuery(call, 'customerId')
  const companyId = idQuery(call, 'companyId')
  const { resourceId } = query
  const status = choiceQuery(call, 'status', ['PENDING', 'CANCELED', ...writableStatuses])
  const sort = choiceQuery(call, 'order', ['creationDateAsc', 'creationDateDesc'])
  const tests = rangeTests(call)
  if (id) tests.push((rental) => rental.key === id)
  if (resourceId) tests.push((rental) => rental.resource.key === resourceId)
  if (customerId) tests.push(({ links }) => typeof links.user === 'object' && links.user?.key === customerId)
  if (companyId) tests.push((rental) => companyKey(rental) === companyId)
  if (status === 'CANCELED') tests.push(({ own }) => String(own.status).startsWith('CANCELED'))
  else if (status) tests.push(({ own }) => own.status === status)
  const within = world.rentalSource?.departing(query.departureMinDate, query.departureMaxDate)
  const name = JSON.stringify(Object.entries(query).filter(([parameter]) => filters.includes(parameter)))
  const items = (sort ? world.rentalsByCreation : world.rentalsById).select({ name, tests, within })
  const descending = sort === 'creationDateDesc'
  return {
    kind: 'list',
    items: descending ? viewOf(items, items.length, (index) => items.length - 1 - index) : items,
    compare: (a, b) => (sort ? byCreation(a, b) : byKey(a, b)) * (descending ? -1 : 1),
    summary: ['id', 'status', 'departureDatetime', 'arrivalDatetime', 'lastModificationDatetime'],
    paging: 'paginated',
  }
}

const referenceHandlers: Handlers = Object.fromEntries(
  referenceTables.flatMap((table) => {
    const { path, single, parameter } = references[table]
    const list: Handler = ({ world }) => ({
      kind: 'list',
      items: world.references[table].order.items,
      compare: byKey,
      summary: ['id', 'code', 'name'],
      paging: 'reference',
    })
    const one: Handler = (call) => {
      const key = call.params[parameter] ?? ''
      const entity = call.world.references[table].records.get(key)
      if (!entity) throw notFound(`${parameter} ${key}`)
      return recordAnswer(call, entity)
    }
    return [
      [`GET /v3/${path}`, list],
      [`GET /v3/${single}`, one],
    ]
  }),
)

export const listHandlers: Handlers = {
  'GET /v3/users': listUsers,
  'GET /v3/companies': ({ world }) => listAnswer(world.companiesById, [], ['id', 'companyBrandName']),
  'GET /v3/companies/{companyId}': (call) => {
    const company = call.world.companies.get(call.params.companyId ?? '')
    if (!company) throw notFound(`Company ${call.params.companyId}`)
    return recordAnswer(call, company)
  },
  'GET /v3/resources': ({ world, query }) =>
    listAnswer(
      query.test === 'true' ? world.resourcesById : world.listedResources,
      [],
      ['id', 'name', 'isRentable', 'lastModificationDatetime'],
    ),
  'GET /v3/rentals': listRentals,
  ...referenceHandlers,
}
