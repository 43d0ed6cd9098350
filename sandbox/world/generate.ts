// Makes a whole world from a seed and a size. The same seed, size and day give the same world.

import { harbours } from '../data/places.ts'
import { type ReferenceTable, references, referenceTables } from '../records/references.ts'
import type { SandboxClock } from './clock.ts'
import { createEntity, type Entity, type Link } from './entity.ts'
import { generateCompanies, generateVersions } from './generate-companies.ts'
import { generateRentals } from './generate-rentals.ts'
import { generateUsers } from './generate-users.ts'
import { createRandom } from './random.ts'
import { streamRentals } from './streamed-rentals.ts'
import { World } from './world.ts'

interface WorldOptions {
  readonly seed: number
  /** Number of rentals; everything else is in proportion. */
  readonly size: number
  /** More rentals than that are not held. */
  readonly heldAtMost: number
  readonly clock: SandboxClock
  readonly touchParents: boolean
  /** Another world (`World.save`) to go on with. */
  readonly saved: Uint8Array | undefined
}

/** Where rentals are not held, the rest, which is, does not grow beyond what belongs to so many. */
const SURROUNDING_SIZE = 20_000

/** Rentals from which on a world knows every place. */
const ALL_PLACES_FROM = 60

/** Counts for a size: 200 rentals give 40 resources, 8 companies, 120 users; 20,000 give about 1,000 resources. */
export const countsFor = (size: number) => ({
  rentals: size,
  resources: Math.max(4, Math.round(40 * (size / 200) ** 0.7)),
  companies: Math.max(2, Math.round(8 * (size / 200) ** 0.6)),
  users: Math.max(8, Math.round(size * 0.6)),
})

function generateReferences(world: World): void {
  for (const table of referenceTables) {
    const { firstId, records } = references[table]
    const entities = records.map(({ key, own, links = {} }) => {
      const linked = Object.entries(links).map(([field, [other, name]]) => [
        field,
        world.reference(other as ReferenceTable, name),
      ])
      return createEntity(table, key ?? world.nextId(table, firstId ?? 1), { ...own }, Object.fromEntries(linked))
    })
    world.references[table].records.load(entities)
  }
}

// A small world knows few places: the harbours of its boats, the cities of its companies, the countries of its users and
// their licenses, some more, and what is around them.
const placeTables: readonly ReferenceTable[] = [
  'countries',
  'administrative_area_level1',
  'administrative_area_level2',
  'navigation_areas',
  'cities',
  'harbours',
]

/** So that a further harbour is available for a new boat. */
const harboursAtLeast = 6

/** Removes the places that nothing of this world is in. */
function keepUsedPlaces(world: World): void {
  const used = new Set<Entity>()
  const use = (link: Link): void => {
    if (typeof link !== 'object' || link === null || used.has(link)) return
    used.add(link)
    for (const next of Object.values(link.links)) use(next)
  }
  for (const { name } of harbours.slice(0, harboursAtLeast)) use(world.reference('harbours', name))
  for (const { links } of [...world.companies.values(), ...world.resources.values()])
    for (const link of Object.values(links)) use(link)
  // A record that names a country which is not known would be refused when it is sent back as it was read.
  for (const { links, license } of world.users.values()) {
    for (const link of Object.values(links)) use(link)
    const { code } = (license?.own.country ?? {}) as { readonly code?: string }
    if (code !== undefined) use(world.reference('countries', code))
  }
  for (const table of placeTables) {
    const { records } = world.references[table]
    for (const place of [...records.values()]) if (!used.has(place)) records.remove(place)
  }
}

/** A world of believable data. */
export function generateWorld({ seed, size, heldAtMost, clock, touchParents, saved }: WorldOptions): World {
  const world = new World(seed, clock, touchParents)
  if (saved !== undefined) {
    world.restore(saved)
    return world
  }
  const isStreamed = size > heldAtMost
  const counts = countsFor(isStreamed ? Math.min(size, SURROUNDING_SIZE) : size)
  generateReferences(world)
  generateVersions(world)
  generateCompanies(world, createRandom(seed, 'companies'), counts)
  generateUsers(world, createRandom(seed, 'users'), counts.users)
  if (isStreamed) streamRentals(world, size)
  else generateRentals(world, createRandom(seed, 'rentals'), counts.rentals)
  if (size < ALL_PLACES_FROM) keepUsedPlaces(world)
  return world
}
