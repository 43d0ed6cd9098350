// Makes a whole world from a seed and a size. The same seed, size and day give the same world.

import { type ReferenceTable, references, referenceTables } from '../records/references.ts'
import type { SandboxClock } from './clock.ts'
import { createEntity } from './entity.ts'
import { generateCompanies, generateVersions } from './generate-companies.ts'
import { generateRentals } from './generate-rentals.ts'
import { generateUsers } from './generate-users.ts'
import { createRandom } from './random.ts'
import { streamRentals } from './streamed-rentals.ts'
import { keepUsedPlaces } from './used-places.ts'
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
