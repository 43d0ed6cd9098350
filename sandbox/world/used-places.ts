// A small world knows few places: the harbours of its boats, the cities of its companies, the countries of its users and
// their licenses, some more, and what lies around them.

import { harbours } from '../data/places.ts'
import type { ReferenceTable } from '../records/references.ts'
import type { Entity, Link } from './entity.ts'
import type { World } from './world.ts'

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
export function keepUsedPlaces(world: World): void {
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
