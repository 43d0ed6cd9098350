// Makes one more believable record of any kind, for the control interface.

import { options as optionRows } from '../data/boats.ts'
import { freeBoats } from '../world/calendar.ts'
import { addDays } from '../world/dates.ts'
import { createEntity, type Entity, type Rental, type Resource, type User } from '../world/entity.ts'
import { makeBlock, makeCompany, makeOption, makeResource } from '../world/generate-companies.ts'
import { createRental, createRentalOption, furnish, makeCrewMember, makePayment } from '../world/generate-rentals.ts'
import { makeIdentity, makeLicense, makeUser } from '../world/generate-users.ts'
import { offeredDurations } from '../world/prices.ts'
import type { Random } from '../world/random.ts'
import { type Slot, slotsOn } from '../world/slots.ts'
import type { World } from '../world/world.ts'
import type { Place } from './locate.ts'

/** A free slot in the coming months; RangeError if the boat has none. */
function freeSlot(world: World, random: Random, resource: Resource): Slot {
  for (let attempt = 0; attempt < 500; attempt++) {
    const date = addDays(world.today, random.int(2, 360))
    const [slot] = slotsOn(resource, date, random.pick(offeredDurations(resource)))
    if (slot && freeBoats(world, resource, slot.span) > 0) return slot
  }
  throw new RangeError(`Resource ${resource.key} has no free slot`)
}

function newRental(world: World, random: Random, parent: string | undefined): Rental {
  const resource = parent === undefined ? random.pick(world.listedResources.items) : world.resources.get(parent)
  if (!resource) throw new RangeError(`There is no resource ${parent}`)
  const slot = freeSlot(world, random, resource)
  const createdAt = new Date(world.clock.now()).toISOString()
  const rental = createRental(world, world.nextId('rentals'), slot, createdAt)
  furnish(world, random, { rental, slot, users: world.activeUsers.items })
  return rental
}

function newResource(world: World, random: Random, parent: string | undefined): Resource {
  const company = parent === undefined ? random.pick(world.companiesById.items) : world.companies.get(parent)
  if (!company) throw new RangeError(`There is no company ${parent}`)
  let resource = makeResource(world, random, company)
  while (world.resources.get(resource.key)) resource = makeResource(world, random, company)
  return resource
}

function newRentalPart(world: World, random: Random, rental: Rental, entities: readonly Entity[]): Entity {
  if (entities === rental.crew) return makeCrewMember(world, random)
  if (entities === rental.payments) return makePayment(world, random, random.int(20, 200), rental.resource.currency)
  const taken = new Set(rental.options.map(({ optionKey }) => optionKey))
  const option = rental.resource.options.find(({ key }) => !taken.has(key))
  if (!option) throw new RangeError(`Rental ${rental.key} already has every option of its boat`)
  return createRentalOption(world, 1, option, random.int(1, 3))
}

function newResourcePart(world: World, random: Random, resource: Resource, entities: readonly Entity[]): Entity {
  if (entities === resource.options) return makeOption(world, random.pick(optionRows), resource.currency)
  if (entities === resource.unavailabilities) {
    const from = addDays(world.today, random.int(5, 150))
    return makeBlock(world, resource, { from, days: random.int(1, 6), reason: 'MAINTENANCE' })
  }
  const year = world.today.slice(0, 4)
  return createEntity('resource_pricings', world.nextId('resource_pricings'), {
    name: 'Special offer',
    startDate: `${year}-12-24`,
    endDate: `${year}-12-31`,
    duration: 'DAYS,1',
    price: random.int(50, 500),
    currency: resource.currency,
  })
}

/** A user without documents, so that they can be inserted, too. */
const newUser = (world: World, random: Random): User => ({
  ...makeUser(world, random),
  identity: null,
  license: null,
})

/** A new record for a place, not stored yet. `parent` names the resource of a rental or the company of a resource. */
export function makeFor(world: World, random: Random, place: Place, parent?: string): Entity {
  switch (place.kind) {
    case 'users':
      return newUser(world, random)
    case 'companies':
      return makeCompany(world, random)
    case 'resources':
      return newResource(world, random, parent)
    case 'rentals':
      return newRental(world, random, parent)
    case 'rentalPart':
      return newRentalPart(world, random, place.above, place.entities)
    case 'resourcePart':
      return newResourcePart(world, random, place.above, place.entities)
    case 'document':
      return place.slot === 'identity' ? makeIdentity(place.above, random) : makeLicense(world, place.above, random)
    case 'reference': {
      const key = place.table === 'countries' ? `X${random.int(0, 9)}` : world.nextId(place.table)
      return createEntity(place.table, key, { name: `New entry ${key}` })
    }
  }
}
