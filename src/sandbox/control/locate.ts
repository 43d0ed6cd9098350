// Finds stored records by table, parent and id, and keeps the place of each kind: at the top or below another.

import { type ReferenceTable, references } from '../records/references.ts'
import type { Entity, Rental, Resource, Table, User } from '../world/entity.ts'
import type { World } from '../world/world.ts'

/** Kinds of records that lie below another, and in which list of it. */
const belowRentals = { rental_options: 'options', rental_payments: 'payments', rental_crew_members: 'crew' } as const
const belowResources = {
  resource_options: 'options',
  resource_pricings: 'pricings',
  resource_unavailabilities: 'unavailabilities',
} as const
const documents = { user_identities: 'identity', user_licenses: 'license' } as const

export type Place =
  | { readonly kind: 'reference'; readonly table: ReferenceTable }
  | { readonly kind: 'companies' | 'resources' | 'rentals' | 'users' }
  | { readonly kind: 'rentalPart'; readonly rental: Rental; readonly entities: Entity[] }
  | { readonly kind: 'resourcePart'; readonly resource: Resource; readonly entities: Entity[] }
  | { readonly kind: 'document'; readonly user: User; readonly slot: 'identity' | 'license' }

const isKey = <T extends object>(object: T, key: PropertyKey): key is keyof T => Object.hasOwn(object, key)

function parentOf<E>(found: E | undefined, table: string, parent: string | undefined): E {
  if (!found) throw new RangeError(`${table} need the id of an existing parent, not ${parent ?? 'none'}`)
  return found
}

/** Where records of a table stand; `parent` is the id of the rental, resource or user above. RangeError if it is missing. */
export function placeOf(world: World, table: string, parent?: string): Place {
  if (isKey(references, table)) return { kind: 'reference', table }
  if (table === 'companies' || table === 'resources' || table === 'rentals' || table === 'users') return { kind: table }
  if (isKey(belowRentals, table)) {
    const rental = parentOf(world.rentals.get(parent ?? ''), table, parent)
    return { kind: 'rentalPart', rental, entities: rental[belowRentals[table]] }
  }
  if (isKey(belowResources, table)) {
    const resource = parentOf(world.resources.get(parent ?? ''), table, parent)
    return { kind: 'resourcePart', resource, entities: resource[belowResources[table]] }
  }
  if (isKey(documents, table)) {
    return { kind: 'document', user: parentOf(world.users.get(parent ?? ''), table, parent), slot: documents[table] }
  }
  throw new RangeError(`There is no kind of record called ${table}`)
}

/** The record of a place with an id; a document needs none. */
export function findIn(world: World, place: Place, id: string | undefined): Entity | undefined {
  switch (place.kind) {
    case 'reference':
      return world.references[place.table].records.get(id ?? '')
    case 'companies':
    case 'resources':
    case 'rentals':
    case 'users':
      return world[place.kind].get(id ?? '')
    case 'document':
      return place.user[place.slot] ?? undefined
    case 'rentalPart':
    case 'resourcePart':
      return place.entities.find(({ key }) => key === id)
  }
}

interface Storage {
  readonly add: (entity: Entity) => void
  readonly remove: (entity: Entity) => void
}

/** How a record made for a place, and of its kind therefore, is stored there and taken away. */
export function storageOf(world: World, place: Place): Storage {
  switch (place.kind) {
    case 'users':
      return { add: (user) => world.users.add(user as User), remove: (user) => world.removeUser(user as User) }
    case 'resources':
      return {
        add: (resource) => world.resources.add(resource as Resource),
        remove: (resource) => world.resources.remove(resource as Resource),
      }
    case 'rentals':
      return {
        add: (rental) => world.addRental(rental as Rental),
        remove: (rental) => world.removeRental(rental as Rental),
      }
    case 'companies':
      return { add: (company) => world.companies.add(company), remove: (company) => world.companies.remove(company) }
    case 'reference': {
      const { records } = world.references[place.table]
      return { add: (entity) => records.add(entity), remove: (entity) => records.remove(entity) }
    }
    case 'document': {
      const set = (document: Entity | null): void => {
        place.user[place.slot] = document
      }
      return { add: set, remove: () => set(null) }
    }
    case 'rentalPart':
    case 'resourcePart':
      return {
        add: (entity) => place.entities.push(entity),
        remove: (entity) => place.entities.splice(place.entities.indexOf(entity), 1),
      }
  }
}

/** The record above those of a place, if there is one. */
export function above(place: Place): Entity | undefined {
  if (place.kind === 'rentalPart') return place.rental
  if (place.kind === 'resourcePart') return place.resource
  return place.kind === 'document' ? place.user : undefined
}

/** A stored record by table and key, for links; undefined for kinds that nothing links to. */
export function linkTarget(world: World, table: Table, key: string): Entity | undefined {
  if (isKey(references, table)) return world.references[table].records.get(key)
  if (table === 'companies' || table === 'users' || table === 'versions') return world[table].get(key)
  return undefined
}
