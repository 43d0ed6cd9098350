// A round of random changes, as a busy day would bring: every kind of record is inserted, updated and deleted, and by
// default each change leaves a trace in some list.

import { messages } from '../data/people.ts'
import type { Sequence } from '../world/collection.ts'
import type { Entity } from '../world/entity.ts'
import { createRandom, type Random } from '../world/random.ts'
import type { World } from '../world/world.ts'
import { type AppliedChange, applyChange, type Change } from './mutate.ts'

/** Makes a change for the world as it is; null if there is nothing to change that way. */
type Idea = (world: World, random: Random) => Change | null

/** Ideas about one record of a kind. */
const about =
  <E>(choose: (world: World, random: Random) => E | null) =>
  (make: (entity: E, random: Random) => Change | null): Idea =>
  (world, random) => {
    const entity = choose(world, random)
    return entity && make(entity, random)
  }
const anyOf = <E>({ items }: { readonly items: Sequence<E> }, random: Random): E | null =>
  items.length > 0 ? (items.at(random.int(0, items.length - 1)) ?? null) : null
const ofRental = about((world, random) => anyOf(world.rentalsById, random))
const ofUser = about((world, random) => anyOf(world.activeUsers, random))
const ofResource = about((world, random) => anyOf(world.listedResources, random))

/** Insert, update and delete of a list below a record. */
function partIdeas<Field extends string, Parent extends Entity & Record<Field, readonly Entity[]>>(
  of: (make: (parent: Parent, random: Random) => Change | null) => Idea,
  record: string,
  field: Field,
  set: (random: Random) => Record<string, unknown>,
): Idea[] {
  const existing = (op: 'update' | 'delete'): Idea =>
    of((parent, random) => {
      const parts = parent[field]
      if (parts.length === 0) return null
      const change: Change = { record, op, parent: parent.key, id: random.pick(parts).key }
      return op === 'update' ? { ...change, set: set(random) } : change
    })
  return [of(({ key }) => ({ record, op: 'insert', parent: key })), existing('update'), existing('delete')]
}

const documentIdea = (record: string, slot: 'identity' | 'license'): Idea =>
  ofUser((user, random) => {
    if (!user[slot]) return { record, op: 'insert', parent: user.key }
    if (random.chance(0.3)) return { record, op: 'delete', parent: user.key }
    return { record, op: 'update', parent: user.key, set: { number: `N${random.int(1_000, 999_999)}` } }
  })

const ideas: readonly Idea[] = [
  () => ({ record: 'rentals', op: 'insert' }),
  ofRental(({ key }, random) => ({
    record: 'rentals',
    op: 'update',
    id: key,
    set: { message: `${random.pick(messages)} (${random.int(1, 999)})`, crewAdults: random.int(1, 9) },
  })),
  ofRental(({ key }) => ({ record: 'rentals', op: 'delete', id: key })),
  ...partIdeas(ofRental, 'rental_options', 'options', (random) => ({ quantity: random.int(1, 9) })),
  ...partIdeas(ofRental, 'rental_payments', 'payments', (random) => ({ price: random.int(5, 900) })),
  ...partIdeas(ofRental, 'rental_crew_members', 'crew', (random) => ({ lastName: `Crew ${random.int(1, 999)}` })),
  () => ({ record: 'users', op: 'insert' }),
  ofUser(({ key }, random) => ({
    record: 'users',
    op: 'update',
    id: key,
    set: { mobilePhone: `+33 6 ${random.int(10_000_000, 99_999_999)}` },
  })),
  ofUser(({ key }) => ({ record: 'users', op: 'update', id: key, set: { deactivated: true } })),
  ofUser(({ key }) => ({ record: 'users', op: 'delete', id: key })),
  documentIdea('user_identities', 'identity'),
  documentIdea('user_licenses', 'license'),
  () => ({ record: 'companies', op: 'insert' }),
  (world, random) => ({
    record: 'companies',
    op: 'update',
    id: random.pick(world.companiesById.items).key,
    set: { companyBrandName: `Renamed ${random.int(1, 9999)}` },
  }),
  () => ({ record: 'resources', op: 'insert' }),
  ofResource(({ key }, random) => ({
    record: 'resources',
    op: 'update',
    id: key,
    set: { description: `Refitted ${random.int(1, 9999)}` },
  })),
  ...partIdeas(ofResource, 'resource_options', 'options', (random) => ({ name: `Option ${random.int(1, 999)}` })),
  ...partIdeas(ofResource, 'resource_pricings', 'pricings', (random) => ({ price: random.int(50, 900) })),
  ...partIdeas(ofResource, 'resource_unavailabilities', 'unavailabilities', () => ({ reason: 'CLOSED' })),
  (world, random) => ({
    record: 'harbours',
    op: 'update',
    id: random.pick(world.references.harbours.order.items).key,
    // Not the name: the generator finds the harbours of new boats by it.
    set: { latitude: random.int(4_000, 5_000) / 100 },
  }),
  () => ({ record: 'characteristics', op: 'insert' }),
]

/**
 * Applies `count` random changes; the same seed and world give the same changes. Those for which `spares` returns
 * true are skipped, so that records in use elsewhere stay untouched.
 */
export function randomRound(
  world: World,
  count: number,
  seed: number,
  spares: (change: Change) => boolean = () => false,
): AppliedChange[] {
  world.expire()
  const random = createRandom(seed, 'round')
  const applied: AppliedChange[] = []
  for (let attempt = 0; applied.length < count && attempt < count * 20; attempt++) {
    const change = random.pick(ideas)(world, random)
    if (!change || spares(change)) continue
    try {
      applied.push(applyChange(world, random, change))
    } catch (error) {
      // An idea that does not fit the world, such as one more option where all are taken, gives way to the next.
      if (!(error instanceof RangeError)) throw error
    }
  }
  return applied
}
