// The 13 reference lists: true places, boat types and kinds of things, the same in every world whatever its size.

import * as boats from '../data/boats.ts'
import * as places from '../data/places.ts'
import { createEntity, type Entity } from './entity.ts'
import type { ReferenceTable, Table } from './tables.ts'
import type { World } from './world.ts'

/** Looks a reference record up by its `name`; throws when the data are inconsistent. */
export function referenceByName(world: World, table: ReferenceTable, name: string): Entity {
  for (const entity of world.references[table].records.values()) if (entity.own.name === name) return entity
  throw new Error(`The sandbox's data name no ${table} called ${name}`)
}

const unique = <T>(items: readonly T[], nameOf: (item: T) => string): T[] => [
  ...new Map(items.map((item) => [nameOf(item), item])).values(),
]

/** Fills all reference lists and the boat versions. */
export function generateReferences(world: World): void {
  const load = (
    table: ReferenceTable,
    first: number,
    records: readonly (readonly [Entity['own'], Entity['links']?])[],
  ) =>
    world.references[table].records.load(
      records.map(([own, links]) => createEntity(table, world.nextId(table, first), own, links)),
    )
  const find = (table: ReferenceTable, name: string): Entity => referenceByName(world, table, name)

  world.references.countries.records.load(
    places.countries.map(([code, name]) => createEntity('countries', code, { name })),
  )
  const country = (code: string): Entity | null => world.references.countries.records.get(code) ?? null

  load(
    'administrative_area_level1',
    11,
    unique(places.harbours, (row) => row[6]).map((row) => [{ name: row[6] }, { country: country(row[7]) }]),
  )
  load(
    'administrative_area_level2',
    201,
    unique(places.harbours, (row) => row[5]).map((row) => [
      { name: row[5] },
      { administrativeAreaLevel1: find('administrative_area_level1', row[6]) },
    ]),
  )
  load(
    'navigation_areas',
    31,
    unique(places.harbours, (row) => row[8]).map((row) => [{ name: row[8] }, { country: country(row[7]) }]),
  )
  load(
    'cities',
    1001,
    unique(places.harbours, (row) => row[3]).map(([, latitude, longitude, name, postalCode, level2, , , waters]) => [
      { name, latitude, longitude, postalCode },
      {
        navigationArea: find('navigation_areas', waters),
        administrativeAreaLevel2: find('administrative_area_level2', level2),
      },
    ]),
  )
  load(
    'harbours',
    12,
    places.harbours.map(([name, latitude, longitude, city]) => [
      { name, latitude, longitude },
      { city: find('cities', city) },
    ]),
  )
  load(
    'characteristics',
    1,
    boats.characteristics.map(([key, name, familyName, unit]) => [{ key, name, familyName, unit }]),
  )
  load(
    'equipments',
    101,
    boats.equipments.map(([key, name, familyName]) => [{ key, name, familyName, unit: null }]),
  )
  load(
    'company_legal_forms',
    1,
    boats.legalForms.map((name) => [{ name }]),
  )
  load(
    'rental_payment_methods',
    1,
    boats.paymentMethods.map(([key, name]) => [{ key, name }]),
  )
  load(
    'user_license_types',
    1,
    boats.licenseTypes.map((name) => [{ name }]),
  )
  load(
    'types',
    1,
    boats.types.map(([name, description]) => [{ name, description }]),
  )
  load(
    'subtypes',
    21,
    boats.subtypes.map(([name, type]) => [{ name, description: null }, { type: find('types', type) }]),
  )
  generateVersions(world)
}

/** A picture in four sizes; the address is of a host that does not exist. */
export const picture = (name: string) => {
  const size = (label: string, width: number) => ({
    height: Math.round((width * 2) / 3),
    uri: `https://images.example.com/${label}/${name}.jpg`,
    width,
  })
  return {
    large: size('large', 1600),
    medium: size('medium', 800),
    original: size('original', 3000),
    small: size('small', 320),
  }
}

/** One version for each known model; builders, ranges and models have no endpoint of their own. */
function generateVersions(world: World): void {
  const builders = unique(boats.models, (row) => row[0]).map((row) => row[0])
  const table: Table = 'versions'
  world.versions.load(
    boats.models.map(([builder, range, model, name, subtype], index) =>
      createEntity(
        table,
        world.nextId(table, 501),
        {
          name,
          description: `${builder} ${name}`,
          images: { cover: picture(`version-${index}`), others: [] },
          model: {
            id: 401 + index,
            name: model,
            description: null,
            range: {
              id: 301 + index,
              name: range,
              description: null,
              builder: { id: 51 + builders.indexOf(builder), name: builder, description: null },
            },
          },
        },
        { subtype: referenceByName(world, 'subtypes', subtype) },
      ),
    ),
  )
}
