// Finds stored records by table, parent and id, and keeps the place of each kind: at the top or below another.

import { type ReferenceTable, references } from '../records/references.ts'
import type { Collection } from '../world/collection.ts'
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

type Kind =
  | { readonly kind: 'reference'; readonly table: ReferenceTable }
  | { readonly kind: 'companies' | 'resources' | 'rentals' | 'users' }
  | { readonly kind: 'rentalPart'; readonly above: Rental; readonly entities: Entity[] }
  | { readonly kind: 'resourcePart'; readonly above: Resource; readonly entities: Entity[] }
  | { readonly kind: 'document'; readonly above: User; readonly slot: 'identity' | 'license' }

/** Where records of a kind stand; only records made for a place are added to it. `find` needs no id for a document. */
export type Place = Kind & {
  /** The record above those of the place, if there is one. */
  readonly above?: Entity
  readonly find: (id: string | undefined) => Entity | undefined
  readonly add: (entity: Entity) => void
  readonly remove: (entity: Entity) => void
}

const isKey = <T extends object>(object: T, key: PropertyKey): key is keyof T => Object.hasOwn(object, key)

function parentOf<E>(found: E | undefined, table: string, parent: string): E {
  if (!found) throw new RangeError(`${table} need the id of an existing parent, not ${parent || 'none'}`)
  return found
}

/** A place in a collection. `E` is the type of the collection's records; the place's kind implies it. */
const inCollection = <E extends Entity>(
  records: Pick<Collection<E>, 'get' | 'add' | 'remove'>,
  { add = (entity: E) => records.add(entity), remove = (entity: E) => records.remove(entity) } = {},
) => ({
  find: (id = '') => records.get(id),
  add: (entity: Entity) => add(entity as E),
  remove: (entity: Entity) => remove(entity as E),
})

const inList = (entities: Entity[]) => ({
  entities,
  find: (id: string | undefined) => entities.find(({ key }) => key === id),
  add: (entity: Entity) => entities.push(entity),
  remove: (entity: Entity) => entities.splice(entities.indexOf(entity), 1),
})

/** Where records of a table stand; `parent` is the id of the rental, resource or user above. RangeError if it is missing. */
export function placeOf(world: World, table: string, parent = ''): Place {
  if (isKey(references, table)) return { kind: 'reference', table, ...inCollection(world.references[table].records) }
  if (table === 'companies') return { kind: table, ...inCollection(world.companies) }
  if (table === 'resources') return { kind: table, ...inCollection(world.resources) }
  if (table === 'rentals') {
    const add = (rental: Rental) => world.addRental(rental)
    return { kind: table, ...inCollection(world.rentals, { add, remove: (rental) => world.removeRental(rental) }) }
  }
  if (table === 'users') {
    return { kind: table, ...inCollection(world.users, { remove: (user) => world.removeUser(user) }) }
  }
  if (isKey(belowRentals, table)) {
    const above = parentOf(world.rentals.get(parent), table, parent)
    return { kind: 'rentalPart', above, ...inList(above[belowRentals[table]]) }
  }
  if (isKey(belowResources, table)) {
    const above = parentOf(world.resources.get(parent), table, parent)
    return { kind: 'resourcePart', above, ...inList(above[belowResources[table]]) }
  }
  if (isKey(documents, table)) {
    const above = parentOf(world.users.get(parent), table, parent)
    const slot = documents[table]
    const set = (document: Entity | null): void => {
      above[slot] = document
    }
    return { kind: 'document', above, slot, find: () => above[slot] ?? undefined, add: set, remove: () => set(null) }
  }
  throw new RangeError(`There is no kind of record called ${table}`)
}

/** A stored record by table and key, for links; undefined for kinds that nothing links to. */
export function linkTarget(world: World, table: Table, key: string): Entity | undefined {
  if (isKey(references, table)) return world.references[table].records.get(key)
  if (table === 'companies' || table === 'users' || table === 'versions') return world[table].get(key)
  return undefined
}
